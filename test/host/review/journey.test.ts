import assert from "node:assert/strict";
import * as vscode from "vscode";
import {
  answer,
  fileText,
  scriptedAgent,
  startFromPalette,
  startRun,
  waitForState,
} from "../scriptedRun.ts";
import { openHostWindow, type HostWindow } from "../window.ts";

describe("from start to commit and back, in the editor", () => {
  let window: HostWindow;
  const before_ = new Map<string, string | undefined>();
  const watched = [
    "src/money.ts",
    "src/cart/coupon.ts",
    "src/catalogue/productList.ts",
    "src/catalogue/catalogue.ts",
    ".env",
  ];

  before(async () => {
    window = await openHostWindow();
    await window.call("resize", { width: 1360, height: 900 });
    for (const name of watched) before_.set(name, await fileText(name));
  });
  after(() => window.close());

  const unchanged = async (): Promise<void> => {
    for (const name of watched) assert.equal(await fileText(name), before_.get(name), name);
  };

  it("starts the scripted agent from the command palette", async () => {
    await startFromPalette(window, scriptedAgent("--patience", "0"), "Add coupons to the shop");
    await window.call("wait", { selector: ".row", text: "src/money.ts", panel: true });
  });

  it("shows the steps as they come, the held call on top", async () => {
    await waitForState(window, "waiting");
    await window.call("wait", { selector: ".card h3", panel: true });
    await window.call("wait", { selector: ".row.group", text: "Held", panel: true });
    await window.call("screenshot", { name: "timeline-held" });
    await unchanged();
  });

  it("denies the held call", async () => {
    await window.call("wait", { selector: ".card.armed", panel: true });
    await window.call("click", { selector: ".card.armed .decide.deny", panel: true });
    await waitForState(window, "sealed");
  });

  it("opens one diff with every change", async () => {
    await vscode.commands.executeCommand("holdfast.review");
    await window.call("wait", { selector: ".multiDiffEntry:visible", text: "prices.md" });
    await window.call("screenshot", { name: "review" });
    await unchanged();
  });

  it("commits into the workspace with one command", async () => {
    // The question is about what the check says, not that it still runs.
    await window.call("wait", { selector: ".fact", text: "1 new error", panel: true });
    await window.call("palette", { title: "Holdfast: Commit" });
    // The agent has left an error in the types: that is asked about once.
    await answer(window, "Commit Anyway");
    await waitForState(window, "committed");
    assert.match((await fileText("src/money.ts")) ?? "", /Currency/);
    assert.match((await fileText("src/cart/coupon.ts")) ?? "", /WELCOME/);
    assert.equal(await fileText("src/catalogue/productList.ts"), undefined);
    assert.equal(await fileText(".env"), before_.get(".env"));
    // What is committed is no list to choose from any more.
    await window.call("wait", {
      selector: ".pane-body .welcome-view",
      text: "The changes are in your workspace.",
    });
    await window.call("screenshot", { name: "timeline-committed" });
  });

  it("takes the commit back", async () => {
    await window.call("palette", { title: "Holdfast: Undo Commit" });
    await waitForState(window, "undone");
    await unchanged();
  });

  it("discards without a trace", async () => {
    await startRun(window, {
      agent: "scripted",
      command: scriptedAgent("--patience", "1"),
      task: "Add coupons once more",
    });
    await window.call("palette", { title: "Holdfast: Discard" });
    await waitForState(window, "discarded");
    await unchanged();
  });
});
