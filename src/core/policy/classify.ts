import type { JsonValue, Reversibility } from "../journal/entry.ts";
import { blastRadius } from "./blastRadius.ts";
import { classifyGit } from "./classifyGit.ts";
import { matchesHost, matchesName, matchesPath, segmentsOf } from "./glob.ts";
import type { CallFacts } from "./judge.ts";
import { awsActions } from "./knowledge/aws.ts";
import type { KnownCall, Service } from "./knowledge/service.ts";
import { services } from "./knowledge/services.ts";
import { holdingFloor } from "./floor.ts";
import { strictestMeaning, type Meaning } from "./meaning.ts";
import { methodsOf } from "./methods.ts";
import { strictestReversibility } from "./reversibility.ts";

/** Methods that only read by their definition (RFC 9110, RFC 4918, RFC 3253). */
export const readMethods: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "OPTIONS",
  "TRACE",
  "PROPFIND",
  "REPORT",
  "QUERY",
]);

/** What a call does, by the built-in knowledge alone. */
export function classify(facts: CallFacts, defaultBranches: readonly string[]): Meaning {
  if (last?.facts === facts && last.defaultBranches === defaultBranches) return last.meaning;
  const meaning = classifyAnew(facts, defaultBranches);
  last = { facts, defaultBranches, meaning };
  return meaning;
}

/** A call is classified when it is judged and again right after, when it is counted: the same facts mean the same. One
 * call is remembered, and not by a weak map or reference, which cost each call more than the rest of its judgement. */
let last:
  | {
      readonly facts: CallFacts;
      readonly defaultBranches: readonly string[];
      readonly meaning: Meaning;
    }
  | undefined;

/** Where no branch is named. */
export const noBranches: readonly string[] = [];

function classifyAnew(facts: CallFacts, defaultBranches: readonly string[]): Meaning {
  if (facts.kind === "tcp") return opaqueConnection(facts);
  if (facts.kind === "http") return classifyHttp(facts);
  const meaning = classifyKind(facts, facts.kind, defaultBranches);
  return meaning.traffic === "disclosure" ? unlessDisguised(facts, meaning) : meaning;
}

function classifyKind(
  facts: CallFacts,
  kind: Exclude<CallFacts["kind"], "http" | "tcp">,
  defaultBranches: readonly string[],
): Meaning {
  switch (kind) {
    case "git":
      return facts.git === undefined
        ? unreadable(facts, "git")
        : classifyGit(facts, facts.git, defaultBranches);
    case "graphql":
      return classifyGraphql(facts);
    case "mcp":
      return classifyMcp(facts);
    case "npm":
      return classifyNpm(facts);
    case "aws":
      return classifyAws(facts);
  }
}

/**
 * The shape of a request is in the hands of whoever writes it: a body that looks like a GraphQL query, a ping or a signed
 * read still does what its path says on a host that ignores the rest. It is a read only where the host serves that kind.
 */
function unlessDisguised(facts: CallFacts, meaning: Meaning): Meaning {
  const service = serviceOf(facts.host);
  if (facts.kind === "git") {
    const http = classifyHttp(facts);
    return http.known && http.traffic === "change" ? http : meaning;
  }
  if (facts.kind === "aws") return isAwsHost(facts.host) ? meaning : classifyHttp(facts);
  if (facts.kind === "mcp") {
    return service?.toolHosts?.includes(facts.host) === true ? meaning : classifyHttp(facts);
  }
  if (facts.kind !== "graphql") return meaning;
  if (methodsOf(facts).some((one) => one !== "POST" && one !== "GET")) return classifyHttp(facts);
  const endpoint = service === undefined ? "/**/graphql" : service.graphql;
  return endpoint !== undefined && matchesPath(endpoint, facts.path)
    ? meaning
    : classifyHttp(facts);
}

function isAwsHost(host: string): boolean {
  return ["*.amazonaws.com", "*.amazonaws.com.cn", "*.api.aws"].some((one) =>
    matchesHost(one, host),
  );
}

/** The service that a host belongs to, if it is one of those that are known. */
export function serviceOf(host: string): Service | undefined {
  if (host === lastHost) return lastService;
  lastService = services.find((one) => one.hosts.some((pattern) => matchesHost(pattern, host)));
  lastHost = host;
  return lastService;
}

/** Calls come in runs to one host, and each asks several times. */
let lastHost = "";
let lastService: Service | undefined;

function classifyHttp(facts: CallFacts): Meaning {
  if (facts.scheme === "ws" || facts.scheme === "wss") {
    return {
      ...opaqueConnection(facts),
      id: "websocket",
      does: `opens a WebSocket to ${facts.host}, whose messages are not judged one by one`,
    };
  }
  const lfs = classifyLfs(facts);
  if (lfs !== undefined) return lfs;
  const service = serviceOf(facts.host);
  const methods = methodsOf(facts);
  if (methods.length === 1) return byPath(facts, facts.method, service);
  return strictestMeaning(methods.map((method) => byPath(facts, method, service)));
}

function byPath(facts: CallFacts, method: string, service: Service | undefined): Meaning {
  const call = service?.calls.find(
    (one) => allowsMethod(one, method) && matchesPath(one.pattern, facts.path),
  );
  if (service !== undefined && call !== undefined) {
    return meaningOf(service, asMade(call, facts), facts);
  }
  return byMethod(facts, method, service);
}

/** Git LFS asks by POST which objects to fetch (https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md). */
function classifyLfs(facts: CallFacts): Meaning | undefined {
  if (facts.method !== "POST" || !facts.path.endsWith("/info/lfs/objects/batch")) return undefined;
  const body = facts.body;
  const operation =
    typeof body === "object" && body !== null && "operation" in body
      ? body["operation"]
      : undefined;
  if (operation !== "download") return undefined;
  return {
    id: "git lfs-download",
    does: `asks ${facts.host} where large files are`,
    reversibility: "irreversible",
    traffic: "disclosure",
    known: true,
    likeness: `read ${facts.host}`,
  };
}

function byMethod(facts: CallFacts, method: string, service: Service | undefined): Meaning {
  const isRead = readMethods.has(method) && readMethods.has(facts.method) && !carriesBody(facts);
  const where = service?.name ?? facts.host;
  return {
    id: isRead ? "http read" : `http ${method.toLowerCase()}`,
    does: isRead ? `reads ${facts.path} from ${where}` : `${method} ${facts.path} on ${where}`,
    reversibility: "irreversible",
    traffic: isRead ? "disclosure" : "change",
    ...blast(facts),
    known: isRead,
    likeness: isRead ? `read ${facts.host}` : `${method} ${facts.host}:${facts.port} ${facts.path}`,
  };
}

/** A read that sends content is not one. */
function carriesBody(facts: CallFacts): boolean {
  return facts.method !== "QUERY" && facts.method !== "PROPFIND" && facts.method !== "REPORT"
    ? facts.bodyBytes !== 0 && facts.bodyType !== "none"
    : false;
}

/** Query documents only read; of mutations each root field must be known, else the call cannot be undone. */
function classifyGraphql(facts: CallFacts): Meaning {
  const operations = facts.graphql ?? [];
  if (operations.length === 0 || operations.some((one) => one.operation === "unknown")) {
    return unreadable(facts, "graphql");
  }
  const service = serviceOf(facts.host);
  const fields = operations.filter((one) => one.operation === "mutation").flatMap((o) => o.fields);
  if (!operations.some((one) => one.operation === "mutation")) {
    const asked = operations.flatMap((one) => one.fields).join(", ");
    return {
      id: "graphql query",
      does: `asks ${service?.name ?? facts.host} for ${asked}`,
      reversibility: "irreversible",
      traffic: "disclosure",
      known: true,
      likeness: `graphql query ${facts.host}`,
    };
  }
  return several(facts, "graphql", service, fields, service?.mutations ?? []);
}

function classifyMcp(facts: CallFacts): Meaning {
  const messages = facts.mcp ?? [];
  if (messages.length === 0) return unreadable(facts, "mcp");
  const tools = messages.filter((one) => one.method === "tools/call");
  if (tools.length === 0) {
    return {
      id: "mcp read",
      does: `${messages.map((one) => one.method).join(", ")} on ${messages[0]?.server ?? facts.host}`,
      reversibility: "irreversible",
      traffic: "disclosure",
      known: true,
      likeness: `mcp read ${facts.host}`,
    };
  }
  const service = serviceOf(facts.host);
  const meaning = several(
    facts,
    "mcp",
    service,
    tools.map((one) => one.tool ?? ""),
    service?.tools ?? [],
  );
  return tools.some((one) => one.destructive === true) ? destroying(meaning) : meaning;
}

/** The server says that it destroys: no way back is counted on, no preset covers it. */
function destroying(meaning: Meaning): Meaning {
  const { wayBack: _, isComment: __, ...rest } = meaning;
  return { ...rest, reversibility: "irreversible", traffic: "change" };
}

/** One request that asks for several things by name: the strictest of them, unknown ones cannot be undone. */
function several(
  facts: CallFacts,
  kind: "graphql" | "mcp",
  service: Service | undefined,
  names: readonly string[],
  table: readonly KnownCall[],
): Meaning {
  const calls = names
    .map((name) => table.find((one) => matchesName(one.pattern, name)))
    .map((call) => call && asMade(call, facts));
  const known = calls.filter((one) => one !== undefined);
  const isKnown = known.length === names.length && names.length > 0;
  const isRead = isKnown && known.every((one) => one.class === "read");
  const reversibility = isKnown ? strictestReversibility(...known.map(classOf)) : "irreversible";
  const floor = known.flatMap((one) => one.floor ?? [])[0];
  const verbs = calls.map((one, at) => (one === undefined ? `runs ${names[at] ?? "?"}` : one.does));
  return {
    id: `${kind} ${service?.id ?? facts.host} ${names.join(",")}`,
    does: `${[...new Set(verbs)].join(", ")} (${names.join(", ")}) on ${service?.name ?? facts.host}`,
    reversibility,
    traffic: isRead ? "disclosure" : "change",
    ...(reversibility === "recoverable"
      ? { wayBack: known.flatMap((one) => one.wayBack ?? []).join("; ") }
      : {}),
    ...(floor === undefined ? {} : { floor: holdingFloor(floor) }),
    ...blast(facts, known[0]),
    known: isKnown,
    ...(isKnown && known.every((one) => one.isComment === true) ? { isComment: true } : {}),
    likeness: `${kind} ${facts.host} ${facts.path} ${[...names].sort().join(",")}`,
  };
}

function classifyNpm(facts: CallFacts): Meaning {
  const npm = facts.npm;
  if (npm === undefined) return unreadable(facts, "npm");
  if (npm.action === "other") return classifyHttp(facts);
  const action = { publish: "publishes", unpublish: "unpublishes", deprecate: "deprecates" }[
    npm.action as string
  ];
  return {
    id: `npm ${npm.action}`,
    does: `${action ?? `changes (${npm.action})`} ${npm.package} ${npm.versions.join(", ")}`.trimEnd(),
    reversibility: "irreversible",
    traffic: "change",
    floor: holdingFloor(npm.action === "access" ? "credential" : "publish"),
    known: true,
    likeness: `npm ${npm.action} ${facts.host} ${npm.package} ${npm.versions.join(",")}`,
  };
}

function classifyAws(facts: CallFacts): Meaning {
  const aws = facts.aws;
  if (aws === undefined) return unreadable(facts, "aws");
  if (actionsIn(facts).size > 1) return unreadable(facts, "aws");
  const likeness = `aws ${aws.service} ${aws.region} ${aws.action ?? facts.method} ${facts.host} ${facts.path}`;
  if (aws.action === undefined) {
    const meanings = methodsOf(facts).map((method) => byMethod(facts, method, undefined));
    return { ...strictestMeaning(meanings), likeness };
  }
  const name = `${aws.service}:${aws.action}`;
  const found = awsActions.find((one) => matchesName(one.pattern, name));
  const call = found && asMade(found, facts);
  const isRead = call?.class === "read";
  return {
    id: `aws ${name}`,
    does: `${call?.does ?? "runs"} (${name} in ${aws.region})`,
    reversibility: call === undefined ? "irreversible" : classOf(call),
    traffic: isRead ? "disclosure" : "change",
    ...(call?.wayBack === undefined ? {} : { wayBack: call.wayBack }),
    ...(call?.floor === undefined ? {} : { floor: holdingFloor(call.floor) }),
    ...blast(facts, call),
    known: call !== undefined,
    likeness: isRead ? `aws read ${facts.host}` : likeness,
  };
}

/** Every place where some AWS protocol carries the action: which one counts depends on the service. */
function actionsIn(facts: CallFacts): ReadonlySet<string> {
  const body = facts.body;
  const inBody =
    typeof body === "object" && body !== null && !Array.isArray(body)
      ? (body as Readonly<Record<string, JsonValue>>)["Action"]
      : undefined;
  const targets = facts.headers.filter(([name]) => name === "x-amz-target");
  return new Set([
    ...targets.map(([, value]) => value.slice(value.lastIndexOf(".") + 1)),
    ...facts.query.filter(([name]) => name === "Action").map(([, value]) => value),
    ...(inBody === undefined ? [] : [JSON.stringify(inBody).replaceAll('"', "")]),
  ]);
}

function meaningOf(service: Service, call: KnownCall, facts: CallFacts): Meaning {
  const isRead = call.class === "read";
  const exact = service.exactSegments;
  const like =
    call.class === "recoverable" && exact !== undefined
      ? `${segmentsOf(facts.path).slice(0, exact).join("/")} ${call.pattern}`
      : facts.path;
  return {
    id: `${service.id} ${call.methods.join("|")} ${call.pattern}`,
    does: `${call.does} on ${service.name}`,
    reversibility: classOf(call),
    traffic: isRead ? "disclosure" : "change",
    ...(call.wayBack === undefined ? {} : { wayBack: call.wayBack }),
    ...(call.floor === undefined ? {} : { floor: holdingFloor(call.floor) }),
    ...blast(facts, call),
    known: true,
    ...(call.isComment === true ? { isComment: true } : {}),
    likeness: isRead ? `read ${facts.host}` : `${facts.method} ${facts.host}:${facts.port} ${like}`,
  };
}

/** The call as this request makes it: words in it can take the way back away. */
function asMade(call: KnownCall, facts: CallFacts): KnownCall {
  if (call.unless === undefined) return call;
  const text = `${facts.query.map((pair) => pair.join("=")).join("&")} ${JSON.stringify(facts.body ?? "")}`;
  if (!call.unless.some((word) => text.includes(word))) return call;
  return {
    methods: call.methods,
    pattern: call.pattern,
    class: "irreversible",
    does: `${call.does}, for good`,
    ...(call.floor === undefined ? {} : { floor: call.floor }),
    ...(call.count === undefined ? {} : { count: call.count }),
  };
}

/** A read is a disclosure, and bytes that left cannot be called back. */
function classOf(call: KnownCall): Reversibility {
  return call.class === "recoverable" ? "recoverable" : "irreversible";
}

function blast(facts: CallFacts, call?: KnownCall): Pick<Meaning, "blastRadius"> {
  const radius = blastRadius(facts, call?.count);
  return radius === undefined ? {} : { blastRadius: radius };
}

function allowsMethod(call: KnownCall, method: string): boolean {
  return call.methods.includes("*") || call.methods.includes(method);
}

function opaqueConnection(facts: CallFacts): Meaning {
  return {
    id: "tcp",
    does: `opens a connection to ${facts.host}:${facts.port} that cannot be inspected`,
    reversibility: "irreversible",
    traffic: "opaque",
    known: false,
    likeness: `${facts.scheme} ${facts.host}:${facts.port}`,
  };
}

function unreadable(facts: CallFacts, kind: string): Meaning {
  return {
    id: `${kind} unreadable`,
    does: `${facts.method} ${facts.path} on ${facts.host}: a ${kind} request that could not be read`,
    reversibility: "irreversible",
    traffic: "change",
    floor: holdingFloor("unparsable"),
    known: false,
    likeness: `${facts.method} ${facts.host}:${facts.port} ${facts.path}`,
  };
}
