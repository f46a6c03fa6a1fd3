import * as vscode from "vscode";
import { newestEntries } from "../journals.ts";
import { clear, until, startRun, waitForState, writeText } from "../scriptedRun.ts";
import { stepsAgent } from "../stepsAgent.ts";
import { openHostWindow, type HostWindow } from "../window.ts";

describe("what one tool call changed", () => {
  let window: HostWindow;

  before(async () => {
    window = await openHostWindow();
    await window.call("resize", { width: 1360, height: 900 });
    await writeText("steps.txt", "one\ntwo\nthree\n");
    await startRun(
      window,
      {
        agent: "scripted",
        command: stepsAgent(
          { title: "Write the first", shell: "sed -i s/one/first/ steps.txt" },
          // Nothing that the agent does meets the savepoint of the step before.
          { title: "Ask", post: "http://hooks.chat.example/services/T00/B00" },
          { title: "Write the third", shell: "sed -i s/three/third/ steps.txt" },
        ),
        task: "Change one file twice",
      },
      "waiting",
    );
    await until("the first step has its savepoint", () =>
      newestEntries().some((entry) => entry.kind === "savepoint.taken"),
    );
    await window.call("wait", { selector: ".card.armed", panel: true });
    await window.call("click", { selector: ".card.armed .decide.deny", panel: true });
    await waitForState(window, "sealed");
  });
  after(async () => {
    await clear(window);
    window.close();
  });

  /** Opens the diff of a step and waits until it shows these texts of its only file. */
  async function shows(title: string, before: string, after: string): Promise<void> {
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    // The row itself: others have its title in what they show of the agent's command.
    const row = `.row:has(.title:text-is(${JSON.stringify(title)}))`;
    await window.call("click", { selector: row, panel: true });
    await window.call("click", { selector: `${row} .action[data-action="diff"]`, panel: true });
    await window.call("wait", { selector: ".tabs-container .tab", text: title });
    await window.call("wait", { selector: ".multiDiffEntry:visible", text: "steps.txt" });
    const lines = async (): Promise<readonly string[]> => {
      const shown = await window.call("texts", { selector: ".multiDiffEntry:visible .view-lines" });
      return shown.map((text) => text.replaceAll("\u00a0", " ").trim());
    };
    await until(`${title}: ${before} and ${after}`, async () => {
      const [left, right] = await lines();
      return left === before && right === after;
    });
  }

  it("is shown against the step before it, not against the base", async () => {
    await shows("Write the third", "first\ntwo\nthree", "first\ntwo\nthird");
    await window.call("screenshot", { name: "step-diff" });
  });

  it("does not show what later steps did", async () => {
    await shows("Write the first", "one\ntwo\nthree", "first\ntwo\nthree");
  });
});
