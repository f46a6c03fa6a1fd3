import type { Invocation } from "./commandTable.ts";
import { local, type Prediction } from "./effect.ts";
import { predictRequest } from "./predictRequest.ts";

const values = new Set([
  "-H",
  "--header",
  "-q",
  "--jq",
  "-t",
  "--template",
  "--hostname",
  "-p",
  "--preview",
  "--cache",
]);
const fields = new Set(["-f", "-F", "--field", "--raw-field"]);

/** `gh api`: GET, or POST once a field is added, unless -X says otherwise (cli.github.com/manual/gh_api). */
export function predictGhApi(call: Invocation): Prediction {
  if (call.flags.has("--help")) return local("prints its manual");
  const sent: string[] = [];
  let method: string | undefined;
  let endpoint: string | undefined;
  const args = call.args.slice(call.args.indexOf("api") + 1);
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    const [name = "", ...inline] = word.startsWith("--") ? word.split("=") : [word];
    const value = () => (inline.length > 0 ? inline.join("=") : (args[++at] ?? ""));
    if (name === "-X" || name === "--method") method = value().toUpperCase();
    else if (/^-X\w+/.test(word)) method = word.slice(2).toUpperCase();
    else if (fields.has(name)) sent.push(value());
    else if (/^-[fF]./.test(word) && !word.startsWith("--")) sent.push(word.slice(2));
    else if (name === "--input") sent.push(`@${value()}`);
    else if (values.has(name)) value();
    else if (!word.startsWith("-")) endpoint ??= word;
  }
  const path = `/${(endpoint ?? "").replace(/^\//, "")}`;
  const chosen = method ?? (sent.length > 0 ? "POST" : "GET");
  if (/^\/graphql(?:\?|$)/.test(path)) {
    const document = sent.find((one) => one.startsWith("query="))?.slice("query=".length);
    return predictRequest({
      method: "POST",
      url: "https://api.github.com/graphql",
      graphql: document ?? "",
    });
  }
  const full = path.startsWith("/http") ? path.slice(1) : `https://api.github.com${path}`;
  return predictRequest({ method: chosen, url: full });
}
