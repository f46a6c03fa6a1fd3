import type { CallFacts } from "../judge.ts";

/** What the body and the head together tell of a call. */
export type BodyFacts = Pick<
  CallFacts,
  | "kind"
  | "bodyType"
  | "body"
  | "bodyProblem"
  | "streams"
  | "multipart"
  | "git"
  | "graphql"
  | "mcp"
  | "npm"
  | "aws"
>;

/** What the parsers read: `bytes` is the decoded body (content encodings undone), `text` the same as UTF-8 when it is
 * valid UTF-8, `complete` false when only its beginning is known. Header names are in lower case. */
export interface BodyInput {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly query: readonly (readonly [string, string])[];
  readonly headers: readonly (readonly [string, string])[];
  readonly bytes: Uint8Array;
  readonly text: string | undefined;
  readonly complete: boolean;
}
