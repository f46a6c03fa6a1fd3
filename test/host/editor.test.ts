import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import Mocha from "mocha";
import * as vscode from "vscode";
import { holdfast } from "./command.ts";
import { until, workspaceFolder } from "./scriptedRun.ts";
import { openHostWindow, type HostWindow } from "./window.ts";

/** Whether this extension host has loaded the extension itself, not only what every window loads. */
function isLoaded(): boolean {
  return Object.keys(require.cache).some((file) => file.endsWith("/holdfastExtension.cjs"));
}

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
    // The slowest come first, and only what is in sight is there.
    await window.call("resize", { width: 1280, height: 2600 });
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
    await window.call("resize", { width: 1280, height: 800 });
  });

  it("has loaded nothing more, since there is nothing to do", async () => {
    const home = process.env["HOLDFAST_HOME"] ?? "";
    await until("it has looked for transactions", () => fs.existsSync(`${home}/transactions`));
    assert.equal(isLoaded(), false);
  });

  it("wakes when a terminal begins a transaction of this folder", async () => {
    const { fsPath } = workspaceFolder();
    holdfast(fsPath, "run", "--detach", "--task", "From a terminal", "--", "touch", "new.txt");
    await until("the extension is loaded", isLoaded);
    const item = { selector: ".statusbar-item", text: "Ready for review" };
    await window.call("wait", item);
    holdfast(fsPath, "discard", "latest");
    await until("nothing is left to review", async () => {
      return !(await window.call("texts", { selector: item.selector })).includes(item.text);
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
