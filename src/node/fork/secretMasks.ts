import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  futimesSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { z } from "zod";
import { encodePath } from "./pathBytes.ts";
import { secretKind, secretSpans, wholeFileName, withoutOverlap } from "./secretRules.ts";
import type { SecretSpan } from "./secretSpan.ts";

/**
 * The masks of a fork, in `state/masks.json` (0600): which values stand behind which placeholder, and what each masked
 * file reads as in the shadow and in the base. Texts are latin1, one character a byte, so that any file survives.
 */
const savedShape = z.object({
  version: z.literal(1),
  secrets: z.array(z.object({ name: z.string(), value: z.string() })),
  files: z.array(z.object({ path: z.string(), masked: z.string() })),
});

type Saved = z.infer<typeof savedShape>;

const placeholder = /\$HOLDFAST_SECRET_([A-Z][A-Z0-9_]*)/g;

/** A value that the fork hides, by the name of its placeholder. */
export interface MaskedSecret {
  readonly name: string;
  readonly value: string;
}

/** Largest file that is looked into; a larger one whose name says that it holds secrets hides altogether. */
const largestMasked = 1 << 20;
const vendored = /(^|\/)(node_modules|\.venv|venv|site-packages|vendor|target)\//;
const fixtures =
  /(^|\/)(tests?|__tests__|fixtures?|__fixtures__|testdata|spec|examples?|samples?)\//;

/** Gives each value one name in all files, and no name to two values. */
export class SecretNames {
  readonly #byValue = new Map<string, string>();
  readonly #byName = new Map<string, string>();

  nameFor(value: string, wanted: string): string {
    const known = this.#byValue.get(value);
    if (known !== undefined) return known;
    let name = wanted;
    for (let i = 2; this.#byName.has(name); i++) name = `${wanted}_${i}`;
    this.#byValue.set(value, name);
    this.#byName.set(name, value);
    return name;
  }

  get secrets(): readonly MaskedSecret[] {
    return [...this.#byName].map(([name, value]) => ({ name, value }));
  }
}

/** Puts the values of placeholders back; unknown placeholders stay. */
export function unmaskText(text: string, secrets: ReadonlyMap<string, string>): string {
  return text.replaceAll(placeholder, (whole, name: string) => secrets.get(name) ?? whole);
}

function replaceSpans(text: string, spans: readonly SecretSpan[], names: SecretNames): string {
  let masked = "";
  let at = 0;
  for (const { start, end, name } of spans) {
    const value = text.slice(start, end);
    masked += `${text.slice(at, start)}$HOLDFAST_SECRET_${names.nameFor(value, name)}`;
    at = end;
  }
  return masked + text.slice(at);
}

function isBinary(text: string): boolean {
  return text.slice(0, 8000).includes("\0");
}

/** What a file of this name hides. */
async function spansUnder(file: string, text: string): Promise<readonly SecretSpan[]> {
  const kind = secretKind(file);
  if (kind === "content" && (isBinary(text) || vendored.test(file))) return [];
  // UTF-16, an editor's swap file, too large to be taken apart: nothing of it is understood.
  if (kind !== "content" && (isBinary(text) || text.length > largestMasked))
    return [{ start: 0, end: text.length, name: wholeFileName(file) }];
  const found = await secretSpans(file, text);
  return kind === "content" && fixtures.test(file)
    ? found.filter((span) => span.name !== "PRIVATE_KEY")
    : found;
}

/**
 * The text with its secrets replaced; undefined when it has none. Unmasking gives exactly the text back. `links` are the
 * file's other names: it hides what it would hide under any of them.
 */
export async function maskText(
  file: string,
  text: string,
  names: SecretNames,
  links: readonly string[] = [],
): Promise<string | undefined> {
  const found: SecretSpan[] = [];
  for (const name of [file, ...links]) found.push(...(await spansUnder(name, text)));
  const spans = withoutOverlap(found);
  if (spans.length === 0) return undefined;
  const masked = replaceSpans(text, spans, names);
  const values = new Map(names.secrets.map(({ name, value }) => [name, value]));
  if (unmaskText(masked, values) === text) return masked;
  // What follows a value reads as a part of the placeholder's name, or the text has placeholders of its own: hide it all.
  return `$HOLDFAST_SECRET_${names.nameFor(text, wholeFileName(file))}`;
}

/**
 * One file that may hold secrets; `links` are other paths of the same inode, `aliases` symbolic links that lead to it: it hides
 * what it would hide under their names too.
 */
export interface Suspect {
  readonly path: string;
  readonly size: number;
  readonly links: readonly string[];
  readonly aliases?: readonly string[];
}

/** Where suspects are read and where their masked text goes. */
export interface MaskSource {
  readonly suspects: readonly Suspect[];
  readonly read: (path: string) => Promise<Uint8Array | undefined>;
  readonly write: (path: string, bytes: Buffer) => void;
}

/**
 * Masks the secrets of the suspects in a shadow that no agent has seen, and saves the map. Returns the paths that were
 * masked.
 */
export async function maskShadow(
  state: string,
  sources: readonly MaskSource[],
): Promise<readonly string[]> {
  const secrets = new SecretNames();
  const files: Saved["files"] = [];
  for (const { source, suspect } of sources.flatMap((one) =>
    one.suspects.map((suspect) => ({ source: one, suspect })),
  )) {
    const paths = [suspect.path, ...suspect.links];
    const names = [...suspect.links, ...(suspect.aliases ?? [])];
    const isContent = [suspect.path, ...names].every((one) => secretKind(one) === "content");
    if (suspect.size > largestMasked && isContent) continue;
    const bytes = await source.read(suspect.path);
    if (bytes === undefined) continue;
    const masked = await maskText(suspect.path, latin1(bytes), secrets, names);
    if (masked === undefined) continue;
    source.write(suspect.path, Buffer.from(masked, "latin1"));
    for (const one of paths) files.push({ path: one, masked });
  }
  if (files.length > 0) {
    const saved: Saved = { version: 1, secrets: [...secrets.secrets], files };
    const file = path.join(state, "masks.json");
    writeFileSync(`${file}.new`, JSON.stringify(saved), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
  return files.map((one) => one.path);
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}

/** Writes in place, so that hard links are masked too; mode and mtime stay. */
export function overwrite(shadow: string, relative: string, bytes: Buffer): void {
  const file = Buffer.concat([encodePath(`${shadow}/`), encodePath(relative)]);
  const looked = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  const stat = fstatSync(looked);
  const locked = (stat.mode & 0o200) === 0;
  try {
    if (locked) fchmodSync(looked, stat.mode | 0o200);
    const fd = openSync(file, constants.O_WRONLY | constants.O_NOFOLLOW);
    try {
      ftruncateSync(fd, 0);
      for (let done = 0; done < bytes.length;)
        done += writeSync(fd, bytes, done, bytes.length - done, done);
      futimesSync(fd, stat.atimeMs / 1000, stat.mtimeMs / 1000);
    } finally {
      closeSync(fd);
    }
    if (locked) fchmodSync(looked, stat.mode);
  } finally {
    closeSync(looked);
  }
}

/** The masks of a fork as saved. */
export class SecretMasks {
  readonly #values: ReadonlyMap<string, string>;
  readonly #masked: ReadonlyMap<string, Buffer>;

  private constructor(saved: Saved) {
    this.#values = new Map(saved.secrets.map(({ name, value }) => [name, value]));
    this.#masked = new Map(saved.files.map((one) => [one.path, Buffer.from(one.masked, "latin1")]));
  }

  /** Of a transaction's state directory; none when nothing was masked. */
  static open(state: string): SecretMasks {
    try {
      const text = readFileSync(path.join(state, "masks.json"), "utf8");
      return new SecretMasks(savedShape.parse(JSON.parse(text)));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      return new SecretMasks({ version: 1, secrets: [], files: [] });
    }
  }

  get secrets(): readonly MaskedSecret[] {
    return [...this.#values].map(([name, value]) => ({ name, value }));
  }

  /** What a masked file reads as; undefined when it is not masked. */
  masked(relative: string): Buffer | undefined {
    return this.#masked.get(relative);
  }

  /**
   * The bytes to publish at a path. Values go back only into files that were masked or that hide secrets by their name
   * (a `.env` that was renamed or added): a placeholder that an agent has put elsewhere stays one. A renamed source file keeps
   * the values that stood in it at `from`; those of a `.env` do not follow it to a name that hides nothing.
   */
  unmask(relative: string, bytes: Uint8Array, from = relative): Uint8Array {
    if (this.#values.size === 0) return bytes;
    if (this.#masked.has(relative) || secretKind(relative) !== "content")
      return Buffer.from(unmaskText(latin1(bytes), this.#values), "latin1");
    const earlier = this.#masked.get(from);
    if (earlier === undefined || secretKind(from) !== "content") return bytes;
    const stood = new Map<string, string>();
    for (const [, name = ""] of latin1(earlier).matchAll(placeholder)) {
      const value = this.#values.get(name);
      if (value !== undefined) stood.set(name, value);
    }
    return Buffer.from(unmaskText(latin1(bytes), stood), "latin1");
  }
}

/** Values that the fork of this transaction hides: for whoever watches what leaves the machine. */
export function maskedSecrets(state: string): readonly MaskedSecret[] {
  return SecretMasks.open(state).secrets;
}
