import { existsSync, realpathSync } from "node:fs";
import path from "node:path";
import { Failure } from "../../../base/errors.ts";
import type { SandboxSpec } from "../../../runtime/ports.ts";
import { sandboxEnvironment } from "../environment.ts";
import { bridgePort, doorInside, hookProgram, nativeInside, sandboxHome } from "../insidePaths.ts";
import type { PlanRecord } from "../plan.ts";
import { bareEnvironment } from "../planSandbox.ts";
import { readOnlyRecords } from "../readOnlyMounts.ts";
import { within } from "../within.ts";
import { seatbeltProfile, type SeatbeltProfile } from "./seatbeltProfile.ts";

/** Where things are: made for one run, private, removed with it. */
export interface SeatbeltPlaces {
  readonly home: string;
  readonly temporary: string;
  /** HOME of the person; never shown. */
  readonly personHome: string;
  /** Port on 127.0.0.1 that leads to the door; undefined without a door. */
  readonly port?: number;
}

/** A launch on macOS as data. */
export interface SeatbeltPlan {
  /** Absent with `--unsafe-no-sandbox`. */
  readonly profile?: SeatbeltProfile;
  /** Program and arguments. */
  readonly command: readonly string[];
  /** The shell script that becomes it, `$@`. */
  readonly script: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly files: readonly {
    readonly path: string;
    readonly content: string;
    readonly mode: number;
  }[];
  readonly notes: readonly string[];
}

const macEnvironment: Readonly<Record<string, string>> = {
  PATH: "/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin:/usr/sbin:/sbin",
  SHELL: "/bin/bash",
  LANG: "en_US.UTF-8",
};

function refuse(code: string, message: string, fix: string): never {
  throw new Failure("refused", code, `macOS: ${message}`, fix);
}

/** What a Mac has nothing for. Each is refused: none of them is left out in silence. */
function refuseWhatCannotBe({ fork, terminal, allow, limits }: SandboxSpec): void {
  if (fork.overlays.length > 0)
    refuse("no-overlays", "there are no overlay mounts", "run with --backend clone or copy");
  if (terminal !== undefined)
    refuse(
      "no-terminal",
      "a terminal of the sandbox's own cannot be opened",
      "give it pipes: holdfast run … < /dev/null | cat",
    );
  const allowed = allow?.[0];
  if (allowed !== undefined)
    refuse(
      "no-allow",
      `--allow ${allowed} cannot be given: Seatbelt has no part that could be left out`,
      `run without --allow ${allowed}`,
    );
  if (limits?.processes !== undefined)
    refuse(
      "no-process-limit",
      "the number of processes can only be bounded for the whole user",
      "run without --limit processes",
    );
}

/** A pattern for a place of the sandbox in a text: not a part of a longer name. */
const named = (place: string): string =>
  `(?<![\\w.-])${place.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")}(?![\\w.-])`;

/** Turns what Linux mounts at fixed places into where it is here: home, door, workspace, bridge. */
function translator(spec: SandboxSpec, places: SeatbeltPlaces): (text: string) => string {
  const moved: readonly (readonly [from: string, to: string])[] = [
    [spec.workspace, spec.fork.shadow],
    [sandboxHome, places.home],
    [doorInside, spec.paths.door],
    [`127.0.0.1:${bridgePort}`, `127.0.0.1:${places.port ?? bridgePort}`],
  ];
  // All at once: what one of them became is not looked at by the next.
  const any = new RegExp(moved.map(([from]) => named(from)).join("|"), "g");
  const targets = new Map(moved);
  return (text) => text.replaceAll(any, (found) => targets.get(found) ?? found);
}

const nativePlaces = [nativeInside, hookProgram];

function refuseNative(text: string, where: string): void {
  const needed = nativePlaces.find((place) => text.includes(place));
  if (needed === undefined) return;
  refuse(
    "no-native",
    `${where} needs ${needed}, which is built for Linux alone`,
    "run the command itself: holdfast run -- COMMAND",
  );
}

function filesOf(spec: SandboxSpec, translate: (text: string) => string): SeatbeltPlan["files"] {
  return spec.launch.files.map((file) => {
    if (!within(sandboxHome, file.path))
      refuse(
        "no-file-place",
        `${file.path} cannot be made: only the home directory is the sandbox's own`,
        "run the command itself: holdfast run -- COMMAND",
      );
    refuseNative(file.content, file.path);
    return { ...file, path: translate(file.path), content: translate(file.content) };
  });
}

function environmentOf(
  spec: SandboxSpec,
  places: SeatbeltPlaces,
  translate: (text: string) => string,
): Readonly<Record<string, string>> {
  const defaults = { ...sandboxEnvironment({}, spec.door !== false), ...macEnvironment };
  const all = { ...defaults, HOLDFAST_NATIVE: "", TMPDIR: places.temporary, ...spec.launch.env };
  const kept = Object.entries(all).filter(([, value]) => value !== "");
  return Object.fromEntries(
    kept.map(([name, value]) => {
      refuseNative(value, `the variable ${name}`);
      return [name, translate(value)];
    }),
  );
}

const bounds = [
  ["openFiles", "n", 1],
  ["fileBytes", "f", 1024],
] as const;

/** Descriptors that whoever started us had left open. */
const closing = 'for fd in /dev/fd/*; do [ "${fd##*/}" -gt 2 ] && eval "exec ${fd##*/}>&-"; done';

/** What a shell does before it becomes the command: it closes what is inherited and sets the bounds of one process; those
 * of the tree are looked at from outside. */
function shellScript(spec: SandboxSpec): string {
  const set = bounds.flatMap(([member, letter, unit]) => {
    const limit = spec.limits?.[member];
    return limit === undefined ? [] : [`ulimit -${letter} ${Math.max(1, Math.ceil(limit / unit))}`];
  });
  return `${closing}; ${[...set, "ulimit -c 0", 'exec "$@"'].join(" && ")}`;
}

/** A path that was looked for by its name, as the file system spells it: the case may be another. */
const stored = (place: string): string => (existsSync(place) ? realpathSync.native(place) : place);

function shownPaths(
  records: readonly PlanRecord[],
): Pick<Parameters<typeof seatbeltProfile>[0], "reads" | "hidden"> {
  const reads: string[] = [];
  const hidden: string[] = [];
  for (const record of records) {
    if (record[0] === "read" && record[1] === record[2]) reads.push(record[1]);
    else if (record[0] === "read") hidden.push(stored(record[2]));
    else if (record[0] === "tmpfs") hidden.push(stored(record[1]));
  }
  return { reads, hidden };
}

/** From what the port asks for to what `sandbox-exec` is given. The paths of `spec` and `places` are real ones. Looks at
 * the directories that are shown, for credentials in them. Throws a Failure `refused` for what macOS cannot do. */
export function seatbeltPlan(spec: SandboxSpec, places: SeatbeltPlaces): SeatbeltPlan {
  refuseWhatCannotBe(spec);
  const { fork, paths, launch, workspace } = spec;
  const translate =
    spec.unsafeNoSandbox === true ? (text: string) => text : translator(spec, places);
  launch.argv.forEach((text) => refuseNative(text, "the command"));
  const command = launch.argv.map(translate);
  const plan = {
    command,
    script: shellScript(spec),
    cwd: path.join(fork.shadow, path.relative(workspace, spec.cwd)),
  };
  if (spec.unsafeNoSandbox === true) {
    const notes = ["NO SANDBOX: the command runs unconfined"];
    return { ...plan, env: bareEnvironment(spec, process.env), files: [], notes };
  }
  const env = environmentOf(spec, places, translate);
  const files = filesOf(spec, translate);
  const shown = readOnlyRecords(launch.readOnly, workspace, places.personHome, paths.root);
  const door = spec.door === false ? [] : [paths.door];
  const readOnly = spec.shadowReadOnly === true;
  const profile = seatbeltProfile({
    ...shownPaths(shown.records),
    state: [paths.root],
    shown: [...door, ...(readOnly ? [fork.shadow] : [])],
    writes: [...(readOnly ? [] : [fork.shadow]), places.home, places.temporary],
    sockets: door.flatMap((one) => [`${one}/agent.sock`, `${one}/mcp.sock`]),
    ...(places.port === undefined ? {} : { bridgePort: places.port }),
  });
  return { ...plan, env, files, profile, notes: [...shown.notes, ...weaknesses] };
}

/** What Linux has and this does not. */
const weaknesses: readonly string[] = [
  "macOS: programs that are started inside are not observed; file changes and requests are",
  "macOS: the workspace's copy stands at its own path, and programs inside cannot reach each other by loopback",
  "macOS: a process that leaves its parents within a quarter of a second is confined, but not ended with the rest",
];

/** The command line of `sandbox-exec`. */
export function seatbeltCommand(
  sandboxExec: string,
  profile: SeatbeltProfile,
  argv: readonly string[],
): readonly string[] {
  const defined = [...profile.parameters].map(([name, value]) => `-D${name}=${value}`);
  return [sandboxExec, "-p", profile.text, ...defined, "--", ...argv];
}
