import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import * as vscode from "vscode";
import { fileText, startRun, waitForState } from "../scriptedRun.ts";
import { openHostWindow, type HostWindow } from "../window.ts";

describe("installed package", () => {
  const extension = vscode.extensions.getExtension("holdfast.holdfast");

  it("is installed from the package and activates", async () => {
    assert.ok(extension !== undefined);
    assert.match(path.basename(extension.extensionPath), /^holdfast\.holdfast-/);
    await extension.activate();
  });

  it("brings what it runs and nothing that it was made from", () => {
    assert.ok(extension !== undefined);
    const has = (name: string): boolean => fs.existsSync(path.join(extension.extensionPath, name));
    const native = path.join(
      "dist",
      "native",
      `${process.platform}-${process.arch}`,
      "holdfast-native",
    );
    const programs = ["extension", "holdfastExtension", "supervisor", "holdfast", "checkWorker"];
    for (const name of [...programs.map((program) => `dist/${program}.cjs`), native])
      assert.ok(has(name), name);
    fs.accessSync(path.join(extension.extensionPath, native), fs.constants.X_OK);
    for (const name of ["src", "test", "native", "node_modules", "out"])
      assert.ok(!has(name), name);
  });

  describe("at work", () => {
    let window: HostWindow;
    before(async () => {
      window = await openHostWindow();
    });
    after(() => window.close());

    it("runs a command in a transaction and commits what it made", async () => {
      await startRun(window, {
        agent: "command",
        command: ["/bin/sh", "-c", "echo made in the sandbox > made.txt"],
      });
      assert.equal(await fileText("made.txt"), undefined);
      await window.call("palette", { title: "Holdfast: Commit" });
      await waitForState(window, "committed");
      assert.equal(await fileText("made.txt"), "made in the sandbox\n");
    });
  });
});
