import type { Diagnostic } from "../journal/entry.ts";

/** Old path → new path, both relative to the workspace, for files that the change set renamed. */
export type Renames = ReadonlyMap<string, string>;

export const noRenames: Renames = new Map();

/**
 * What makes two diagnostics of base and shadow the same: the file after renames, the code and the message, with
 * renamed paths, white space and line numbers in the message made equal. Line and column are no part of it.
 */
export function identityOf(diagnostic: Diagnostic, renames: Renames): string {
  const path = renames.get(diagnostic.path) ?? diagnostic.path;
  return [
    path,
    diagnostic.severity,
    diagnostic.code,
    normalMessage(diagnostic.message, renames),
  ].join("\0");
}

/** Takes out of a message what moves when only lines or files moved. */
function normalMessage(message: string, renames: Renames): string {
  let text = message.replaceAll(/\s+/g, " ").trim();
  text = text.replaceAll(/\b(lines?|row) \d+(-\d+)?/gi, "$1 #").replaceAll(/:\d+:\d+\b/g, ":#");
  for (const [from, to] of renames) {
    text = replacePath(text, from, to);
    text = replacePath(text, withoutExtension(from), withoutExtension(to));
  }
  return text;
}

/** Replaces a path only where a whole path stands, so that `a.ts` does not change `data.ts`. */
function replacePath(text: string, from: string, to: string): string {
  let result = "";
  let rest = text;
  for (let at = rest.indexOf(from); at >= 0; at = rest.indexOf(from)) {
    const before = at === 0 ? "" : (rest[at - 1] ?? "");
    const after = rest[at + from.length] ?? "";
    const whole = !/[\w./-]/.test(before) && !/[\w/-]/.test(after);
    result += rest.slice(0, at) + (whole ? to : from);
    rest = rest.slice(at + from.length);
  }
  return result + rest;
}

/** TypeScript names modules without their extension. */
function withoutExtension(path: string): string {
  return path.replace(/(\.d)?\.[cm]?[jt]sx?$/, "");
}

/** Makes a path absolute in a checker's message or diagnostic relative to the workspace, wherever it stands. */
export function withoutWorkspace(text: string, workspace: string): string {
  return text.split(`${workspace}/`).join("");
}
