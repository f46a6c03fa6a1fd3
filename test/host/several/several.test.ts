import assert from "node:assert/strict";
import path from "node:path";
import * as vscode from "vscode";
import { transactionRoots } from "../journals.ts";
import { clear, notification, runScript, startRun, waitForState } from "../scriptedRun.ts";
import { stepsAgent } from "../stepsAgent.ts";
import { openHostWindow, type HostWindow } from "../window.ts";

const pick = ".quick-input-list .monaco-list-row";

describe("several transactions in one window", () => {
  let window: HostWindow;
  const ids: string[] = [];

  before(async () => {
    window = await openHostWindow();
    await window.call("resize", { width: 1360, height: 900 });
    await startRun(
      window,
      {
        agent: "scripted",
        command: stepsAgent({ title: "Ask", post: "http://hooks.chat.example/services/T00/B00" }),
        task: "Ask somebody",
      },
      "waiting",
    );
    ids.push(newest());
    await runScript(window, "echo more >> README.md", "Write more");
    ids.push(newest());
  });
  after(async () => {
    await clear(window);
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    window.close();
  });

  const newest = (): string => path.basename(transactionRoots().at(-1) ?? "");

  const shows = (task: string): Promise<null> =>
    window.call("wait", { selector: ".task", text: task, panel: true });

  it("counts what waits in the one that is not shown", async () => {
    await shows("Write more");
    await window.call("wait", { selector: ".statusbar-item", text: "1 call held" });
    await window.call("wait", { selector: ".badge-content", text: "1" });
    await window.call("screenshot", { name: "several" });
  });

  it("switches from the palette", async () => {
    await window.call("palette", { title: "Holdfast: Switch Transaction" });
    await window.call("wait", { selector: pick, text: "Write more" });
    await window.call("click", { selector: pick, text: "Ask somebody" });
    await shows("Ask somebody");
    await waitForState(window, "waiting");
  });

  it("switches by a link", async () => {
    await follow(`/transaction/${ids[1] ?? ""}`);
    await shows("Write more");
    await follow(`/transaction/${ids[0] ?? ""}`);
    await shows("Ask somebody");
  });

  it("says so when a link leads nowhere", async () => {
    await follow("/transaction/20200101-000000-none");
    await notification(window, "20200101-000000-none");
    await vscode.commands.executeCommand("notifications.clearAll");
    await shows("Ask somebody");
  });

  it("decides about the held call from the palette", async () => {
    await window.call("palette", { title: "Holdfast: Deny Held Call" });
    await window.call("wait", { selector: pick, text: "hooks.chat.example" });
    await window.call("press", { key: "Enter" });
    await window.call("wait", { selector: ".quick-input-title", text: "Deny" });
    await window.call("type", { text: "not today" });
    await window.call("press", { key: "Enter" });
    await waitForState(window, "sealed");
    await clear(window);
    await window.call("palette", { title: "Holdfast: Switch Transaction" });
    await window.call("click", { selector: pick, text: "Write more" });
    await shows("Write more");
  });

  /** Follows a link of ours as one in a document or a terminal is followed. */
  async function follow(to: string): Promise<void> {
    const uri = vscode.Uri.parse(`${vscode.env.uriScheme}://holdfast.holdfast${to}`);
    assert.equal(await vscode.commands.executeCommand("vscode.open", uri), undefined);
  }
});
