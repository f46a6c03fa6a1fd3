import assert from "node:assert/strict";
import * as vscode from "vscode";
import { clear, scriptedAgent, waitForState } from "../scriptedRun.ts";
import { openHostWindow, type HostWindow } from "../window.ts";

/** Themes of the editor, and the class that a webview's document has in each. */
const themes = [
  ["light", "Default Light Modern", "vscode-light"],
  ["high-contrast", "Default High Contrast", "vscode-high-contrast"],
  ["dark", "Default Dark Modern", "vscode-dark"],
] as const;

describe("themes", () => {
  let window: HostWindow;

  before(async () => {
    window = await openHostWindow();
    await window.call("resize", { width: 1360, height: 860 });
    await vscode.commands.executeCommand("holdfast.start", {
      agent: "scripted",
      command: scriptedAgent("--patience", "0"),
      task: "Add coupons to the shop",
    });
    await waitForState(window, "waiting");
    await window.call("palette", { title: "Holdfast: Review Changes" });
    await window.call("wait", { selector: ".multiDiffEntry:visible", text: "prices.md" });
    await vscode.commands.executeCommand("notifications.clearAll");
  });
  after(async () => {
    await useTheme(undefined);
    await vscode.commands.executeCommand("holdfast.stop");
    await waitForState(window, "sealed");
    await clear(window);
    window.close();
  });

  const useTheme = (name: string | undefined): Thenable<void> =>
    vscode.workspace
      .getConfiguration("workbench")
      .update("colorTheme", name, vscode.ConfigurationTarget.Global);

  /** The timeline is nowhere wider than the side bar. */
  async function fits(): Promise<void> {
    const expression = "document.documentElement.scrollWidth - innerWidth";
    assert.ok(Number(await window.call("evaluate", { expression, panel: true })) <= 0);
  }

  for (const [name, theme, bodyClass] of themes)
    it(`a held call beside the review is shown in ${name}`, async () => {
      await useTheme(theme);
      await window.call("wait", { selector: `body.${bodyClass}`, panel: true });
      await window.call("wait", { selector: ".card .decide.deny", panel: true });
      await fits();
      await window.call("screenshot", { name: `window-${name}` });
    });
});
