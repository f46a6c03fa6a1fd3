import { execFile } from "node:child_process";
import path from "node:path";
import * as vscode from "vscode";
import * as z from "zod";
import { Failure } from "../base/errors.ts";
import { parseJson } from "../base/jsonl.ts";
import type { Installation } from "../supervisor/supervisorProcess.ts";

/** What `holdfast stop --all --json` prints. */
const answer = z.object({
  stopped: z.array(z.object({ transaction: z.string(), outcome: z.string() })),
  evidence: z.string(),
  report: z.string(),
});

/** Longest that the command may take, milliseconds: it waits for a seal a minute. */
const patienceMs = 90_000;

/**
 * Stops every agent of this user, not only this window's, and opens the report: what was stopped, what to revoke, what may be
 * undone. A process of its own does it, so that a busy window is not in the way.
 */
export async function emergencyStop(installation: Installation): Promise<void> {
  const { stopped, report } = await vscode.window.withProgress(
    {
      location: vscode.ProgressLocation.Notification,
      title: vscode.l10n.t("Holdfast: stopping every agent…"),
    },
    () => run(installation),
  );
  const uri = vscode.Uri.file(report);
  try {
    await vscode.commands.executeCommand("markdown.showPreview", uri);
  } catch {
    // Without the built-in Markdown extension the text itself is readable enough.
    await vscode.window.showTextDocument(uri, { preview: false });
  }
  const running = stopped.filter(({ outcome }) => outcome === "running").length;
  if (running > 0) {
    throw new Failure("failed", "not-stopped", `${running} agents could not be stopped.`);
  }
  const ended = stopped.length;
  void vscode.window.showInformationMessage(
    vscode.l10n.t("{0} agents stopped. The report says what to revoke.", ended),
  );
}

function run(installation: Installation): Promise<z.infer<typeof answer>> {
  const program = path.join(installation.dist, "holdfast.cjs");
  return new Promise((resolve, reject) => {
    execFile(
      installation.node,
      [program, "stop", "--all", "--json"],
      {
        cwd: "/",
        env: { ...process.env, ELECTRON_RUN_AS_NODE: "1" },
        timeout: patienceMs,
        maxBuffer: 16 * 1024 * 1024,
      },
      (_error, stdout, stderr) => {
        // It prints its answer also when one of them could not be stopped.
        const parsed = answer.safeParse(parseJson(stdout));
        if (parsed.success) resolve(parsed.data);
        else {
          const said = stderr.trim().split("\n").at(-1) ?? "";
          const fix = "run `holdfast stop --all` in a terminal";
          reject(new Failure("failed", "emergency-stop", `The stop failed: ${said}`, fix));
        }
      },
    );
  });
}
