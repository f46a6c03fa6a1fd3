import assert from "node:assert/strict";
import * as vscode from "vscode";
import { clear, scriptedAgent, startRun, until, waitForState } from "../scriptedRun.ts";
import { openHostWindow, type HostWindow } from "../window.ts";

/** Themes of the editor, and the class that a webview's document has in each. */
const themes = [
  ["light", "Default Light Modern", "vscode-light"],
  ["high-contrast", "Default High Contrast", "vscode-high-contrast"],
  ["high-contrast-light", "Default High Contrast Light", "vscode-high-contrast-light"],
  ["dark", "Default Dark Modern", "vscode-dark"],
] as const;

describe("themes", () => {
  let window: HostWindow;

  before(async () => {
    window = await openHostWindow();
    await window.call("resize", { width: 1360, height: 860 });
    await startRun(
      window,
      {
        agent: "scripted",
        command: scriptedAgent("--patience", "0"),
        task: "Add coupons to the shop",
      },
      "waiting",
    );
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

  it("a held call and its buttons fit the narrowest side bar", async () => {
    const edges = async (): Promise<readonly [number, number]> => {
      const expression = `(({ left, right }) => [left, right])(document.querySelector(".part.sidebar").getBoundingClientRect())`;
      return (await window.call("evaluate", { expression })) as [number, number];
    };
    const [left, wide] = await edges();
    const dragTo = async (x: number): Promise<void> => {
      const [, right] = await edges();
      await window.call("drag", { from: { x: right, y: 400 }, to: { x, y: 400 } });
    };
    // Less would close it.
    await until("the side bar is as narrow as it can be", async () => {
      await dragTo(left + 172);
      return (await edges())[1] < left + 200;
    });
    await until("the timeline is as narrow", async () => {
      return Number(await window.call("evaluate", { expression: "innerWidth", panel: true })) < 200;
    });
    await fits();
    const expression = `[...document.querySelectorAll(".card *:not(.payload *), .header *")]
      .filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5 && getComputedStyle(one).display !== "none")
      .map((one) => one.className || one.tagName)`;
    await window.call("screenshot", { name: "window-narrow" });
    assert.deepEqual(await window.call("evaluate", { expression, panel: true }), []);
    for (const selector of [".card .decide.approve", ".card .decide.deny", ".card .reason"])
      await window.call("wait", { selector, panel: true });
    await until("the side bar is as wide as it was", async () => {
      await dragTo(wide);
      return (await edges())[1] > wide - 20;
    });
  });
});
