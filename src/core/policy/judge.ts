/**
 * What the broker asks the policy, and what it gets: types only. The broker canonicalises and parses once and fills
 * {@link CallFacts}; the policy turns them into a {@link Judgement}; nothing else passes between the two.
 */
import type { BlastRadius, JsonValue, Reversibility, Verdict } from "../journal/entry.ts";

/** What a call is, by its wire format: `tcp` is a connection whose content cannot be seen. */
export type CallKind = "http" | "git" | "graphql" | "mcp" | "npm" | "aws" | "tcp";

/** How the body was understood. `opaque` means that it could not be (see {@link CallFacts.bodyProblem}). */
export type BodyType =
  "none" | "json" | "form" | "multipart" | "graphql" | "git" | "text" | "binary" | "opaque";

/** One ref command of a `git-receive-pack` request. */
export interface RefUpdate {
  /** Full name, e.g. `refs/heads/main`. */
  readonly ref: string;
  readonly change: "create" | "update" | "delete";
  /** For an update: whether the sent pack proves that the old commit is an ancestor of the new one. `unknown` when
   * the pack does not tell; treat it as forced. */
  readonly ancestry: "fastForward" | "forced" | "unknown";
  readonly from: string;
  readonly to: string;
}

/** A git request over HTTP. `push` has the ref commands; `fetch` and `discover` only read. */
export interface GitFacts {
  readonly action: "discover" | "fetch" | "push";
  readonly service: "git-upload-pack" | "git-receive-pack";
  /** Path of the repository on its host, without slashes around it and without `.git`. */
  readonly repository: string;
  readonly refs: readonly RefUpdate[];
}

/** One GraphQL operation. A batch has several; a persisted query has `operation: "unknown"`. */
export interface GraphqlOperation {
  readonly operation: "query" | "mutation" | "subscription" | "unknown";
  readonly name?: string;
  /** Names of the root fields, aliases resolved, fragments on the root expanded. */
  readonly fields: readonly string[];
  readonly variables: JsonValue;
}

/** One JSON-RPC message of the Model Context Protocol, over HTTP or at the gateway. */
export interface McpFacts {
  /** At the gateway the name that the person gave the server; over HTTP its host and path. */
  readonly server: string;
  readonly method: string;
  /** For `tools/call`. */
  readonly tool?: string;
  readonly arguments?: JsonValue;
  /** The server itself says that the tool destroys. What it says of being harmless counts for nothing. */
  readonly destructive?: true;
}

/** A write to an npm registry. */
export interface NpmFacts {
  readonly action: "publish" | "unpublish" | "deprecate" | "distTag" | "access" | "other";
  readonly package: string;
  readonly versions: readonly string[];
}

/** A SigV4-signed call. `action` is the API's own name (`DeleteObject`, `TerminateInstances`) where the request
 * carries it, else `undefined`; `service` and `region` come from the credential scope. */
export interface AwsFacts {
  readonly service: string;
  readonly region: string;
  readonly action?: string;
}

/** One part of a multipart form; `text` when it is a field and not a file. */
export interface MultipartPart {
  readonly name: string;
  readonly fileName?: string;
  readonly contentType?: string;
  readonly text?: string;
  readonly bytes: number;
}

/** All that the broker knows of one call, placeholders not replaced: a Judge never sees the value of a secret. */
export interface CallFacts {
  readonly kind: CallKind;
  /** `https` also for intercepted HTTP/2; `tcp` for a connection that is not inspected. */
  readonly scheme: "http" | "https" | "ws" | "wss" | "tcp";
  /** Upper case; `CONNECT` for `tcp`. */
  readonly method: string;
  /** Canonical: lower case, A-labels, no trailing dot, IP literals in their one short spelling without brackets. */
  readonly host: string;
  readonly port: number;
  /** With a leading slash, dot segments and empty escapes resolved, never with the query. */
  readonly path: string;
  /** Decoded; in order, names may repeat. */
  readonly query: readonly (readonly [string, string])[];
  /** Names in lower case; in order, names may repeat. */
  readonly headers: readonly (readonly [string, string])[];
  /** Bytes of the body, `undefined` while a streamed body is not fully known. */
  readonly bodyBytes: number | undefined;
  readonly bodyType: BodyType;
  /** The parsed body: the JSON value; the form or multipart fields as an object of strings (lists when repeated); the
   * GraphQL request object; a string for `text`; `undefined` otherwise. */
  readonly body: JsonValue | undefined;
  /** Why the body is `opaque`: malformed, larger than what is inspected, an unknown encoding. */
  readonly bodyProblem?: string;
  /** The body was not read to its end, and is of a kind that would not have been understood if it had been: an upload. */
  readonly streams?: true;
  readonly multipart?: readonly MultipartPart[];
  readonly git?: GitFacts;
  readonly graphql?: readonly GraphqlOperation[];
  readonly mcp?: readonly McpFacts[];
  readonly npm?: NpmFacts;
  readonly aws?: AwsFacts;
  /** Names of the secrets whose placeholders the call carries. */
  readonly secrets: readonly string[];
  /** True when the host (and port) is one of the agent's own model hosts. */
  readonly modelHost: boolean;
  /** What the address is that would be dialled. `unresolved` for a name before its look-up, which happens only once the
   * call may go; the call is then judged again when the address is not `public`, and denied unless a rule names the
   * host. */
  readonly address: "public" | "loopback" | "private" | "linkLocal" | "metadata" | "unresolved";
}

/** What the policy says about one call. */
export interface Judgement {
  readonly verdict: Verdict;
  readonly reversibility: Reversibility;
  /** Becomes the entry's `traffic`: a read is a disclosure, the agent's model traffic is its own row. */
  readonly traffic: "model" | "disclosure" | "change" | "opaque";
  /** Id of the deciding rule, e.g. `floor.git.force-push`, `user:crm-archive`. */
  readonly rule: string;
  readonly reason: string;
  /** How to undo it on the platform, and until when; for `recoverable`. */
  readonly wayBack?: string;
  readonly blastRadius?: BlastRadius;
  /** One line for the card: what will happen, in the words of the platform. */
  readonly summary: string;
  /** True when the deciding rule names this host itself (exactly, not by a wildcard): only then may a loopback, private
   * or metadata address be dialled. */
  readonly namesHost?: boolean;
  /** True when the user's policy lets the host pass without interception (shown as "not inspected"). */
  readonly uninspected?: boolean;
  /** Which later calls an approval "for this transaction" covers. Absent: same rule, method, host, port and path. */
  readonly likeness?: string;
}

/** Pure and synchronous; never throws: what it cannot judge it holds. */
export type Judge = (facts: CallFacts) => Judgement;
