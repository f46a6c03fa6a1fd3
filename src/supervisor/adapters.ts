import { randomBytes } from "node:crypto";
import type { CheckSettings } from "../core/check/checkSettings.ts";
import { checks } from "../node/checks/checks.ts";
import { makeSpare } from "../node/fork/spare.ts";
import { savepoints } from "../node/fork/savepoints.ts";
import { workspaces } from "../node/fork/workspaces.ts";
import { WorkspaceTarget } from "../node/publish/publishTarget.ts";
import { hostSandboxes } from "../node/sandbox/hostSandboxes.ts";
import type { PublishTarget } from "../runtime/commit/publishPort.ts";
import type {
  Checks,
  Sandboxes,
  Savepoints,
  TransactionPaths,
  Workspaces,
} from "../runtime/ports.ts";
import { nativeProgram } from "./installationPaths.ts";

/** Every adapter that a supervisor needs, made from where the built files are. */
export interface Adapters {
  readonly workspaces: Workspaces;
  readonly sandboxes: Sandboxes;
  readonly checks: Checks;
  readonly savepoints: Savepoints;
  /** Makes the spare clone for the workspace's next transaction, when that pays. */
  readonly makeSpare: (
    request: Omit<Parameters<typeof makeSpare>[0], "nativePath">,
  ) => Promise<boolean>;
  readonly openTarget: (workspace: string, paths: TransactionPaths) => PublishTarget;
}

export function adapters(dist: string, settings: CheckSettings): Adapters {
  const nativePath = nativeProgram(dist);
  const forks = workspaces({ nativePath });
  return {
    workspaces: forks,
    sandboxes: hostSandboxes({ nativePath }),
    savepoints: savepoints({ nativePath }),
    makeSpare: (request) => makeSpare({ nativePath, ...request }),
    checks: checks({
      installation: dist,
      nativePath,
      settings,
      reader: (fork, workspace, paths) => forks.reader(fork, workspace, paths),
      changes: (fork, workspace, paths) => forks.changes(fork, workspace, paths),
    }),
    openTarget: (workspace, paths) =>
      new WorkspaceTarget({ workspace, state: paths.state, program: { path: nativePath } }),
  };
}

/** Short enough to type, unique on this machine. */
export function newHoldId(): string {
  return `h-${randomBytes(4).toString("hex")}`;
}
