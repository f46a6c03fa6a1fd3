import type { Invocation } from "./commandTable.ts";
import { discloses, irreversible, local, type Prediction, strictest } from "./effect.ts";
import { isLocalHost, predictRequest, splitUrl } from "./predictRequest.ts";

const curlValues = new Set([
  "-H",
  "--header",
  "-o",
  "--output",
  "-w",
  "--write-out",
  "-u",
  "--user",
  "-A",
  "--user-agent",
  "-b",
  "--cookie",
  "-c",
  "--cookie-jar",
  "-e",
  "--referer",
  "-m",
  "--max-time",
  "--connect-timeout",
  "--retry",
  "--retry-delay",
  "-x",
  "--proxy",
  "--cacert",
  "--cert",
  "--key",
  "-E",
  "--resolve",
  "--unix-socket",
  "-r",
  "--range",
  "-D",
  "--dump-header",
  "-K",
  "--config",
  "--limit-rate",
  "--interface",
  "--output-dir",
  "--data-urlencode",
  "-z",
  "--max-redirs",
  "--netrc-file",
  "--oauth2-bearer",
]);
const curlBodies = new Set([
  "-d",
  "--data",
  "--data-raw",
  "--data-binary",
  "--data-ascii",
  "--data-urlencode",
  "--json",
  "-F",
  "--form",
  "--form-string",
]);

/** `curl`: the method follows from -X, from what it sends, or from -I (curl.se/docs/manpage.html). */
export function predictCurl(call: Invocation): Prediction {
  if (call.flags.has("--version") || call.flags.has("-V") || call.flags.has("--help"))
    return local();
  const seen: { method?: string; body?: string; upload?: true; urls: string[] } = { urls: [] };
  const { args } = call;
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    const [name, inline] = splitOption(word);
    const value = () => inline ?? args[++at] ?? "";
    if (name === "-X" || name === "--request") seen.method = value().toUpperCase();
    else if (curlBodies.has(name)) seen.body = value();
    else if (name === "-T" || name === "--upload-file") {
      value();
      seen.upload = true;
    } else if (name === "--url") seen.urls.push(value());
    else if (curlValues.has(name)) value();
    else if (!word.startsWith("-")) seen.urls.push(word);
  }
  if (call.flags.has("--unix-socket")) return local("asks a program on this machine");
  const asGet = call.flags.has("-G") || call.flags.has("--get");
  const sends = seen.upload === true ? "PUT" : seen.body !== undefined && !asGet ? "POST" : "GET";
  const method = seen.method ?? (call.flags.has("-I") || call.flags.has("--head") ? "HEAD" : sends);
  if (seen.urls.length === 0) return discloses("asks a server");
  return strictest(seen.urls.map((url) => predictUrl(method, url, seen.body)));
}

function predictUrl(method: string, url: string, body: string | undefined): Prediction {
  if (/^(?:ftp|smtp|scp|sftp|imap|telnet|ldap)s?:/i.test(url)) {
    return method === "GET" ? discloses("reads from a server") : irreversible("sends to a server");
  }
  if (/^file:/i.test(url)) return local();
  const document = /graphql/.test(url) ? documentIn(body) : undefined;
  return predictRequest({ method, url, ...(document === undefined ? {} : { graphql: document }) });
}

/** The GraphQL document in a JSON body. */
function documentIn(body: string | undefined): string | undefined {
  const query = /"query"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(body ?? "")?.[1];
  return query?.replaceAll(/\\[nrt]/g, " ").replaceAll('\\"', '"');
}

/** `--data=x`, `-dx`, `-XPOST`; short options may be bundled: `-sSLX POST`. */
function splitOption(word: string): readonly [name: string, value?: string] {
  if (word.startsWith("--")) {
    const [name = word, ...rest] = word.split("=");
    return rest.length === 0 ? [name] : [name, rest.join("=")];
  }
  const bundle = /^-([a-zA-Z0-9#:]*?)([XdFTHouAbcemxErDKwz])(.*)$/.exec(word);
  if (bundle === null) return [word];
  const [, , letter = "", value = ""] = bundle;
  return value === "" ? [`-${letter}`] : [`-${letter}`, value];
}

/** `wget` reads unless it is told to post. */
export function predictWget(call: Invocation): Prediction {
  const sends = call.args.find((one) =>
    /^--(?:post-(?:data|file)|body-(?:data|file)|method)\b/.test(one),
  );
  const named = /^--method=(\w+)/.exec(sends ?? "")?.[1]?.toUpperCase();
  const method = named ?? (sends === undefined ? "GET" : "POST");
  const urls = call.operands.filter((one) => /[./:$]/.test(one));
  if (urls.length === 0) return discloses("fetches a file");
  return strictest(urls.map((url) => predictRequest({ method, url })));
}

/** HTTPie and xh: a method or none, then the address, then items that make it a POST. */
export function predictHttpie(call: Invocation): Prediction {
  const [first = "", second] = call.operands;
  if (call.operands.length === 0) return local();
  const isMethod = /^[A-Z]{3,7}$/.test(first);
  const url = isMethod ? (second ?? "") : first;
  const items = call.operands.slice(isMethod ? 2 : 1);
  const sends = items.some((one) => /^[^:=]+(?::?=)|@/.test(one) && !one.includes("=="));
  return predictRequest({
    method: isMethod ? first : sends ? "POST" : "GET",
    url: url.replace(/^:/, "localhost:"),
  });
}

/** `scp`, `rsync`: which way the bytes go. */
export function predictCopy(call: Invocation): Prediction {
  if (call.flags.has("--dry-run") || (call.program === "rsync" && call.flags.has("-n"))) {
    return discloses("tries a copy");
  }
  const target = call.operands.at(-1);
  const sources = call.operands.slice(0, -1);
  if (target !== undefined && isRemotePath(target))
    return irreversible("copies files to another machine");
  if (sources.some(isRemotePath)) return discloses("copies files from another machine");
  return local("copies files");
}

function isRemotePath(path: string): boolean {
  if (/^(?:rsync|scp|sftp|ssh):\/\//.test(path)) return true;
  const host = /^(?:[^@/:\s]+@)?([^/:\s]+):/.exec(path)?.[1];
  return host !== undefined && host.length > 1 && !isLocalHost(host);
}

const databaseHosts = new Set(["-h", "--host", "-H", "--hostname"]);

/** A variable that holds the address of a database, wherever that is. */
const addressVariable = /^\$\{?\w*(?:URL|URI|DSN|CONN(?:ECTION)?(?:_STRING)?)\}?$/i;

/** Database shells: another host than this one, and whether the statement only reads. */
export function predictDatabase(call: Invocation, input: string | undefined): Prediction {
  const { args } = call;
  if (["--version", "-V", "--help", "-?"].some((one) => call.flags.has(one))) return local();
  const named = args.flatMap((one, at) => {
    if (databaseHosts.has(one)) return [args[at + 1] ?? ""];
    const inline = /^(?:--host=|-h(?=[\w.]))(.+)$/.exec(one)?.[1] ?? /\bhost=(\S+)/.exec(one)?.[1];
    return inline === undefined ? [] : [inline];
  });
  const urls = args
    .filter((one) => /^[a-z+]+:\/\//i.test(one) || addressVariable.test(one))
    .map((one) => splitUrl(one)?.host ?? "$");
  const hosts = [...named, ...urls];
  if (hosts.length === 0 || hosts.every((one) => isLocalHost(one) || one.startsWith("/"))) {
    return local("asks a database on this machine");
  }
  const statement = [...args, input ?? ""].join(" ");
  const writes =
    /\b(?:insert|update|delete|drop|truncate|alter|create|grant|revoke|copy|merge|replace|set|del|flush\w*|hset|lpush|remove|save)\b/i;
  const reads =
    /\b(?:select|show|describe|explain|\\d\w*|\\l|get|keys|scan|info|find|count|ping)\b/i;
  return reads.test(statement) && !writes.test(statement)
    ? discloses("reads a remote database")
    : irreversible("works on a remote database");
}
