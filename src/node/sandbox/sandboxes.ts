import { existsSync } from "node:fs";
import { Failure } from "../../base/errors.ts";
import type { Sandbox, SandboxSpec, Sandboxes } from "../../runtime/ports.ts";
import { findBwrap } from "./bwrap.ts";
import { launchPlan } from "./launchPlan.ts";
import { machineWith } from "./machine.ts";
import type { PlanRecord } from "./plan.ts";
import { planBare, planSandbox } from "./planSandbox.ts";
import { nativeFix } from "./refusals.ts";
import type { StartedReport } from "./reports.ts";
import { within } from "./within.ts";

export interface SandboxOptions {
  /** `dist/native/<platform>-<arch>/holdfast-native`, or a build of native/. */
  readonly nativePath: string;
  /** Default: found on PATH. */
  readonly bwrapPath?: string;
  /** Protections to leave out; only the build for the ablation table takes them, any other refuses the plan. */
  readonly ablate?: readonly string[];
  /** False: execs are not told; only to measure what telling costs. */
  readonly observe?: false;
}

/** Directories of the sandbox's own: a workspace in one of them cannot be shown at its own path. */
const reserved = ["/proc", "/dev", "/sys", "/run", "/etc"];

/** DESIGN §4 on Linux: bubblewrap, started and watched by the native program. */
export function sandboxes(options: SandboxOptions): Sandboxes {
  return { launch: (spec) => launch(spec, options) };
}

async function launch(spec: SandboxSpec, options: SandboxOptions): Promise<Sandbox> {
  checkSpec(spec, options);
  const bare = spec.unsafeNoSandbox === true;
  const machine = machineWith(bare ? "" : findBwrap(options.bwrapPath));
  const { records, notes } = bare
    ? { records: planBare(spec, machine), notes: ["NO SANDBOX: the command runs unconfined"] }
    : planSandbox(spec, machine);
  const ablated = (options.ablate ?? []).map((name): PlanRecord => ["ablate", name]);
  if (options.observe === false) ablated.push(["unobserved"]);
  const { sandbox, started } = await launchPlan(options.nativePath, [...records, ...ablated], {
    terminal: spec.terminal !== undefined,
    notes,
  });
  sandbox.describe(describe(started, spec));
  return sandbox;
}

function checkSpec(spec: SandboxSpec, options: SandboxOptions): void {
  if (spec.launch.argv.length === 0) {
    throw new Failure("usage", "no-command", "there is no command to run");
  }
  checkPlaces(options.nativePath, spec.workspace);
}

/** Throws a Failure of kind `refused` when the native program is missing or the workspace cannot stand at its own path inside. */
export function checkPlaces(nativePath: string, workspace: string): void {
  if (!existsSync(nativePath)) {
    throw new Failure("refused", "native-missing", `${nativePath} is not there`, nativeFix);
  }
  const taken = reserved.find((directory) => within(directory, workspace));
  if (workspace === "/" || taken !== undefined) {
    const message = `a workspace in ${taken ?? "/"} cannot be shown in the sandbox at its own path`;
    throw new Failure("refused", "workspace-place", message, "move it, for example into your home");
  }
}

function describe(started: StartedReport, spec: SandboxSpec): string {
  if (!started.sandboxed) return "none: the command runs unconfined (--unsafe-no-sandbox)";
  const weaker = (spec.allow ?? []).map((name) => `weaker: ${name} allowed`);
  return [
    "bubblewrap namespaces and mounts",
    "system-call denials",
    started.landlock > 0 ? `Landlock ${started.landlock}` : "no Landlock",
    started.observed ? "execs observed" : "execs not observed",
    ...transparentPath(started),
    ...weaker,
  ].join(", ");
}

/** What programs that take no proxy can reach. */
function transparentPath(started: StartedReport): readonly string[] {
  const because = started.transparentReason ?? "";
  if (started.transparent === "all") return ["connections without a proxy lead to the broker"];
  if (started.transparent === "fixed")
    return [`connections without a proxy on ports 22, 80 and 443 alone (${because})`];
  return started.transparent === "none" ? [`no connections without a proxy (${because})`] : [];
}
