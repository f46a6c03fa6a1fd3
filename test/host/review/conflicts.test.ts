import assert from "node:assert/strict";
import * as vscode from "vscode";
import {
  clear,
  fileText,
  notification,
  runScript,
  until,
  waitForState,
  writeText,
} from "../scriptedRun.ts";
import { openHostWindow, type HostWindow } from "../window.ts";

const row = ".tree-explorer-viewlet-tree-view .monaco-list-row";
const names = ["first.txt", "second.txt", "third.txt"] as const;
const with_ = (line: string): string => `above\n${line}\nbelow\n`;

describe("files that both sides changed", () => {
  let window: HostWindow;

  before(async () => {
    window = await openHostWindow();
    await window.call("resize", { width: 1360, height: 900 });
    for (const name of names) await writeText(name, with_("base"));
    await runScript(window, `sed -i s/base/agent/ ${names.join(" ")}`, "Change one line");
    for (const name of names) await writeText(name, with_("mine"));
  });
  after(async () => {
    await clear(window);
    window.close();
  });

  /** Presses a button of a row in the tree. */
  const press = async (name: string, button: string): Promise<void> => {
    const selector = `${row}:has-text(${JSON.stringify(name)})`;
    await window.call("hover", { selector });
    await window.call("click", { selector: `${selector} a[aria-label=${JSON.stringify(button)}]` });
  };
  const says = (text: string): Promise<null> => window.call("wait", { selector: row, text });

  it("are listed as conflicts, and none is written before each is settled", async () => {
    await window.call("palette", { title: "Holdfast: Review Changes" });
    await waitForState(window, "conflict");
    await says("Conflicts0 of 3");
    await window.call("wait", { selector: ".codelens-decoration a", text: "merge by hand" });
    await window.call("screenshot", { name: "conflicts" });
    await window.call("palette", { title: "Holdfast: Commit" });
    await notification(window, "3 files changed on both sides");
    for (const name of names) assert.equal(await fileText(name), with_("mine"));
    await vscode.commands.executeCommand("notifications.clearAll");
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
  });

  it("are settled with a button for either side", async () => {
    await press("first.txt", "Keep Workspace Version");
    await says("yours stays");
    await press("second.txt", "Take Agent Version");
    await says("agent's version");
    await waitForState(window, "conflict");
  });

  it("are merged by hand in the merge editor", async () => {
    await window.call("click", { selector: row, text: "third.txt" });
    const action = { selector: ".merge-editor .merge-editor-conflict-actions a" };
    await window.call("wait", { ...action, text: "Accept Yours" });
    await window.call("screenshot", { name: "conflict-merge" });
    await window.call("click", { ...action, text: "Accept Agent's" });
    const result = ".merge-editor .code-view.result .view-line";
    await window.call("click", { selector: result, text: "agent" });
    await window.call("press", { key: "End" });
    await window.call("type", { text: " and mine" });
    await window.call("press", { key: "Control+s" });
    await says("merged by you");
    await waitForState(window, "sealed");
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
  });

  it("are committed as they were settled, and undone to what the person had", async () => {
    await window.call("palette", { title: "Holdfast: Commit" });
    await until("the merge is written", async () => {
      return (await fileText("third.txt")) === with_("agent and mine");
    });
    assert.equal(await fileText("first.txt"), with_("mine"));
    assert.equal(await fileText("second.txt"), with_("agent"));
    await window.call("palette", { title: "Holdfast: Undo Commit" });
    await until("the merge is undone", async () => (await fileText("third.txt")) === with_("mine"));
    assert.equal(await fileText("second.txt"), with_("mine"));
  });
});
