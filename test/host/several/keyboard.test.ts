import assert from "node:assert/strict";
import * as vscode from "vscode";
import { clear, fileText, question, scriptedAgent, until, waitForState } from "../scriptedRun.ts";
import { openHostWindow, type HostWindow } from "../window.ts";

const tree = ".tree-explorer-viewlet-tree-view .monaco-list-row";

describe("the main job with the keyboard alone", () => {
  let window: HostWindow;
  let prices: string | undefined;
  let cli: string | undefined;

  before(async () => {
    window = await openHostWindow();
    await window.call("resize", { width: 1360, height: 900 });
    prices = await fileText("docs/prices.md");
    cli = await fileText("src/cli.ts");
  });
  after(async () => {
    await clear(window);
    window.close();
  });

  const press = (key: string): Promise<null> => window.call("press", { key });

  /** Presses a key again and again until it is so. */
  async function pressUntil(
    key: string,
    what: string,
    holds: () => Promise<boolean>,
  ): Promise<void> {
    for (let left = 60; !(await holds()); left--) {
      if (left === 0) assert.fail(`${key} does not lead to ${what}`);
      await press(key);
    }
  }

  const inPanel = (expression: string): Promise<unknown> =>
    window.call("evaluate", { expression, panel: true });
  /** Whether the focus of the timeline is on, or in, such an element. */
  const isOn = async (selector: string): Promise<boolean> =>
    (await inPanel(
      `document.hasFocus() && document.activeElement?.closest(${JSON.stringify(selector)}) !== null`,
    )) === true;

  it("starts an agent", async () => {
    await window.call("palette", { title: "Holdfast: Start Agent Transaction" });
    await window.call("wait", { selector: ".quick-input-list", text: "reports its steps" });
    await window.call("type", { text: "reports its steps" });
    await window.call("wait", {
      selector: ".quick-input-list .focused",
      text: "reports its steps",
    });
    await press("Enter");
    await window.call("wait", { selector: ".quick-input-title", text: "Command" });
    await window.call("type", { text: scriptedAgent("--patience", "0").join(" ") });
    await press("Enter");
    await window.call("wait", { selector: ".quick-input-title", text: "Task" });
    await window.call("type", { text: "Work for the keyboard" });
    await press("Enter");
    await waitForState(window, "waiting");
  });

  it("walks through the timeline", async () => {
    await window.call("palette", { title: "Holdfast: Show Timeline" });
    await until("the timeline has the focus", async () => {
      return (await inPanel("document.hasFocus()")) === true;
    });
    await pressUntil("Tab", "the rows", () => isOn(".row"));
    const spoken = (): Promise<unknown> =>
      inPanel("document.activeElement.querySelector('.spoken')?.textContent ?? ''");
    await pressUntil("ArrowDown", "an edit", async () => /Edit/.test(String(await spoken())));
    await press("ArrowRight");
    await window.call("wait", { selector: '.row:focus[aria-expanded="true"]', panel: true });
    await press("ArrowLeft");
    await window.call("wait", { selector: '.row:focus[aria-expanded="false"]', panel: true });
  });

  it("denies the held call", async () => {
    await pressUntil("Shift+Tab", "the button", () => isOn(".decide.deny"));
    await window.call("wait", { selector: ".card.armed", panel: true });
    await window.call("screenshot", { name: "keyboard-hold" });
    await press("Enter");
    await waitForState(window, "sealed");
  });

  it("opens a change and rejects its hunk", async () => {
    await window.call("palette", { title: "Holdfast: Focus on Changes View" });
    await toRow("prices.md");
    await press("Enter");
    await until("the right side has the focus", () => {
      const { uri } = vscode.window.activeTextEditor?.document ?? {};
      return uri?.scheme === "holdfast-side" && uri.query.startsWith("shadow");
    });
    await window.call("wait", { selector: ".editor.modified .monaco-editor.focused" });
    await press("Control+Alt+h");
    await window.call("wait", { selector: tree, text: "Changes8 of 9" });
  });

  it("rejects a file", async () => {
    await window.call("palette", { title: "Holdfast: Focus on Changes View" });
    await toRow("cli.ts");
    await press("Shift+F10");
    const item = ".monaco-menu .action-item";
    await window.call("wait", { selector: item, text: "Reject File" });
    await pressUntil("ArrowDown", "the menu's item", async () => {
      const focused = await window.call("texts", { selector: `${item}.focused` });
      return focused.some((one) => one.includes("Reject File"));
    });
    await press("Enter");
    await window.call("wait", { selector: tree, text: "Changes7 of 9" });
  });

  /** Goes to the row with this text in the Changes view. */
  async function toRow(text: string): Promise<void> {
    await window.call("wait", { selector: tree, text });
    await press("Home");
    await pressUntil("ArrowDown", text, async () => {
      const focused = await window.call("texts", { selector: `${tree}.focused` });
      return focused.some((one) => one.includes(text));
    });
  }

  it("reviews, commits and undoes", async () => {
    await window.call("palette", { title: "Holdfast: Review Changes" });
    await window.call("wait", { selector: ".multiDiffEntry:visible", text: "prices.md" });
    // What the check says is asked about, not that it still runs.
    await window.call("wait", { selector: ".fact", text: "1 new error", panel: true });
    await window.call("palette", { title: "Holdfast: Commit" });
    assert.match(await question(window), /The changes introduce/);
    await press("Enter");
    await until("it is written", async () =>
      ((await fileText("src/money.ts")) ?? "").includes("Currency"),
    );
    await window.call("wait", { selector: tree, text: "Changes0 of 2" });
    assert.equal(await fileText("docs/prices.md"), prices);
    assert.equal(await fileText("src/cli.ts"), cli);
    await window.call("palette", { title: "Holdfast: Undo Commit" });
    await until("it is taken back", async () => {
      return !((await fileText("src/money.ts")) ?? "").includes("Currency");
    });
  });
});
