import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import * as vscode from "vscode";
import { clear, until, waitForState } from "../scriptedRun.ts";
import { openHostWindow, type HostWindow } from "../window.ts";

const value = "sk-typed-into-the-editor-0815";

describe("secrets that the editor keeps", () => {
  let window: HostWindow;

  before(async () => {
    window = await openHostWindow();
  });
  after(() => window.close());

  const home = process.env["HOLDFAST_HOME"] ?? "";
  const records = (): string => fs.readFileSync(path.join(home, "secrets.json"), "utf8");

  async function answer(question: string, text: string): Promise<void> {
    await window.call("wait", { selector: ".quick-input-title", text: question });
    await window.call("type", { text });
    await window.call("press", { key: "Enter" });
  }

  it("are stored from the palette, and our own file has no value", async () => {
    await window.call("palette", { title: "Holdfast: Store Secret…" });
    await answer("Store Secret: Name", "EDITOR_KEY");
    await answer("Store Secret: Hosts", "api.example.com, *.example.org");
    await answer("Store Secret: Value", value);
    await until("the secret is written down", () =>
      Promise.resolve(fs.existsSync(path.join(home, "secrets.json"))),
    );
    const { secrets } = JSON.parse(records()) as { secrets: unknown };
    const bindings = [{ host: "api.example.com" }, { host: "*.example.org" }];
    assert.deepEqual(secrets, [{ name: "EDITOR_KEY", bindings, source: { from: "editor" } }]);
  });

  it("are a placeholder to the agent that starts here, and in no file of ours", async () => {
    await vscode.commands.executeCommand("holdfast.start", {
      agent: "command",
      command: ["/bin/sh", "-c", "echo the key is $EDITOR_KEY"],
      task: "Tell the key",
    });
    await window.call("wait", { selector: ".task", text: "Tell the key", panel: true });
    await waitForState(window, "sealed");
    await window.call("palette", { title: "Holdfast: Show Agent Output" });
    await window.call("wait", {
      selector: ".part.panel .view-line",
      text: "$HOLDFAST_SECRET_EDITOR_KEY",
    });
    const files = fs
      .readdirSync(home, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile())
      .map((one) => path.join(one.parentPath, one.name));
    assert.deepEqual(
      files.filter((file) => fs.readFileSync(file).includes(value)),
      [],
    );
    await vscode.commands.executeCommand("workbench.action.closePanel");
    await clear(window);
  });

  it("are removed from the palette", async () => {
    await window.call("palette", { title: "Holdfast: Remove Secret…" });
    await answer("Remove Secret", "EDITOR_KEY");
    await until("the secret is gone", () => Promise.resolve(!records().includes("EDITOR_KEY")));
  });
});
