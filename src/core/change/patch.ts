import type { ChangedFile, FileState } from "./changeSet.ts";
import { gitMode } from "./changeSet.ts";
import { hunkText, type Hunk } from "./hunks.ts";
import { looksBinary, splitLines } from "./lines.ts";

/** A path in a patch: its bytes, one per character. */
export type PathText = string;

const escapes: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  '"': '\\"',
  "\\": "\\\\",
};

/** A path as git writes it: in quotes with escapes when it has anything unusual. */
export function quotePath(path: PathText): string {
  if (!/[\x00-\x1F"\\\x7F-\xFF]/.test(path)) return path;
  const quoted = path.replaceAll(/[\x00-\x1F"\\\x7F-\xFF]/g, (character) => {
    const octal = character.charCodeAt(0).toString(8).padStart(3, "0");
    return escapes[character] ?? `\\${octal}`;
  });
  return `"${quoted}"`;
}

/** What one patch says before its content. */
export interface PatchHead {
  readonly path: PathText;
  readonly from?: PathText | undefined;
  readonly before?: FileState | undefined;
  readonly after?: FileState | undefined;
}

/** The lines before the content: names, modes, rename. */
export function patchHead({ path, from, before, after }: PatchHead): string {
  const oldName = from ?? path;
  const lines = [`diff --git ${quotePath(`a/${oldName}`)} ${quotePath(`b/${path}`)}`];
  const oldMode = before === undefined ? undefined : gitMode(before);
  const newMode = after === undefined ? undefined : gitMode(after);
  if (oldMode === undefined) lines.push(`new file mode ${newMode ?? "100644"}`);
  else if (newMode === undefined) lines.push(`deleted file mode ${oldMode}`);
  else if (oldMode !== newMode) lines.push(`old mode ${oldMode}`, `new mode ${newMode}`);
  if (from !== undefined && before !== undefined && after !== undefined) {
    lines.push(`rename from ${quotePath(from)}`, `rename to ${quotePath(path)}`);
  }
  return lines.map((line) => `${line}\n`).join("");
}

/** The `---` and `+++` lines. */
function nameLines({ path, from, before, after }: PatchHead): string {
  // Git ends a name that holds a blank with a tab, so that the name's end can be told.
  const name = (side: string): string => `${quotePath(side)}${side.includes(" ") ? "\t" : ""}\n`;
  const old = before === undefined ? "/dev/null\n" : name(`a/${from ?? path}`);
  const fresh = after === undefined ? "/dev/null\n" : name(`b/${path}`);
  return `--- ${old}+++ ${fresh}`;
}

/** The whole patch of one file whose content is text on both sides. */
export function textPatch(
  head: PatchHead,
  beforeText: string,
  afterText: string,
  hunks: readonly Hunk[],
): string {
  if (hunks.length === 0) return patchHead(head);
  const before = splitLines(beforeText);
  const after = splitLines(afterText);
  const body = hunks.map((hunk) => hunkText(hunk, before, after)).join("");
  return `${patchHead(head)}${nameLines(head)}${body}`;
}

/** One hunk that replaces everything: for symbolic links, whose targets are no lines to be chosen among. */
export function wholeHunk(beforeText: string, afterText: string): readonly Hunk[] {
  const oldLines = splitLines(beforeText).length;
  const newLines = splitLines(afterText).length;
  if (beforeText === afterText) return [];
  return [
    {
      id: "",
      oldStart: oldLines === 0 ? 0 : 1,
      oldLines,
      newStart: newLines === 0 ? 0 : 1,
      newLines,
      edits: [{ oldAt: 0, oldLines, newAt: 0, newLines }],
    },
  ];
}

/** True when git shows the change as a deletion followed by an addition: the kind of thing changed. */
export function changesType(file: Pick<ChangedFile, "before" | "after">): boolean {
  return (
    file.before !== undefined && file.after !== undefined && file.before.type !== file.after.type
  );
}

/** True when a text can be shown by lines. */
export function isShownByLines(...texts: readonly string[]): boolean {
  return !texts.some((text) => looksBinary(text));
}
