import assert from "node:assert/strict";
import * as vscode from "vscode";
import { clear, startFromPalette, until, waitForState } from "../scriptedRun.ts";
import { openHostWindow, type HostWindow } from "../window.ts";

const pick = ".quick-input-list .monaco-list-row";

describe("ways to start", () => {
  let window: HostWindow;

  before(async () => {
    window = await openHostWindow();
    await window.call("resize", { width: 1360, height: 900 });
  });
  after(() => window.close());

  const shows = (task: string): Promise<null> =>
    window.call("wait", { selector: ".task", text: task, panel: true });

  it("offers what was started before, and starts it with one choice", async () => {
    await startFromPalette(window, ["/bin/true"], "Do nothing at all");
    await shows("Do nothing at all");
    await waitForState(window, "sealed");
    await clear(window);
    await window.call("palette", { title: "Holdfast: Start Agent Transaction" });
    await window.call("wait", { selector: pick, text: "Do nothing at all" });
    await window.call("screenshot", { name: "start-recent" });
    await window.call("type", { text: "Do nothing at all" });
    await window.call("wait", { selector: `${pick}.focused`, text: "Do nothing at all" });
    await window.call("press", { key: "Enter" });
    await shows("Do nothing at all");
    await waitForState(window, "sealed");
    await clear(window);
  });

  it("gives up without a trace when a question is closed", async () => {
    await window.call("palette", { title: "Holdfast: Start Agent Transaction" });
    await window.call("wait", { selector: pick, text: "Claude Code" });
    await window.call("press", { key: "Escape" });
    await until("the question is gone", async () => {
      return (await window.call("texts", { selector: ".quick-input-widget:visible" })).length === 0;
    });
    await window.call("wait", { selector: 'body[data-state="discarded"]', panel: true });
  });

  it("gives the agent a terminal of its own, and shows its transaction", async () => {
    await vscode.commands.executeCommand("holdfast.startInTerminal", {
      agent: "command",
      command: ["/bin/sh", "-c", "echo from inside; read answer; echo got $answer > answer.txt"],
      task: "Talk in the terminal",
    });
    await window.call("wait", { selector: ".terminal-tabs-entry, .terminal-outer-container" });
    await shows("Talk in the terminal");
    await waitForState(window, "running");
    await window.call("screenshot", { name: "start-terminal" });
    const terminal = vscode.window.terminals.find(({ name }) => name === "Holdfast");
    assert.ok(terminal !== undefined);
    terminal.sendText("forty-two");
    await waitForState(window, "sealed");
    await window.call("wait", {
      selector: ".tree-explorer-viewlet-tree-view .monaco-list-row",
      text: "answer.txt",
    });
    terminal.dispose();
    await window.call("palette", { title: "Holdfast: Show Agent Output" });
    await window.call("wait", { selector: ".part.panel .view-line", text: "from inside" });
    await window.call("screenshot", { name: "agent-output" });
    await vscode.commands.executeCommand("workbench.action.closePanel");
    await clear(window);
  });
});
