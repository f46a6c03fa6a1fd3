import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { z } from "zod";
import { Failure } from "../../base/errors.ts";
import type { Fork, Savepoint, Savepoints, TransactionPaths } from "../../runtime/ports.ts";
import { BeneathWriter } from "./beneathWriter.ts";
import { Reader } from "./reader.ts";
import { scanFork } from "./scanFork.ts";
import type { ScanRecord } from "./scanRecords.ts";

/**
 * A savepoint is what differs from the base, in `state/savepoints/<number>.json`, with contents by hash in `blobs/`; so it
 * costs what has changed, and a file that is the same as in the savepoint before (same inode, ctime and size) is not read
 * again. `.git` is in it: going back takes the agent's commits back too. What lies in overlays (heavy ignored directories,
 * git's objects) is not.
 *
 * Invariants: a savepoint file appears whole, after its blobs. Restoring first takes a savepoint, writes only paths that
 * differ, and so leaves everything else alone, mtimes and all. Nothing that the base had is removed, unless the savepoint
 * itself had it removed.
 */
const difference = z.discriminatedUnion("is", [
  z.object({ is: z.literal("absent") }),
  z.object({ is: z.literal("directory"), mode: z.number() }),
  z.object({ is: z.literal("symlink"), target: z.string() }),
  z.object({ is: z.literal("file"), mode: z.number(), blob: z.string(), stamp: z.string() }),
]);
type Difference = z.infer<typeof difference>;

const savedShape = z.object({
  savepoint: z.string(),
  at: z.string(),
  name: z.string().optional(),
  files: z.number(),
  differences: z.array(z.tuple([z.string(), difference])),
});

interface Saved extends Savepoint {
  readonly differences: ReadonlyMap<string, Difference>;
}

/** What a call works on. */
interface Subject {
  readonly fork: Fork;
  readonly workspace: string;
  readonly paths: TransactionPaths;
}

function directoryOf(paths: TransactionPaths): string {
  return path.join(paths.state, "savepoints");
}

function numbersIn(directory: string): readonly number[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .flatMap((name) => /^s(\d+)\.json$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

function load(paths: TransactionPaths, savepoint: string): Saved {
  const file = path.join(directoryOf(paths), `${savepoint}.json`);
  if (!/^s\d+$/.test(savepoint) || !existsSync(file)) {
    const fix = "`holdfast savepoints` lists those there are";
    throw new Failure("failed", "no-savepoint", `there is no savepoint ${savepoint}`, fix);
  }
  const { name, ...saved } = savedShape.parse(JSON.parse(readFileSync(file, "utf8")));
  return {
    ...saved,
    ...(name !== undefined && { name }),
    differences: new Map(saved.differences),
  };
}

function viewOf({ savepoint, at, name, files }: Savepoint): Savepoint {
  return { savepoint, at, files, ...(name !== undefined && { name }) };
}

function same(a: Difference | undefined, b: Difference | undefined): boolean {
  if (a?.is !== b?.is) return false;
  if (a?.is === "file" && b?.is === "file") return a.blob === b.blob && a.mode === b.mode;
  return JSON.stringify(a) === JSON.stringify(b);
}

function refuseWholeOverlay(fork: Fork): void {
  if (!fork.overlays.some(({ at }) => at === ".")) return;
  const fix = "run with --backend clone to have savepoints";
  throw new Failure("failed", "savepoints-unavailable", "an overlay fork has no savepoints", fix);
}

/** Copies a content of the shadow to the blobs; gives its hash, undefined when the file went away meanwhile. */
async function keepBlob(reader: Reader, blobs: string, file: string): Promise<string | undefined> {
  const pieces = await reader.pieces("shadow", file);
  if (pieces === undefined) return undefined;
  const hash = createHash("sha256");
  const temporary = path.join(blobs, `.new-${process.pid}`);
  const fd = openSync(temporary, "w", 0o600);
  for await (const piece of pieces) {
    hash.update(piece);
    for (let done = 0; done < piece.length;) done += writeSync(fd, piece, done);
  }
  closeSync(fd);
  const blob = hash.digest("hex");
  renameSync(temporary, path.join(blobs, blob));
  return blob;
}

async function differenceOf(
  record: ScanRecord,
  reader: Reader,
  blobs: string,
  before: Difference | undefined,
): Promise<Difference | undefined> {
  if (record.code === "D") return { is: "absent" };
  if (record.type === "directory") return { is: "directory", mode: record.mode };
  const stat = await reader.stat("shadow", record.path);
  if (stat?.type === "symlink") return { is: "symlink", target: stat.target };
  if (stat?.type !== "file") return undefined;
  const stamp = `${record.ino}.${record.ctime}.${record.size}`;
  if (before?.is === "file" && before.stamp === stamp) return { ...before, mode: stat.mode };
  const blob = await keepBlob(reader, blobs, record.path);
  return blob === undefined ? undefined : { is: "file", mode: stat.mode, blob, stamp };
}

/** Savepoints over the native scan. */
export function savepoints(options: { readonly nativePath: string }): Savepoints {
  const { nativePath } = options;

  async function differencesNow(
    { fork, workspace, paths }: Subject,
    reader: Reader,
    last: Saved | undefined,
  ): Promise<Map<string, Difference>> {
    const blobs = path.join(directoryOf(paths), "blobs");
    mkdirSync(blobs, { recursive: true, mode: 0o700 });
    const records = await scanFork(nativePath, { ...fork, overlays: [] }, workspace, paths, true);
    const found = new Map<string, Difference>();
    for (const record of records) {
      if (record.code === "E" || record.type === "other") continue;
      const one = await differenceOf(record, reader, blobs, last?.differences.get(record.path));
      // A path that became another type has a record for each: what is there now has the last word.
      if (one !== undefined && !(one.is === "absent" && found.has(record.path)))
        found.set(record.path, one);
    }
    return found;
  }

  async function take(
    subject: Subject,
    at: string,
    name: string | undefined,
    always: boolean,
  ): Promise<Saved | undefined> {
    refuseWholeOverlay(subject.fork);
    const directory = directoryOf(subject.paths);
    const number = numbersIn(directory).at(-1) ?? 0;
    const last = number === 0 ? undefined : load(subject.paths, `s${number}`);
    const reader = new Reader(subject.fork, subject.workspace, subject.paths);
    const differences = await differencesNow(subject, reader, last);
    const changed = pathsThatDiffer(last?.differences ?? new Map(), differences);
    if (changed.length === 0 && !always) return undefined;
    const saved: Saved = {
      savepoint: `s${number + 1}`,
      at,
      ...(name !== undefined && { name }),
      files: changed.filter((one) => !one.split("/").includes(".git")).length,
      differences,
    };
    store(directory, saved);
    return saved;
  }

  return {
    async take(fork, workspace, paths, { at, name }) {
      const saved = await take({ fork, workspace, paths }, at, name, name !== undefined);
      return saved && viewOf(saved);
    },
    list: (paths) =>
      numbersIn(directoryOf(paths)).map((number) => viewOf(load(paths, `s${number}`))),
    async read(fork, workspace, paths, { savepoint, path: at }) {
      const found = load(paths, savepoint).differences.get(at);
      if (found === undefined) return new Reader(fork, workspace, paths).read("base", at);
      if (found.is === "symlink") return Buffer.from(found.target);
      if (found.is !== "file") return undefined;
      return readFileSync(path.join(directoryOf(paths), "blobs", found.blob));
    },
    async restore(fork, workspace, paths, { at, to }) {
      const target = load(paths, to);
      const before = await take({ fork, workspace, paths }, at, `before going back to ${to}`, true);
      if (before === undefined) throw new Error("a savepoint that is always taken was not");
      const reader = new Reader(fork, workspace, paths);
      const writer = new BeneathWriter(fork.shadow, nativePath);
      const changed = pathsThatDiffer(before.differences, target.differences);
      await bringBack(changed, target, reader, writer, directoryOf(paths));
      return viewOf(before);
    },
  };
}

function store(directory: string, saved: Saved): void {
  const file = path.join(directory, `${saved.savepoint}.json`);
  const text = JSON.stringify({ ...saved, differences: [...saved.differences] });
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  const fd = openSync(`${file}.new`, "r");
  fsyncSync(fd);
  closeSync(fd);
  renameSync(`${file}.new`, file);
}

function pathsThatDiffer(
  a: ReadonlyMap<string, Difference>,
  b: ReadonlyMap<string, Difference>,
): readonly string[] {
  const paths = [...new Set([...a.keys(), ...b.keys()])];
  return paths.filter((one) => !same(a.get(one), b.get(one))).sort();
}

/** Removals deepest first, then everything else from the top down. */
async function bringBack(
  changed: readonly string[],
  target: Saved,
  reader: Reader,
  writer: BeneathWriter,
  directory: string,
): Promise<void> {
  const wanted = changed.map((one) => ({ one, state: target.differences.get(one) }));
  for (const { one, state } of wanted.toReversed()) {
    const inBase = reader.manifest.lookup(one);
    const stays = state === undefined ? inBase !== undefined : state.is !== "absent";
    if (!stays) await removeWithParents(one, target, reader, writer);
  }
  for (const { one, state } of wanted) {
    if (state === undefined) await putBase(one, reader, writer, directory);
    else if (state.is === "directory") {
      await clearUnless("directory", one, reader, writer);
      writer.makeDirectory(one, state.mode);
    } else if (state.is === "symlink") {
      await clearUnless("symlink", one, reader, writer);
      writer.putLink(one, state.target);
    } else if (state.is === "file") {
      await clearUnless("file", one, reader, writer);
      writer.putFile(one, path.join(directory, "blobs", state.blob), state.mode);
    }
  }
}

/** Takes away what is of another type; rename replaces the rest. */
async function clearUnless(
  type: "file" | "symlink" | "directory",
  one: string,
  reader: Reader,
  writer: BeneathWriter,
): Promise<void> {
  const stat = await reader.stat("shadow", one);
  const isDirectory = stat?.type === "directory";
  if (stat !== undefined && isDirectory !== (type === "directory")) await writer.remove(one);
}

/** Directories that neither the base nor the savepoint knows go with their last entry. */
async function removeWithParents(
  one: string,
  target: Saved,
  reader: Reader,
  writer: BeneathWriter,
): Promise<void> {
  await writer.remove(one);
  for (let at = one; at.includes("/");) {
    at = at.slice(0, at.lastIndexOf("/"));
    const known = reader.manifest.lookup(at)?.type === "directory";
    if (known || target.differences.has(at) || !writer.removeEmpty(at)) return;
  }
}

async function putBase(
  one: string,
  reader: Reader,
  writer: BeneathWriter,
  directory: string,
): Promise<void> {
  const entry = reader.manifest.lookup(one);
  if (entry === undefined || entry.absent || entry.type === "other") return;
  await clearUnless(entry.type, one, reader, writer);
  if (entry.type === "directory") writer.makeDirectory(one, entry.mode);
  else if (entry.type === "symlink") writer.putLink(one, entry.target ?? "");
  else {
    const bytes = await reader.read("base", one);
    if (bytes === undefined) return;
    const temporary = path.join(directory, `.base-${process.pid}`);
    writeFileSync(temporary, bytes, { mode: 0o600 });
    writer.putFile(one, temporary, entry.mode, Number(entry.mtime / 1000n) / 1000);
  }
}
