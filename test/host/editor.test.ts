import assert from "node:assert/strict";
import path from "node:path";
import Mocha from "mocha";
import * as vscode from "vscode";
import { until } from "./scriptedRun.ts";
import { openHostWindow, type HostWindow } from "./window.ts";

describe("editor", () => {
  let window: HostWindow;
  before(async () => {
    window = await openHostWindow();
  });
  after(() => window.close());

  it("has the sample project open", async () => {
    const folder = vscode.workspace.workspaceFolders?.[0];
    assert.ok(folder !== undefined);
    assert.equal(path.basename(folder.uri.fsPath), "shop");
    const readme = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(folder.uri, "README.md"));
    assert.match(Buffer.from(readme).toString(), /corner-shop/);
  });

  it("has the extension and activates it", async () => {
    const extension = vscode.extensions.getExtension("holdfast.holdfast");
    assert.ok(extension !== undefined);
    await extension.activate();
    assert.equal(extension.isActive, true);
  });

  it("tells how long its activation took, with nothing to do", async () => {
    await window.call("palette", { title: "Developer: Show Running Extensions" });
    const row = ".runtime-extensions-editor .monaco-list-row";
    await window.call("wait", { selector: row, text: "holdfast.holdfast" });
    const rows = await window.call("texts", { selector: row });
    const [, ms] =
      /Activation: (\d+)ms/.exec(rows.find((text) => text.includes("holdfast.holdfast")) ?? "") ??
      [];
    assert.ok(ms !== undefined, rows.join("\n"));
    // A figure and no claim: the machine decides. Wanted are 50 ms.
    Mocha.reporters.Base.consoleLog(`    activation: ${ms} ms`);
    await window.call("press", { key: "Escape" });
    await until("the list is closed", async () => {
      return (await window.call("texts", { selector: row })).length === 0;
    });
  });

  it("shows a window that can be driven and photographed", async () => {
    await window.call("wait", { selector: ".monaco-workbench .part.statusbar" });
    await window.call("palette", { title: "View: Show Explorer" });
    await window.call("wait", { selector: ".explorer-folders-view", text: "README.md" });
    const file = await window.call("screenshot", { name: "editor" });
    assert.match(file, /editor\.png$/);
  });
});
