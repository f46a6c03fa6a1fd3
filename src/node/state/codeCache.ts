import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { Script } from "node:vm";
import { homeDirectory } from "./homeDirectory.ts";

/** A process that stays puts what was compiled into the cache after this long, milliseconds; another one when it ends. */
const settledMs = 5000;

/** What no process has written for so long belongs to a program that is gone, milliseconds. */
const staleMs = 30 * 24 * 60 * 60 * 1000;

/** Of SHA-1, bytes. It tells what a crash left half written; against other users there are the file's owner and mode. */
const digestBytes = 20;

/** What stands before the code, bytes: V8 copies code that does not begin at a multiple of eight. */
const headBytes = 32;

/**
 * So many processes add what they have compiled to an entry: V8 compiles a function when it is first called, and the first
 * process may have been one that told the version. Each costs some ten milliseconds at its end.
 */
const mostRenewals = 8;

/** What an entry has: V8's code cache, and how many processes have added to it. */
interface Kept {
  readonly data: Buffer;
  readonly renewals: number;
}

/**
 * Runs a bundle as `require` would, with what an earlier process of the same program compiled: to compile a megabyte takes
 * longer than to run it.
 *
 * `$HOLDFAST_HOME/cache/<bundle>-<key>`: SHA-1 of the rest, the number of renewals in a byte, zeros, then the code cache of V8. It is code, so it is taken only from
 * a file of our user's own that nobody else can open, in directories that nobody else can write; no sandbox sees them. The
 * key names the bundle's file as it is (device, inode, size, time of its last change), the version of Node, the processor
 * and the flags. Whatever is not as it should be counts as absent.
 */
export function runCached(file: string, env: NodeJS.ProcessEnv): void {
  const source = readFileSync(file, "utf8");
  const cache = path.join(homeDirectory(env), "cache");
  const entry = path.join(cache, `${path.basename(file, ".cjs")}-${keyOf(file)}`);
  const kept = readPrivately(cache, entry);
  const wrapped = `(function (exports, require, module, __filename, __dirname) { ${source}\n})`;
  const script = new Script(wrapped, {
    filename: file,
    ...(kept === undefined ? {} : { cachedData: kept.data }),
  });
  if (kept === undefined || script.cachedDataRejected === true) {
    const keep = (): void => {
      clearTimeout(timer);
      process.removeListener("exit", keep);
      keepPrivately(cache, entry, () => ({ data: script.createCachedData(), renewals: 0 }));
    };
    const timer = setTimeout(keep, settledMs).unref();
    process.once("exit", keep);
  } else if (kept.renewals < mostRenewals) {
    process.once("exit", () => {
      // Whoever has removed a home meanwhile wants nothing left of it.
      if (lstatSync(entry, { throwIfNoEntry: false }) === undefined) return;
      keepPrivately(cache, entry, () => {
        // Smaller when what ran long ago has been thrown away meanwhile.
        const now = script.createCachedData();
        const data = now.length > kept.data.length ? now : kept.data;
        return { data, renewals: kept.renewals + 1 };
      });
    });
  }
  const run = script.runInThisContext() as (...parts: readonly unknown[]) => void;
  const module = { exports: {} };
  run(module.exports, createRequire(file), module, file, path.dirname(file));
}

function keyOf(file: string): string {
  const { dev, ino, size, ctimeNs } = statSync(file, { bigint: true });
  const { version, arch, execArgv } = process;
  const facts = [file, dev, ino, size, ctimeNs, version, process.versions.v8, arch, ...execArgv];
  return createHash("sha256").update(facts.join("\0")).digest("hex").slice(0, 32);
}

/** The directory and the one above it are ours, and nobody else can put anything there. */
function isOurs(directory: string): boolean {
  return [path.dirname(directory), directory].every((one, index) => {
    // The home itself may be a link that its owner has made.
    const found = index === 0 ? statSync(one) : lstatSync(one);
    return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
  });
}

function readPrivately(cache: string, entry: string): Kept | undefined {
  let descriptor: number | undefined;
  try {
    if (!isOurs(cache)) return undefined;
    descriptor = openSync(entry, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const found = fstatSync(descriptor);
    const isPrivate = found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
    if (!found.isFile() || !isPrivate) return undefined;
    const bytes = readFileSync(descriptor);
    if (!digestOf(bytes).equals(bytes.subarray(0, digestBytes))) return undefined;
    return { renewals: bytes.readUInt8(digestBytes), data: bytes.subarray(headBytes) };
  } catch {
    return undefined; // There is none, or it cannot be read: the bundle is compiled.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** `make` takes its time, and is asked only where what it gives can be kept. */
function keepPrivately(cache: string, entry: string, make: () => Kept): void {
  const beside = `${entry}.${String(process.pid)}.new`;
  try {
    // Not the home itself: a command that only tells something leaves nothing behind.
    mkdirSync(cache, { recursive: false, mode: 0o700 });
  } catch {
    // It is there already, or there is no home yet.
  }
  try {
    if (!isOurs(cache)) return;
    removeStale(cache);
    const { data, renewals } = make();
    const bytes = Buffer.concat([Buffer.alloc(headBytes), data]);
    bytes.writeUInt8(renewals, digestBytes);
    digestOf(bytes).copy(bytes);
    writeFileSync(beside, bytes, { mode: 0o600, flag: "wx" });
    renameSync(beside, entry);
  } catch {
    rmSync(beside, { force: true }); // The next process compiles again.
  }
}

function removeStale(cache: string): void {
  for (const name of readdirSync(cache)) {
    const file = path.join(cache, name);
    const found = lstatSync(file, { throwIfNoEntry: false });
    if (found !== undefined && Date.now() - found.mtimeMs > staleMs) rmSync(file, { force: true });
  }
}

/** Of everything after the place of the digest itself. */
function digestOf(entry: Buffer): Buffer {
  return createHash("sha1").update(entry.subarray(digestBytes)).digest();
}
