import assert from "node:assert/strict";
import * as vscode from "vscode";
import {
  answer,
  clear,
  fileText,
  question,
  runScript,
  until,
  waitForState,
  workspaceFolder,
} from "../scriptedRun.ts";
import { openHostWindow, type HostWindow } from "../window.ts";

describe("a commit of a file with unsaved text", () => {
  let window: HostWindow;
  let prices: string;
  const script = "echo 'agent line' >> docs/prices.md; echo 'agent line' >> README.md";

  before(async () => {
    window = await openHostWindow();
    await window.call("resize", { width: 1360, height: 900 });
    prices = (await fileText("docs/prices.md")) ?? "";
    await runScript(window, script, "Add a line");
  });
  after(async () => {
    await clear(window);
    window.close();
  });

  const open = async (name: string): Promise<vscode.TextDocument> => {
    const uri = vscode.Uri.joinPath(workspaceFolder(), name);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { preview: false });
    return document;
  };

  const typeMine = async (): Promise<vscode.TextDocument> => {
    const document = await open("docs/prices.md");
    const editor = await vscode.window.showTextDocument(document, { preview: false });
    await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), "my own line\n"));
    assert.equal(document.isDirty, true);
    return document;
  };

  it("asks, and writes nothing when the person gives up", async () => {
    const document = await typeMine();
    await window.call("palette", { title: "Holdfast: Commit" });
    const text = await question(window);
    assert.match(text, /1 open file with unsaved changes would be written/);
    assert.match(text, /docs\/prices\.md/);
    await window.call("screenshot", { name: "question-unsaved" });
    await answer(window, "Cancel");
    assert.equal(document.isDirty, true);
    assert.match(document.getText(), /^my own line\n/);
    assert.equal(await fileText("docs/prices.md"), prices);
    assert.doesNotMatch((await fileText("README.md")) ?? "", /agent line/);
    await waitForState(window, "sealed");
  });

  it("commits the others when it is left out, and its buffer stays as it is", async () => {
    const readme = await open("README.md");
    const document = vscode.workspace.textDocuments.find(({ fileName }) =>
      fileName.endsWith("prices.md"),
    );
    assert.ok(document?.isDirty === true);
    await window.call("palette", { title: "Holdfast: Commit" });
    await answer(window, "Leave Out");
    await until("README.md is written", async () =>
      ((await fileText("README.md")) ?? "").endsWith("agent line\n"),
    );
    assert.equal(await fileText("docs/prices.md"), prices);
    assert.equal(document.isDirty, true);
    assert.match(document.getText(), /^my own line\n/);
    assert.doesNotMatch(document.getText(), /agent line/);
    await waitForState(window, "sealed");
    await until("a file that was open without changes shows what was committed", () =>
      readme.getText().endsWith("agent line\n"),
    );
    assert.equal(readme.isDirty, false);
  });

  it("merges the agent's text into it when it is saved first", async () => {
    const document = await open("docs/prices.md");
    assert.equal(document.isDirty, true);
    await window.call("palette", { title: "Holdfast: Commit" });
    await answer(window, "Save First");
    await waitForState(window, "committed");
    assert.equal(await fileText("docs/prices.md"), `my own line\n${prices}agent line\n`);
    await until("the buffer shows both", () => document.getText().endsWith("agent line\n"));
    assert.equal(document.isDirty, false);
    assert.match(document.getText(), /^my own line\n/);
  });

  it("asks before an undo too, and keeps what was typed", async () => {
    const editor = await vscode.window.showTextDocument(await open("docs/prices.md"));
    await editor.edit((edit) => edit.insert(new vscode.Position(1, 0), "a second line\n"));
    await window.call("palette", { title: "Holdfast: Undo Commit" });
    assert.match(await question(window), /1 open file with unsaved changes/);
    await answer(window, "Cancel");
    await waitForState(window, "committed");
    assert.equal(editor.document.isDirty, true);
    await window.call("palette", { title: "Holdfast: Undo Commit" });
    await answer(window, "Save First");
    await until("the agent's line is gone", async () => {
      return (await fileText("docs/prices.md")) === `my own line\na second line\n${prices}`;
    });
    // The commit of README.md is still in force.
    await window.call("palette", { title: "Holdfast: Undo Commit" });
    await until(
      "README.md is as it was",
      async () => !((await fileText("README.md")) ?? "").includes("agent line"),
    );
    await waitForState(window, "undone");
  });
});
