import type { CallFacts } from "./judge.ts";

/** Some servers and gateways take the path from these instead of from the request line. */
const paths: ReadonlySet<string> = new Set([
  "x-forwarded-path",
  "x-forwarded-uri",
  "x-original-uri",
  "x-original-url",
  "x-rewrite-url",
]);
/** And these for the host. */
const hosts: ReadonlySet<string> = new Set([
  "x-forwarded-host",
  "x-forwarded-server",
  "x-host",
  "x-http-host-override",
  "x-original-host",
]);

/** Whether a header names another host or path than the one that was judged, for an origin that believes it. */
export function namesOtherPlace(facts: CallFacts): boolean {
  return facts.headers.some(([name, value]) => {
    if (name === "forwarded") return forwardedHosts(value).some((one) => isOther(one, facts));
    if (!name.startsWith("x-") && !name.startsWith("x_")) return false;
    const said = name.replaceAll("_", "-");
    if (hosts.has(said)) return value.split(",").some((one) => isOther(one, facts));
    return paths.has(said) && value.split("?")[0] !== facts.path;
  });
}

/** RFC 7239. */
function forwardedHosts(value: string): string[] {
  return [...value.matchAll(/(?:^|[;,])\s*host\s*=\s*"?([^";,]*)/gi)].map(([, host = ""]) => host);
}

function isOther(text: string, facts: CallFacts): boolean {
  const host = text.trim().toLowerCase().replace(/:\d+$/, "").replace(/\.$/, "");
  return host !== facts.host && host !== `[${facts.host}]`;
}
