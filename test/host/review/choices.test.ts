import assert from "node:assert/strict";
import * as vscode from "vscode";
import {
  answer,
  clear,
  fileText,
  notification,
  question,
  runScript,
  until,
  waitForState,
} from "../scriptedRun.ts";
import { openHostWindow, type HostWindow } from "../window.ts";

const row = ".tree-explorer-viewlet-tree-view .monaco-list-row";

describe("the check boxes of the changes", () => {
  let window: HostWindow;

  before(async () => {
    window = await openHostWindow();
    await window.call("resize", { width: 1360, height: 900 });
    const script =
      "echo more >> docs/prices.md; echo more >> README.md; echo built > build/extra.js; " +
      "mkdir .husky; echo 'npm test' > .husky/pre-commit";
    await runScript(window, script, "Change files of every section");
    await vscode.commands.executeCommand("holdfast.changes.focus");
    await window.call("wait", { selector: row, text: "pre-commit" });
  });
  after(async () => {
    await clear(window);
    window.close();
  });

  /** Clicks the box of the row with this text. */
  const tick = (text: string): Promise<null> =>
    window.call("click", {
      selector: `${row}:has-text(${JSON.stringify(text)}) .custom-view-tree-node-item-checkbox`,
    });
  const says = (text: string): Promise<null> => window.call("wait", { selector: row, text });

  it("tick what was changed, and leave out what runs later and what is ignored", async () => {
    await says("Changes2 of 2");
    await says("Runs later on your machine0 of 1");
    await says("Ignored output0 of 1");
    await window.call("screenshot", { name: "changes-sections" });
  });

  it("choose single files and whole sections", async () => {
    await tick("README.md");
    await says("Changes1 of 2");
    await tick("Changes");
    await says("Changes2 of 2");
    await tick("Changes");
    await says("Changes0 of 2");
    await window.call("palette", { title: "Holdfast: Commit" });
    await notification(window, "nothing is ticked");
    await vscode.commands.executeCommand("notifications.clearAll");
    await tick("prices.md");
    await says("Changes1 of 2");
    await tick("Runs later");
    await says("Runs later on your machine1 of 1");
  });

  it("are what is committed; what runs later is asked about", async () => {
    const readme = await fileText("README.md");
    await window.call("palette", { title: "Holdfast: Commit" });
    const text = await question(window);
    assert.match(text, /Commit 1 file that your machine will run or obey\?/);
    assert.match(text, /\.husky\/pre-commit/);
    await window.call("screenshot", { name: "question-runs-later" });
    await answer(window, "Commit");
    await until("both are written", async () => {
      const hook = await fileText(".husky/pre-commit");
      return hook === "npm test\n" && ((await fileText("docs/prices.md")) ?? "").endsWith("more\n");
    });
    assert.equal(await fileText("README.md"), readme);
    assert.equal(await fileText("build/extra.js"), undefined);
    await waitForState(window, "sealed");
    await says("Changes0 of 1");
    await window.call("palette", { title: "Holdfast: Undo Commit" });
    await until(
      "the hook is gone",
      async () => (await fileText(".husky/pre-commit")) === undefined,
    );
  });
});
