import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { z } from "zod";
import type { BackendName } from "../../core/journal/entry.ts";
import type { TransactionPaths } from "../../runtime/ports.ts";
import { CloneCounts, megabytes } from "./forkNotes.ts";
import { heavyDirectories } from "./heavyDirectories.ts";
import { besideWorkspace } from "./place.ts";
import { abilitiesOf } from "./probeForks.ts";
import { homeOf } from "../state/home.ts";
import { buildOf, runNative } from "./runNative.ts";

/**
 * A spare is a clone of a workspace that no transaction has, made after one has ended, in `$HOLDFAST_HOME/spares/<key>`:
 * `shadow`, `manifest`, `base` and `spare.json`. It becomes a new clone, which keeps every file that is still what the workspace
 * has, and removes or makes anew all others; so a spare may be as old as it likes, and is never right or wrong as a whole.
 *
 * Invariants: a spare appears whole, by rename. Who wants it takes it by renaming it into his transaction, so nobody
 * else has it, and it goes with that transaction. It holds secrets as the workspace does: no sandbox ever sees it, and
 * the secrets of what was kept are hidden as in any other clone.
 */
export interface Spare {
  readonly shadow: string;
  readonly manifest: string;
}

const format = 2;

const savedShape = z.object({
  format: z.literal(format),
  /** The build of the native program that made it. */
  program: z.string(),
  workspace: z.string(),
  /** What it takes, where blocks are not shared with the workspace. */
  bytes: z.number().optional(),
});

/** From here on a start is worth a clone kept in reserve; below, a cold one is as quick. */
const fewestFiles = 2000;

/** Bytes that are worth keeping twice where blocks are not shared. */
const mostBytes = 2 * 2 ** 30;

const firstPackOfSpare = 8; // native/src/clone.h

function sparesIn(home: string): string {
  return path.join(home, "spares");
}

function placeOf(home: string, workspace: string): string {
  const key = createHash("sha256").update(realpathSync(workspace)).digest("hex").slice(0, 24);
  return path.join(sparesIn(home), key);
}

/** What a transaction has taken lies here until its clone is made. */
export function takenSpare(place: string): string {
  return path.join(place, "spare");
}

/** Takes the spare of a workspace for one transaction; undefined when there is none that can be used. */
export function takeSpare(
  nativePath: string,
  workspace: string,
  paths: TransactionPaths,
): Spare | undefined {
  const taken = takenSpare(paths.root);
  try {
    renameSync(placeOf(homeOf(paths), workspace), taken);
    const saved = savedShape.parse(
      JSON.parse(readFileSync(path.join(taken, "spare.json"), "utf8")),
    );
    if (saved.workspace !== realpathSync(workspace)) return undefined;
    if (saved.program !== buildOf(nativePath)) return undefined;
    const base = path.join(taken, "base");
    for (const name of readdirSync(base)) {
      const number = Number(/^pack\.(\d)$/.exec(name)?.[1]);
      const own = path.join(paths.base, `pack.${firstPackOfSpare + number}`);
      renameSync(path.join(base, name), own);
    }
    return { shadow: path.join(taken, "shadow"), manifest: path.join(taken, "manifest") };
  } catch {
    return undefined; // none, taken by another, or damaged: a cold clone needs nothing of it
  }
}

/** What the last fork of a workspace was like. */
export interface LastFork {
  readonly backend: BackendName;
  readonly files: number;
  readonly bytes: number;
}

/** Whether the next start of this workspace would gain from a spare. */
function isWorthIt(last: LastFork, shared: boolean): boolean {
  return (
    last.backend === "clone" && last.files >= fewestFiles && (shared || last.bytes <= mostBytes)
  );
}

/** Spares take time and room that nobody asked for: `HOLDFAST_SPARES=off` makes none. What there is already is used up. */
function areSparesWanted(env: Readonly<Record<string, string | undefined>>): boolean {
  return env["HOLDFAST_SPARES"] !== "off";
}

/** The row of `holdfast doctor` about spares: where they lie and what they take. */
export function spareRow(
  home: string,
  env: Readonly<Record<string, string | undefined>>,
): { readonly name: string; readonly state: "ok"; readonly detail: string } {
  const directory = sparesIn(home);
  const names = existsSync(directory) ? readdirSync(directory) : [];
  const whole = names.flatMap((name) => {
    try {
      const text = readFileSync(path.join(directory, name, "spare.json"), "utf8");
      return [savedShape.parse(JSON.parse(text))];
    } catch {
      return []; // being made, or damaged: `holdfast gc` tells them apart
    }
  });
  const bytes = whole.reduce((sum, one) => sum + (one.bytes ?? 0), 0);
  const room = bytes === 0 ? "" : `, ${megabytes(bytes)}`;
  const how = areSparesWanted(env)
    ? "HOLDFAST_SPARES=off makes no more"
    : "no more are made (HOLDFAST_SPARES=off)";
  const detail = `${whole.length} in ${directory}${room}; ${how}, \`holdfast gc\` removes old ones`;
  return { name: "spare clones", state: "ok", detail };
}

/**
 * Makes the spare of a workspace for its next transaction, when that pays; gives whether there is one now. Takes as long as
 * a cold clone, or longer: everybody else goes first. Aborting leaves nothing.
 */
export async function makeSpare(request: {
  readonly nativePath: string;
  readonly workspace: string;
  readonly paths: TransactionPaths;
  readonly last: LastFork;
  readonly signal: AbortSignal;
}): Promise<boolean> {
  const { nativePath, workspace, paths, last, signal } = request;
  const home = homeOf(paths);
  if (
    !areSparesWanted(process.env) ||
    !existsSync(workspace) ||
    besideWorkspace(workspace, paths) !== undefined
  )
    return false;
  const abilities = await abilitiesOf(nativePath, home);
  const shared = abilities.share === true;
  if (!isWorthIt(last, shared)) return false;
  const place = placeOf(home, workspace);
  if (existsSync(place)) return true;
  const making = `${place}.${process.pid}`;
  const below = (name: string): string => path.join(making, name);
  mkdirSync(below("base"), { recursive: true, mode: 0o700 });
  try {
    const heavy = abilities.overlay === true ? await heavyDirectories(workspace, shared) : [];
    const mounts = heavy.flatMap((one) => ["--mount", one]);
    const places = ["--from", workspace, "--to", below("shadow"), "--manifest", below("manifest")];
    const args = [...places, "--base", below("base"), ...mounts];
    const made = await runNative(nativePath, "clone", args, { signal, inBackground: true });
    // It may have been quicker than its end.
    signal.throwIfAborted();
    const counts = new CloneCounts(made.report);
    const bytes = shared ? 0 : counts.count("bytes") + counts.count("saved_bytes");
    const program = buildOf(nativePath);
    const saved = { format, program, workspace: realpathSync(workspace), bytes };
    writeFileSync(below("spare.json"), JSON.stringify(saved), { mode: 0o600 });
    renameSync(making, place);
    return true;
  } catch {
    return existsSync(place); // a full disk, say, or another was quicker: it is only a spare
  } finally {
    await runNative(nativePath, "remove", [making]);
  }
}

function livesMaker(name: string): boolean {
  const pid = Number(/\.(\d+)$/.exec(name)?.[1]);
  return Number.isInteger(pid) && existsSync(`/proc/${pid}`);
}

function isOfUse(file: string): boolean {
  try {
    return existsSync(savedShape.parse(JSON.parse(readFileSync(file, "utf8"))).workspace);
  } catch {
    return false; // damaged
  }
}

/** Removes spares made before a time, those of workspaces that are gone, and what died while it was made. */
export async function removeSpares(
  nativePath: string,
  home: string,
  before: Date,
): Promise<number> {
  const directory = sparesIn(home);
  if (!existsSync(directory)) return 0;
  const old = readdirSync(directory).filter((name) => {
    if (name.includes(".")) return !livesMaker(name);
    const file = path.join(directory, name, "spare.json");
    const made = statSync(file, { throwIfNoEntry: false })?.mtime;
    if (made === undefined || made <= before) return true;
    return !isOfUse(file);
  });
  if (old.length > 0)
    await runNative(
      nativePath,
      "remove",
      old.map((name) => path.join(directory, name)),
    );
  return old.length;
}
