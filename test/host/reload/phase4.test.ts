import assert from "node:assert/strict";
import path from "node:path";
import * as vscode from "vscode";
import { liveSupervisor } from "../../../src/node/state/supervisorLock.ts";
import { transactionRoots } from "../journals.ts";
import { fileText, startRun, waitForState, notification } from "../scriptedRun.ts";
import { reloadedWindow } from "./reloaded.ts";

const tree = ".tree-explorer-viewlet-tree-view .monaco-list-row";

describe("loaded anew in the middle of a review", () => {
  it("the choices are as they were, and what is committed is what was chosen", async () => {
    const window = await reloadedWindow();
    await waitForState(window, "sealed");
    await vscode.commands.executeCommand("holdfast.changes.focus");
    await window.call("wait", { selector: tree, text: "edited by you" });
    await vscode.commands.executeCommand("holdfast.openChange", "docs/prices.md");
    const comment = { selector: ".review-widget:visible .comment-body", text: "Kept for later." };
    await window.call("wait", comment);
    const cli = await fileText("src/cli.ts");
    await window.call("palette", { title: "Holdfast: Commit" });
    await notification(window, "Committed");
    assert.match((await fileText("docs/prices.md")) ?? "", /By the agent\. Mine\.\n$/);
    assert.match((await fileText("src/money.ts")) ?? "", /by the agent/);
    assert.equal(await fileText("src/cli.ts"), cli);
    window.close();
  });

  it("a supervisor that is killed leaves an interrupted transaction", async () => {
    const window = await reloadedWindow();
    await startRun(
      window,
      {
        agent: "command",
        command: ["/bin/sh", "-c", "echo half > half.txt; sleep 300"],
        task: "Never to end",
      },
      "running",
    );
    const root = transactionRoots().at(-1) ?? "";
    const pid = liveSupervisor(root);
    assert.ok(pid !== undefined, path.basename(root));
    // Long enough for the script to have written.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    process.kill(pid, "SIGKILL");
    await waitForState(window, "interrupted");
    await window.call("screenshot", { name: "timeline-interrupted" });
    window.close();
  });
});
