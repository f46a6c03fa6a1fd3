import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import * as vscode from "vscode";
import { scriptedAgent, waitForState } from "./scriptedRun.ts";
import { openHostWindow, type HostWindow } from "./window.ts";

/** The command, as a terminal outside this window would run it. */
function holdfast(folder: string, ...args: string[]): string {
  const extension = vscode.extensions.getExtension("holdfast.holdfast");
  assert.ok(extension !== undefined);
  const program = path.join(extension.extensionPath, "dist", "holdfast.cjs");
  const env = { ...process.env, ELECTRON_RUN_AS_NODE: "1" };
  return execFileSync(process.execPath, [program, ...args], { cwd: folder, env, encoding: "utf8" });
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const end = Date.now() + 60_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

describe("Emergency Stop, in the editor", () => {
  let window: HostWindow;
  const elsewhere = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-elsewhere-"));

  before(async () => {
    window = await openHostWindow();
    await window.call("resize", { width: 1360, height: 900 });
  });
  after(() => {
    window.close();
    fs.rmSync(elsewhere, { recursive: true, force: true });
  });

  it("stops this window's agent and one of another folder, and opens the report", async () => {
    fs.writeFileSync(path.join(elsewhere, "a.txt"), "one\n");
    holdfast(elsewhere, "run", "--detach", "--task", "elsewhere", "--", "sleep", "300");
    await vscode.commands.executeCommand("holdfast.start", {
      agent: "scripted",
      command: scriptedAgent("--patience", "0"),
      task: "Add coupons until stopped",
    });
    await waitForState(window, "waiting");
    await window.call("palette", { title: "Holdfast: Emergency Stop" });
    const tabs = (): string[] =>
      vscode.window.tabGroups.all.flatMap((group) => group.tabs.map(({ label }) => label));
    await until(() => tabs().some((label) => label.includes("report.md")), "the report");
    await waitForState(window, "sealed");
    const list = JSON.parse(holdfast(elsewhere, "list", "--json")) as {
      task: string | null;
      state: string;
    }[];
    const states = new Map(list.map(({ task, state }) => [task, state]));
    assert.equal(states.get("elsewhere"), "sealed");
    assert.equal(states.get("Add coupons until stopped"), "sealed");
    await window.call("screenshot", { name: "emergency-stop" });
  });

  it("the report says what was held, and where the evidence lies", () => {
    const home = process.env["HOLDFAST_HOME"] ?? "";
    const [directory = ""] = fs.readdirSync(path.join(home, "evidence")).sort().slice(-1);
    const report = fs.readFileSync(path.join(home, "evidence", directory, "report.md"), "utf8");
    assert.match(report, /\*\*not sent\*\*, undecided/);
    assert.equal(report.match(/stopped and sealed/g)?.length, 2);
  });
});
