import { execFile } from "node:child_process";
import { lstatSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Readable } from "node:stream";
import { findBwrap } from "../sandbox/bwrap.ts";
import { launchPlan, type Launched } from "../sandbox/launchPlan.ts";
import { machineWith } from "../sandbox/machine.ts";
import { checkPlaces } from "../sandbox/sandboxes.ts";
import type { CheckExit, CheckLaunch, CheckProcess, CheckSandbox } from "./checkSandbox.ts";
import { planCheck } from "./planCheck.ts";

/**
 * Checks in the agent's own sandbox, started and watched by the native program like an agent but without a way out.
 * `nativePath`: `holdfast-native`.
 */
export function confinedChecks(nativePath: string): CheckSandbox {
  return {
    async launch(spec) {
      checkPlaces(nativePath, spec.workspace);
      const { records, places } = planCheck(spec, machineWith(findBwrap()));
      await prepare(spec, places);
      return processOf(await launchPlan(nativePath, records, { terminal: false, notes: [] }));
    },
  };
}

/** Makes what the mounts need on the host side: directories, and whiteouts for what the base lacks. */
async function prepare(spec: CheckLaunch, places: readonly string[]): Promise<void> {
  for (const place of [spec.scratch, spec.baseContent, ...places]) {
    await mkdir(place, { recursive: true, mode: 0o700 });
  }
  for (const path of spec.view === "base" ? spec.absentInBase : []) {
    const at = join(spec.baseContent, path);
    if (lstatSync(at, { throwIfNoEntry: false }) !== undefined) continue;
    await mkdir(dirname(at), { recursive: true, mode: 0o700 });
    await promisify(execFile)("mknod", [at, "c", "0", "0"]);
  }
}

function processOf({ sandbox, started }: Launched): CheckProcess {
  const { stdin, stdout } = sandbox;
  const stderr = sandbox.stderr as Readable;
  // A reader that is gone is told by `exited`.
  stdin.on("error", () => undefined);
  const read = [stdout, stderr].map(
    (stream) => new Promise<void>((resolve) => stream.once("close", resolve)),
  );
  const exited = Promise.all([sandbox.exited, ...read]).then(
    ([{ exitCode, signal, limit }]): CheckExit => ({
      exitCode,
      signal: signal ?? null,
      ...(limit === undefined ? {} : { limit }),
    }),
  );
  return {
    pid: started.init,
    stdin,
    stdout,
    stderr,
    exited,
    kill: () => void sandbox.kill(),
  };
}
