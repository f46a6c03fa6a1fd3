import type { BlastRadius } from "../../journal/entry.ts";
import type { FloorId } from "../floor.ts";

/**
 * What is known of one public API. Data only: which hosts it answers on, where it is documented, and what its calls do.
 * The first call that matches wins, so the special ones stand before the general ones. A call that none matches falls
 * back to its HTTP method: reads are disclosures, everything else cannot be undone.
 */
export interface Service {
  readonly id: string;
  /** As people call it. */
  readonly name: string;
  /** Exact, or `*.example.com`. */
  readonly hosts: readonly string[];
  /** Where the facts come from. */
  readonly documentation: string;
  /** How many leading path segments an approval for the transaction keeps exact: the project, the account. */
  readonly exactSegments?: number;
  readonly calls: readonly KnownCall[];
  /** Path of the GraphQL endpoint, if there is one. */
  readonly graphql?: string;
  /** Root fields of mutations where the API is GraphQL. `*` matches any characters. */
  readonly mutations?: readonly KnownCall[];
  /** Those of its hosts that are MCP servers: only there does a message of that protocol mean what it says. */
  readonly toolHosts?: readonly string[];
  /** MCP tools. `*` matches any characters. */
  readonly tools?: readonly KnownCall[];
}

export type CallClass = "read" | "recoverable" | "irreversible";

export interface KnownCall {
  /** Upper case; `*` for any. */
  readonly methods: readonly string[];
  /** Path glob, or a pattern over the name of a field, tool or action. */
  readonly pattern: string;
  readonly class: CallClass;
  /** "opens a pull request" */
  readonly does: string;
  /** How to undo it, and until when. */
  readonly wayBack?: string;
  readonly floor?: FloorId;
  /** Where the things that it touches are counted. */
  readonly count?: Count;
  /** Text for people who follow an issue, a change or a page. */
  readonly isComment?: boolean;
  /** Words in the query or the body that make it final: "permanentlyDelete". */
  readonly unless?: readonly string[];
}

/** A list in the body: members separated by dots, `*` for every element of a list, "" for the body itself. */
export interface Count {
  readonly at: string;
  readonly unit: BlastRadius["unit"];
}

interface More {
  readonly floor?: FloorId;
  readonly count?: Count;
  readonly unless?: readonly string[];
}

/** A call that only reads, whatever its method. */
export function reads(methods: string, pattern: string, does: string): KnownCall {
  return { methods: methods.split("|"), pattern, class: "read", does };
}

/** A change that the platform can take back, and how. */
export function undoable(
  methods: string,
  pattern: string,
  does: string,
  wayBack: string,
  more: More = {},
): KnownCall {
  return { methods: methods.split("|"), pattern, class: "recoverable", does, wayBack, ...more };
}

/** A change that cannot be called back. */
export function final(methods: string, pattern: string, does: string, more: More = {}): KnownCall {
  return { methods: methods.split("|"), pattern, class: "irreversible", does, ...more };
}

/** Text that those who follow the thing are told of at once. */
export function comment(methods: string, pattern: string, does: string): KnownCall {
  return { ...final(methods, pattern, does), isComment: true };
}

/** A list in the body whose length is the number of things that the call touches. */
export function counted(at: string, unit: string): { readonly count: Count } {
  return { count: { at, unit } };
}
