import { discloses, irreversible, local, type Prediction, recoverable } from "./effect.ts";
import { classify } from "../policy/classify.ts";
import type { CallFacts } from "../policy/judge.ts";

/** A request as a command line writes it down. */
export interface WrittenRequest {
  readonly method: string;
  readonly url: string;
  /** A GraphQL document, where there is one. */
  readonly graphql?: string;
}

const localHosts =
  /^(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[?::1\]?|host\.docker\.internal|.*\.(?:localhost|local|test|internal|svc))$/;
const privateAddress = /^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|169\.254\.)/;

/** What a request would do: by the built-in knowledge of its host, else by its method. */
export function predictRequest(request: WrittenRequest): Prediction {
  const target = splitUrl(request.url);
  if (target === undefined) return unknownTarget(request.method);
  if (isLocalHost(target.host)) return local("asks a server on this machine");
  const meaning = classify(factsOf(request.method, target.host, target.path, request.graphql), []);
  if (meaning.traffic === "disclosure") return discloses(meaning.does);
  return meaning.reversibility === "recoverable"
    ? recoverable(meaning.does, meaning.wayBack ?? "undo it on the platform")
    : irreversible(meaning.does);
}

/** Whether a host is this machine or its own network. */
export function isLocalHost(host: string): boolean {
  return localHosts.test(host) || privateAddress.test(host);
}

/** Host and path of a URL; a scheme may be missing. `undefined` when the host is not written down. */
export function splitUrl(
  url: string,
): { readonly host: string; readonly path: string } | undefined {
  const match =
    /^(?:[a-z][a-z0-9+.-]*:\/\/)?(?:[^/@\s]*@)?(\[[0-9a-f:]+\]|[^/:?#\s]+)(?::\d*)?([^?#]*)/i.exec(
      url,
    );
  const host = match?.[1]?.toLowerCase();
  if (host === undefined || /[$`{}]/.test(host)) return undefined;
  return { host, path: match?.[2] === "" ? "/" : (match?.[2] ?? "/") };
}

function unknownTarget(method: string): Prediction {
  const reads = ["GET", "HEAD", "OPTIONS"].includes(method);
  return reads
    ? discloses("reads from a host that is not written down")
    : irreversible(`${method} to a host that is not written down`);
}

function factsOf(method: string, host: string, path: string, document?: string): CallFacts {
  return {
    kind: document === undefined ? "http" : "graphql",
    scheme: "https",
    method,
    host,
    port: 443,
    path,
    query: [],
    headers: [],
    bodyBytes: 0,
    bodyType: "none",
    body: undefined,
    secrets: [],
    modelHost: false,
    address: "public",
    ...(document === undefined ? {} : { graphql: [operationOf(document)] }),
  };
}

/** The kind and the root fields of a document, read roughly: what is not clear is unknown. */
function operationOf(document: string): NonNullable<CallFacts["graphql"]>[number] {
  const text = document.trim();
  const kind = /^(query|mutation|subscription)\b/.exec(text)?.[1];
  const operation = text.startsWith("{")
    ? "query"
    : ((kind ?? "unknown") as "query" | "mutation" | "unknown");
  return { operation, fields: rootFields(text), variables: null };
}

function rootFields(document: string): readonly string[] {
  const fields: string[] = [];
  let depth = 0;
  let parens = 0;
  for (const match of document.matchAll(
    /[{}()]|"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*(?:\s*:\s*[A-Za-z_]\w*)?/g,
  )) {
    const [token] = match;
    if (token === "(") parens++;
    else if (token === ")") parens--;
    else if (parens > 0) continue;
    else if (token === "{") depth++;
    else if (token === "}") depth--;
    else if (depth === 1 && !token.startsWith('"'))
      fields.push(token.split(":").at(-1)?.trim() ?? token);
  }
  return fields;
}
