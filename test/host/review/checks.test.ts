import assert from "node:assert/strict";
import * as vscode from "vscode";
import { newestEntries } from "../journals.ts";
import {
  answer,
  clear,
  fileText,
  question,
  runScript,
  until,
  startRun,
  waitForState,
} from "../scriptedRun.ts";
import { stepsAgent } from "../stepsAgent.ts";
import { openHostWindow, type HostWindow } from "../window.ts";

const tree = ".tree-explorer-viewlet-tree-view";

describe("errors that a change set introduces", () => {
  let window: HostWindow;
  let tax: string;

  before(async () => {
    window = await openHostWindow();
    await window.call("resize", { width: 1360, height: 900 });
    tax = (await fileText("src/checkout/tax.ts")) ?? "";
    await startRun(
      window,
      {
        agent: "scripted",
        command: stepsAgent(
          { title: "Write prices", shell: "echo 'One more line.' >> docs/prices.md" },
          {
            title: "Write the rate",
            shell: "echo 'export const rate: number = \"a fifth\";' >> src/checkout/tax.ts",
          },
          // The agent waits until what it has done is checked.
          { title: "Ask", post: "http://hooks.chat.example/services/T00/B00" },
        ),
        task: "Introduce an error",
      },
      "waiting",
    );
    await until("the step is checked", () =>
      newestEntries().some((entry) => entry.kind === "check.step"),
    );
    await window.call("wait", { selector: ".card.armed", panel: true });
    await window.call("click", { selector: ".card.armed .decide.deny", panel: true });
    await waitForState(window, "sealed");
    await window.call("wait", { selector: tree, text: "1 new error" });
  });
  after(async () => {
    await clear(window);
    window.close();
  });

  const introduced = (): readonly vscode.Diagnostic[] =>
    vscode.languages
      .getDiagnostics()
      .filter(([uri]) => uri.scheme === "holdfast-side" && uri.path === "/src/checkout/tax.ts")
      .flatMap(([, found]) => found);

  it("are on the right side of the diff, and in Problems", async () => {
    await vscode.commands.executeCommand("holdfast.openChange", "src/checkout/tax.ts");
    await window.call("wait", { selector: ".editor.modified .squiggly-error" });
    assert.deepEqual(
      introduced().map(({ source, code, range }) => [source, code, range.start.line]),
      [["holdfast typescript", "TS2322", tax.split("\n").length - 1]],
    );
    await vscode.commands.executeCommand("workbench.actions.view.problems");
    await window.call("wait", { selector: ".markers-panel .monaco-list-row", text: "tax.ts" });
    await window.call("wait", {
      selector: ".markers-panel .monaco-list-row",
      text: "is not assignable to type 'number'",
    });
    await window.call("screenshot", { name: "review-problems" });
    await vscode.commands.executeCommand("workbench.action.closePanel");
  });

  it("are in the one diff of the whole change set too", async () => {
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    await window.call("palette", { title: "Holdfast: Review Changes" });
    await window.call("wait", { selector: ".multiDiffEntry:visible .modified .squiggly-error" });
    await window.call("screenshot", { name: "review-errors" });
  });

  it("are laid to the tool call that introduced them", async () => {
    // The list may be scrolled away from it.
    await window.call("click", { selector: ".toolbar vscode-text-field", panel: true });
    await window.call("type", { text: "rate" });
    const row = '.row:has(.title:text-is("Write the rate"))';
    await window.call("wait", { selector: row, text: "+1 error", panel: true });
    await window.call("press", { key: "Escape" });
  });

  it("are asked about once before they are committed", async () => {
    await window.call("palette", { title: "Holdfast: Commit" });
    const text = await question(window);
    assert.match(text, /The changes introduce 1 error/);
    assert.match(text, /src\/checkout\/tax\.ts:\d+:\d+ TS2322/);
    await window.call("screenshot", { name: "question-errors" });
    await answer(window, "Cancel");
    assert.equal(await fileText("src/checkout/tax.ts"), tax);
    await waitForState(window, "sealed");
    await window.call("palette", { title: "Holdfast: Commit" });
    await answer(window, "Commit Anyway");
    await waitForState(window, "committed");
    assert.match((await fileText("src/checkout/tax.ts")) ?? "", /a fifth/);
    assert.deepEqual(introduced(), []);
    await window.call("palette", { title: "Holdfast: Undo Commit" });
    await waitForState(window, "undone");
    assert.equal(await fileText("src/checkout/tax.ts"), tax);
    await until("what can be reviewed again has its errors again", () => introduced().length === 1);
    await window.call("palette", { title: "Holdfast: Commit" });
    await waitForState(window, "committed");
    await window.call("palette", { title: "Holdfast: Undo Commit" });
    await waitForState(window, "undone");
  });
});

describe("commit only when clean", () => {
  let window: HostWindow;

  before(async () => {
    window = await openHostWindow();
    await set(true);
  });
  after(async () => {
    await set(undefined);
    window.close();
  });

  const set = (value: boolean | undefined): Thenable<void> =>
    vscode.workspace
      .getConfiguration("holdfast")
      .update("commitOnlyWhenClean", value, vscode.ConfigurationTarget.Global);

  it("refuses a change set that introduces errors, and shows them", async () => {
    const script = "echo 'export const rate: number = \"a fifth\";' >> src/checkout/tax.ts";
    await runScript(window, script, "Introduce an error");
    await window.call("palette", { title: "Holdfast: Commit" });
    const text = await question(window);
    assert.match(text, /Not committed: the changes introduce 1 error/);
    assert.match(text, /holdfast\.commitOnlyWhenClean/);
    await window.call("screenshot", { name: "question-only-clean" });
    await answer(window, "Show Problems");
    await window.call("wait", { selector: ".markers-panel .monaco-list-row", text: "tax.ts" });
    await waitForState(window, "sealed");
    assert.doesNotMatch((await fileText("src/checkout/tax.ts")) ?? "", /a fifth/);
    await vscode.commands.executeCommand("workbench.action.closePanel");
    await clear(window);
  });

  it("commits a clean one", async () => {
    await runScript(
      window,
      "echo 'export const rate = 5;' >> src/checkout/tax.ts",
      "Keep it clean",
    );
    await window.call("palette", { title: "Holdfast: Commit" });
    await waitForState(window, "committed");
    assert.match((await fileText("src/checkout/tax.ts")) ?? "", /rate = 5/);
    await window.call("palette", { title: "Holdfast: Undo Commit" });
    await waitForState(window, "undone");
    await clear(window);
  });
});
