import { Failure, messageOf } from "../../base/errors.ts";
import type { Sandboxes } from "../../runtime/ports.ts";
import { probeSandbox, type DoctorRow } from "./probeSandbox.ts";
import { sandboxes, type SandboxOptions } from "./sandboxes.ts";
import { findSandboxExec, seatbeltSandboxes } from "./seatbelt/seatbeltSandboxes.ts";

const elsewhere = "on Windows, run it in WSL";

/** The sandbox of this platform: the only place where that is decided. */
export function hostSandboxes(
  options: SandboxOptions,
  platform: NodeJS.Platform = process.platform,
): Sandboxes {
  if (platform === "linux") return sandboxes(options);
  if (platform === "darwin") return seatbeltSandboxes();
  const message = `there is no sandbox for ${platform}`;
  return {
    launch: () => Promise.reject(new Failure("refused", "no-platform", message, elsewhere)),
  };
}

/** What it needs of this machine. */
export async function probeHostSandbox(
  options: SandboxOptions,
  platform: NodeJS.Platform = process.platform,
): Promise<readonly DoctorRow[]> {
  if (platform === "linux") return probeSandbox(options);
  if (platform === "darwin") return [seatbeltRow()];
  return [{ name: "sandbox", state: "missing", detail: `none for ${platform}`, fix: elsewhere }];
}

function seatbeltRow(): DoctorRow {
  const name = "sandbox";
  try {
    findSandboxExec();
    return {
      name,
      state: "weaker",
      detail: "Seatbelt; execs are not observed, and it has not been run on a Mac",
      fix: "run Holdfast on Linux for the whole of it",
    };
  } catch (error) {
    const fix = error instanceof Failure ? error.fix : undefined;
    return {
      ...{ name, state: "missing", detail: messageOf(error) },
      ...(fix === undefined ? {} : { fix }),
    };
  }
}
