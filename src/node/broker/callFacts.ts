import { parseBody } from "../../core/policy/body/parseBody.ts";
import type { CallFacts } from "../../core/policy/judge.ts";
import { classBeforeLookup } from "./addresses.ts";
import { decodeBody } from "./contentDecoding.ts";
import { withAncestry } from "./gitPack.ts";
import type { Header } from "./headers.ts";
import { encodingOf } from "./headers.ts";
import { parseAuthority, type Authority } from "./names.ts";
import { parseTarget, type Target } from "./target.ts";

/** The parts of a call that its facts are made of. */
export interface FactParts {
  readonly scheme: CallFacts["scheme"];
  readonly method: string;
  readonly authority: Authority;
  readonly target: Target;
  readonly headers: readonly Header[];
  readonly body: Uint8Array;
  /** The body without its content encoding; `undefined` where that cannot be undone. */
  readonly decoded: Uint8Array | undefined;
  /** False when only the beginning of the body is known. */
  readonly complete: boolean;
  readonly declaredBytes: number | undefined;
  readonly secrets: readonly string[];
  readonly modelHost: boolean;
}

/** Builds what the policy sees of one HTTP call. */
export function callFacts(parts: FactParts): CallFacts {
  const headers = parts.headers.map(([name, value]) => [name.toLowerCase(), value] as const);
  const { decoded } = parts;
  const bytes = decoded ?? parts.body;
  const understood = parseBody({
    method: parts.method,
    host: parts.authority.host,
    path: parts.target.path,
    query: parts.target.pairs,
    headers,
    bytes,
    text: utf8(bytes),
    complete: parts.complete,
  });
  // Not by spreading, which takes ten times as long: calls wait for this.
  const base: CallFacts = Object.assign(
    {
      scheme: parts.scheme,
      method: parts.method,
      host: parts.authority.host,
      port: parts.authority.port,
      path: parts.target.path,
      query: parts.target.pairs,
      headers,
      bodyBytes: parts.complete ? parts.body.length : parts.declaredBytes,
      secrets: parts.secrets,
      modelHost: parts.modelHost,
      address: classBeforeLookup(parts.authority.host),
    },
    understood,
  );
  if (decoded === undefined) {
    return { ...base, bodyType: "opaque", bodyProblem: "its content encoding cannot be undone" };
  }
  return base.git?.action === "push" ? { ...base, git: withAncestry(base.git, bytes) } : base;
}

/** A connection that is not inspected. */
export function connectionFacts(authority: Authority, modelHost: boolean): CallFacts {
  return {
    kind: "tcp",
    scheme: "tcp",
    method: "CONNECT",
    host: authority.host,
    port: authority.port,
    path: "/",
    query: [],
    headers: [],
    bodyBytes: undefined,
    bodyType: "opaque",
    body: undefined,
    bodyProblem: "the connection is not inspected",
    secrets: [],
    modelHost,
    address: classBeforeLookup(authority.host),
  };
}

/** Facts of a call as a person writes it down, for `policy explain`; `undefined` when the URL is none. */
export function factsOfUrl(
  method: string,
  url: string,
  headers: readonly Header[],
  body: Uint8Array,
): CallFacts | undefined {
  const match = /^(https?|wss?):\/\/([^/?#]+)([^#]*)/i.exec(url);
  const scheme = match?.[1]?.toLowerCase() as "http" | "https" | "ws" | "wss" | undefined;
  if (match === null || scheme === undefined) return undefined;
  const secure = scheme === "https" || scheme === "wss";
  const authority = parseAuthority(match[2] ?? "", secure ? 443 : 80);
  const rest = match[3] ?? "";
  const target = parseTarget(rest.startsWith("/") ? rest : `/${rest}`);
  if (authority === undefined || target === undefined) return undefined;
  return callFacts({
    scheme,
    method: method.toUpperCase(),
    authority,
    target,
    headers,
    body,
    decoded: decodeBody(body, encodingOf(headers), true),
    complete: true,
    declaredBytes: body.length,
    secrets: [],
    modelHost: false,
  });
}

const decoder = new TextDecoder("utf-8", { fatal: true });

function utf8(bytes: Uint8Array): string | undefined {
  if (bytes.length === 0) return "";
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined; // Not text: the parsers treat it as binary.
  }
}
