import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { Failure, messageOf } from "../../../base/errors.ts";
import type { Sandbox, SandboxSpec, Sandboxes } from "../../../runtime/ports.ts";
import { kept } from "../keptStream.ts";
import { guardGroup } from "./guard.ts";
import { loopbackBridge, type LoopbackBridge } from "./loopbackBridge.ts";
import { readProcesses } from "./processTable.ts";
import { seatbeltCommand, seatbeltPlan, type SeatbeltPlan } from "./seatbeltPlan.ts";
import { bytesOf, SeatbeltSandbox } from "./seatbeltSandbox.ts";

export interface SeatbeltOptions {
  /** Default: the system's own. */
  readonly sandboxExec?: string;
}

const systemSandboxExec = "/usr/bin/sandbox-exec";

/** DESIGN §4 on macOS: a Seatbelt profile around a process group. Written by what is known of Seatbelt; not run on a Mac. */
export function seatbeltSandboxes({
  sandboxExec = systemSandboxExec,
}: SeatbeltOptions = {}): Sandboxes {
  return { launch: (spec) => launch(spec, sandboxExec) };
}

/** Throws a Failure `sandbox-exec-missing`. */
export function findSandboxExec(sandboxExec = systemSandboxExec): void {
  if (existsSync(sandboxExec)) return;
  throw new Failure(
    "refused",
    "sandbox-exec-missing",
    `${sandboxExec} is not there, and nothing else confines a program on macOS`,
    "use a release of macOS that has it, or run Holdfast in a Linux machine",
  );
}

/** Seatbelt compares paths as the file system spells them: links resolved, names in the form that is stored. */
function real(spec: SandboxSpec): SandboxSpec {
  const at = (place: string): string => (existsSync(place) ? realpathSync.native(place) : place);
  const { fork, paths, launch } = spec;
  return {
    ...spec,
    fork: { ...fork, shadow: at(fork.shadow) },
    paths: {
      root: at(paths.root),
      base: at(paths.base),
      door: at(paths.door),
      state: at(paths.state),
    },
    launch: { ...launch, readOnly: launch.readOnly.map(at) },
  };
}

async function launch(given: SandboxSpec, sandboxExec: string): Promise<Sandbox> {
  if (given.launch.argv.length === 0)
    throw new Failure("usage", "no-command", "there is no command to run");
  const confined = given.unsafeNoSandbox !== true;
  if (confined) findSandboxExec(sandboxExec);
  const spec = real(given);
  const own = realpathSync.native(mkdtempSync(path.join(tmpdir(), "holdfast-")));
  const door = spec.door === false ? undefined : path.join(spec.paths.door, "door.sock");
  let bridge: LoopbackBridge | undefined;
  const clear = async (): Promise<void> => {
    await bridge?.close();
    rmSync(own, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  };
  try {
    bridge = confined && door !== undefined ? await loopbackBridge(door) : undefined;
    const plan = seatbeltPlan(spec, {
      home: path.join(own, "home"),
      temporary: path.join(own, "tmp"),
      personHome: homedir(),
      ...(bridge === undefined ? {} : { port: bridge.port }),
    });
    placeFiles(own, plan);
    const program = programOf(plan);
    if (confined) await proveConfined(plan, sandboxExec, own);
    return await start(spec, plan, { sandboxExec, program, clear });
  } catch (error) {
    await clear();
    throw error;
  }
}

function placeFiles(own: string, { files }: SeatbeltPlan): void {
  for (const name of ["home", "tmp"]) mkdirSync(path.join(own, name), { mode: 0o700 });
  for (const { path: at, content, mode } of files) {
    mkdirSync(path.dirname(at), { recursive: true, mode: 0o700 });
    writeFileSync(at, content, { mode, flag: "wx" });
  }
}

/** The program as the shell will find it. Throws a Failure `cwd` or `exec-agent`. */
function programOf({ command, env, cwd }: SeatbeltPlan): string {
  if (!existsSync(cwd))
    throw new Failure(
      "failed",
      "cwd",
      `cannot enter ${cwd} in the sandbox`,
      "start it in a directory of the workspace",
    );
  const name = command[0] ?? "";
  const places = name.includes("/") ? [cwd] : (env["PATH"] ?? "").split(":");
  const found = places.map((place) => path.resolve(place, name)).find((one) => existsSync(one));
  if (found !== undefined) return found;
  const fix = "check that the program is on PATH and that it can be seen in the sandbox";
  throw new Failure("failed", "exec-agent", `cannot run ${name} in the sandbox: not found`, fix);
}

/** Neither read nor written what is not shown; the shadow there. */
const trial =
  '( : < "$1" ) 2>/dev/null && exit; ( : > "$1.new" ) 2>/dev/null && exit; [ -d "$2" ] && echo kept';

/**
 * Runs the profile around a look at a file that it hides, before it is trusted with a command: a profile that this release
 * of macOS does not take, or takes and does not keep, refuses.
 */
async function proveConfined(plan: SeatbeltPlan, sandboxExec: string, own: string): Promise<void> {
  if (plan.profile === undefined) return;
  const hidden = path.join(own, "hidden");
  writeFileSync(hidden, "", { mode: 0o600 });
  const look = ["/bin/sh", "-c", trial, "sh", hidden, plan.cwd];
  const [program = "", ...words] = seatbeltCommand(sandboxExec, plan.profile, look);
  const fix = "see `holdfast doctor`; Holdfast has not been run on this system yet";
  const told = await promisify(execFile)(program, words, { env: plan.env, cwd: "/" }).catch(
    (error: unknown) => {
      const said = messageOf(error).split("\n").slice(1).join(" ").trim();
      const message = `the sandbox cannot be built: ${said === "" ? "its trial failed" : said}`;
      throw new Failure("refused", "sandbox-unbuildable", message, fix, error);
    },
  );
  if (told.stdout === "kept\n") return;
  throw new Failure("refused", "sandbox-unbuildable", `${sandboxExec} does not confine`, fix);
}

async function start(
  spec: SandboxSpec,
  plan: SeatbeltPlan,
  made: {
    readonly sandboxExec: string;
    readonly program: string;
    readonly clear: () => Promise<void>;
  },
): Promise<Sandbox> {
  const { profile, command, script } = plan;
  const words =
    profile === undefined ? command : seatbeltCommand(made.sandboxExec, profile, command);
  // Once before: without it nothing could be frozen or ended.
  await readProcesses();
  const limits = spec.limits ?? {};
  const shadowBytes = limits.growthBytes === undefined ? 0 : await bytesOf(spec.fork.shadow);
  const child = spawn("/bin/bash", ["-c", script, "bash", ...words], {
    stdio: ["pipe", "pipe", "pipe"],
    env: plan.env,
    cwd: plan.cwd,
    detached: true,
  });
  await once(child, "spawn");
  const guard = guardGroup(child.pid ?? 0);
  return new SeatbeltSandbox({
    ...{ child, command: plan.command, cwd: plan.cwd, program: made.program, notes: plan.notes },
    ...{ stdin: child.stdin, stdout: kept(child.stdout), stderr: kept(child.stderr) },
    description:
      plan.profile === undefined
        ? "none: the command runs unconfined (--unsafe-no-sandbox)"
        : "Seatbelt profile (weaker than on Linux: no namespaces, no second layer), execs not observed",
    ...{ limits, shadow: spec.fork.shadow, shadowBytes, readProcesses },
    clear: async () => {
      guard.over();
      await made.clear();
    },
  });
}
