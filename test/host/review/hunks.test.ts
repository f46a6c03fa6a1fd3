import assert from "node:assert/strict";
import path from "node:path";
import * as vscode from "vscode";
import { readJournal } from "../../../src/node/journal/journalFile.ts";
import { clear, fileText, runScript, until, waitForState, writeText } from "../scriptedRun.ts";
import { openHostWindow, type HostWindow } from "../window.ts";

const lines = Array.from({ length: 30 }, (_, at) => `line ${at + 1}\n`);
const with_ = (changes: Readonly<Record<number, string>>): string =>
  lines.map((line, at) => changes[at + 1] ?? line).join("");

describe("review by hunks", () => {
  let window: HostWindow;

  before(async () => {
    window = await openHostWindow();
    await window.call("resize", { width: 1360, height: 900 });
    await writeText("notes.txt", lines.join(""));
    const script =
      "sed -i -e 's/^line 3$/third/' -e 's/^line 15$/fifteenth/' -e 's/^line 28$/twenty-eighth/' notes.txt";
    await runScript(window, script, "Write numbers as words");
    await vscode.commands.executeCommand("holdfast.openChange", "notes.txt");
    await until("the right side is open", () => sideEditor() !== undefined);
  });
  after(async () => {
    await clear(window);
    window.close();
  });

  function sideEditor(): vscode.TextEditor | undefined {
    return vscode.window.visibleTextEditors.find(
      ({ document }) =>
        document.uri.scheme === "holdfast-side" && document.uri.query.startsWith("shadow"),
    );
  }

  const lens = ".codelens-decoration a";
  const lensTexts = (): Promise<string[]> => window.call("texts", { selector: lens });

  it("rejects a hunk with the choice over it", async () => {
    await window.call("wait", { selector: lens, text: "reject this hunk" });
    await window.call("click", { selector: lens, text: "reject this hunk" });
    await window.call("wait", { selector: lens, text: "accept this hunk" });
    await until("one is rejected", async () => {
      const texts = await lensTexts();
      return texts.filter((text) => text.includes("accept this hunk")).length === 1;
    });
    await window.call("screenshot", { name: "review-hunks" });
    await window.call("wait", {
      selector: ".tree-explorer-viewlet-tree-view",
      text: "2 of 3 hunks",
    });
  });

  it("rejects and accepts the hunk at the cursor with a key", async () => {
    await window.call("click", { selector: ".editor.modified .view-line", text: "twenty-eighth" });
    await window.call("press", { key: "Control+Alt+h" });
    await window.call("wait", {
      selector: ".tree-explorer-viewlet-tree-view",
      text: "1 of 3 hunks",
    });
    await window.call("press", { key: "Control+Alt+h" });
    await window.call("wait", {
      selector: ".tree-explorer-viewlet-tree-view",
      text: "2 of 3 hunks",
    });
    await window.call("press", { key: "Control+Alt+h" });
    await window.call("wait", {
      selector: ".tree-explorer-viewlet-tree-view",
      text: "1 of 3 hunks",
    });
  });

  it("commits what is accepted; the rest stays for review", async () => {
    await window.call("palette", { title: "Holdfast: Commit" });
    await until("the accepted hunk is written", async () => {
      return (await fileText("notes.txt")) === with_({ 15: "fifteenth\n" });
    });
    await waitForState(window, "sealed");
    await window.call("wait", { selector: ".tree-explorer-viewlet-tree-view", text: "notes.txt" });
  });

  it("commits what is typed on the right side, as the person's", async () => {
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    await vscode.commands.executeCommand("holdfast.acceptFile", "notes.txt");
    await vscode.commands.executeCommand("holdfast.openChange", "notes.txt");
    await window.call("click", { selector: ".editor.modified .view-line", text: "third" });
    await window.call("press", { key: "End" });
    await window.call("type", { text: " (mine)" });
    await window.call("wait", {
      selector: ".tree-explorer-viewlet-tree-view",
      text: "edited by you",
    });
    await window.call("palette", { title: "Holdfast: Commit" });
    await waitForState(window, "committed");
    const expected = with_({ 3: "third (mine)\n", 15: "fifteenth\n", 28: "twenty-eighth\n" });
    assert.equal(await fileText("notes.txt"), expected);
    const intents = lastJournal().filter((entry) => entry.kind === "commit.intended");
    assert.deepEqual(
      intents.map((entry) => ("edited" in entry ? entry.edited : [])),
      [[], ["notes.txt"]],
    );
    await window.call("palette", { title: "Holdfast: Undo Commit" });
    await waitForState(window, "sealed");
    await window.call("palette", { title: "Holdfast: Undo Commit" });
    await waitForState(window, "undone");
    assert.equal(await fileText("notes.txt"), lines.join(""));
  });

  function lastJournal(): ReturnType<typeof readJournal>["entries"] {
    const home = process.env["HOLDFAST_HOME"] ?? "";
    const shown = sideTransaction();
    return readJournal(path.join(home, "transactions", shown)).entries;
  }

  function sideTransaction(): string {
    const tab = vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs);
    const inputs = tab.map(({ input }) => input);
    const diff = inputs.find((input) => input instanceof vscode.TabInputTextDiff);
    assert.ok(diff !== undefined);
    return diff.modified.query.split("&")[1] ?? "";
  }
});
