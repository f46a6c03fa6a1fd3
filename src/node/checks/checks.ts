import type { CheckSettings } from "../../core/check/checkSettings.ts";
import type { Checks } from "../../runtime/ports.ts";
import { TransactionChecks, type ChecksOptions } from "./transactionChecks.ts";
import type { Checker, CheckLimits } from "./checker.ts";
import { CommandChecker } from "./commandChecker.ts";
import { confinedChecks } from "./confinedChecks.ts";
import { commandTool, tools } from "./tools.ts";
import { TypescriptChecker } from "./typescriptChecker.ts";

export interface ChecksSetup {
  /** The built program's directory (`dist`): checkWorker.cjs and typescript/ are in it. */
  readonly installation: string;
  /** The native program. */
  readonly nativePath: string;
  /** `Workspaces.reader`. */
  readonly reader: ChecksOptions["reader"];
  /** `Workspaces.changes`. */
  readonly changes?: ChecksOptions["changes"];
  /** What the person says; a workspace cannot. */
  readonly settings: CheckSettings;
}

/** Bounds where settings give none: two minutes and 2 GB for each check. */
const usualLimits: CheckLimits = { timeoutMs: 120_000, memoryMb: 2048 };

/** The checks of one transaction. Starts nothing until the first `run`; `close` ends what runs. */
export function checks(setup: ChecksSetup): Checks {
  const { settings } = setup;
  const all: readonly Checker[] = [
    new TypescriptChecker({ installation: setup.installation }),
    ...tools.map((tool) => new CommandChecker(tool)),
    ...(settings.commands ?? []).map((check) => new CommandChecker(commandTool(check))),
  ];
  return new TransactionChecks({
    reader: setup.reader,
    ...(setup.changes === undefined ? {} : { changes: setup.changes }),
    sandbox: confinedChecks(setup.nativePath),
    limits: (check) => limitsFor(settings, check),
    checkers: all.filter((checker) => settings.disabled?.includes(checker.name) !== true),
  });
}

function limitsFor({ limits, limitsOf }: CheckSettings, check: string): CheckLimits {
  const own = limitsOf?.[check];
  const seconds = own?.seconds ?? limits?.seconds;
  return {
    timeoutMs: seconds === undefined ? usualLimits.timeoutMs : seconds * 1000,
    memoryMb: own?.memoryMb ?? limits?.memoryMb ?? usualLimits.memoryMb,
  };
}
