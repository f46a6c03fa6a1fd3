import assert from "node:assert/strict";
import * as vscode from "vscode";
import { fileText, until, waitForState } from "../scriptedRun.ts";
import { kinds, reloadedWindow } from "./reloaded.ts";

const tree = ".tree-explorer-viewlet-tree-view .monaco-list-row";

describe("loaded anew in the middle of a run", () => {
  it("the agent is still at work, its steps go on to come, and it can be stopped", async () => {
    const window = await reloadedWindow();
    await waitForState(window, "running");
    assert.ok(!kinds().includes("transaction.exited"));
    await window.call("wait", { selector: ".statusbar-item", text: "agent at work" });
    await window.call("wait", { selector: ".row", text: "Edit ticks.txt", panel: true });
    const before = kinds().length;
    await until("more steps come", () => kinds().length > before + 4);
    await window.call("palette", { title: "Holdfast: Stop" });
    await waitForState(window, "sealed");
    window.close();
  });

  it("choices of the review are made", async () => {
    const window = await reloadedWindow();
    await vscode.commands.executeCommand("holdfast.changes.focus");
    await window.call("wait", { selector: tree, text: "cli.ts" });
    await vscode.commands.executeCommand("holdfast.rejectFile", "src/cli.ts");
    await vscode.commands.executeCommand("holdfast.openChange", "docs/prices.md");
    await window.call("click", { selector: ".editor.modified .view-line", text: "By the agent." });
    await window.call("press", { key: "End" });
    await window.call("type", { text: " Mine." });
    await window.call("wait", { selector: tree, text: "edited by you" });
    await window.call("palette", { title: "Comments: Add Comment on Current Selection" });
    await window.call("wait", { selector: ".review-widget:visible .monaco-editor.focused" });
    await window.call("type", { text: "Kept for later." });
    await window.call("click", {
      selector: ".review-widget:visible .monaco-button:not(.disabled)",
      text: "Add Comment",
    });
    await window.call("wait", { selector: ".review-widget:visible .comment-body" });
    // Kept a moment later.
    await new Promise((resolve) => setTimeout(resolve, 800));
    assert.doesNotMatch((await fileText("docs/prices.md")) ?? "", /Mine/);
    window.close();
  });
});
