import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import * as vscode from "vscode";
import { holdfast } from "./command.ts";
import { scriptedAgent, until, startRun, waitForState } from "./scriptedRun.ts";
import { openHostWindow, type HostWindow } from "./window.ts";

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
    await startRun(
      window,
      {
        agent: "scripted",
        command: scriptedAgent("--patience", "0"),
        task: "Add coupons until stopped",
      },
      "waiting",
    );
    await window.call("palette", { title: "Holdfast: Emergency Stop" });
    const tabs = (): string[] =>
      vscode.window.tabGroups.all.flatMap((group) => group.tabs.map(({ label }) => label));
    await until("the report is open", () => tabs().some((label) => label.includes("report.md")));
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
