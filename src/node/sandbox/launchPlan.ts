import { spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { kept } from "./keptStream.ts";
import { encodePlan, type PlanRecord } from "./plan.ts";
import { failureOf } from "./refusals.ts";
import type { StartedReport } from "./reports.ts";
import { SupervisedSandbox } from "./supervisedSandbox.ts";

/** A sandbox whose program runs. */
export interface Launched {
  readonly sandbox: SupervisedSandbox;
  readonly started: StartedReport;
}

/** Hands a plan to `holdfast-native supervise` and waits for its program to run. Throws the Failure that says why it does not. */
export async function launchPlan(
  nativePath: string,
  records: readonly PlanRecord[],
  options: { readonly terminal: boolean; readonly notes: readonly string[] },
): Promise<Launched> {
  const plan = encodePlan(records);
  const child = spawn(nativePath, ["supervise", "3", "4"], {
    stdio: ["pipe", "pipe", options.terminal ? "ignore" : "pipe", "pipe", "pipe"],
    env: {},
    cwd: "/",
  });
  const control = child.stdio[4] as Writable;
  const sandbox = new SupervisedSandbox(
    {
      child,
      stdin: child.stdin as Writable,
      stdout: kept(child.stdout as Readable),
      stderr: child.stderr === null ? undefined : kept(child.stderr),
      reports: child.stdio[3] as Readable,
      control,
    },
    options.notes,
  );
  control.write(`plan ${plan.length}\n`);
  control.write(plan);
  const told = await sandbox.startOrFailure;
  if (told.type === "started") return { sandbox, started: told };
  await sandbox.kill();
  throw failureOf(told, nativePath);
}
