import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import {
  answer,
  clear,
  fileText,
  question,
  runScript,
  until,
  waitForState,
  workspaceFolder,
  notification,
} from "../scriptedRun.ts";
import { openHostWindow, type HostWindow } from "../window.ts";

describe("commits, listed and brought", () => {
  let window: HostWindow;

  before(async () => {
    window = await openHostWindow();
    await window.call("resize", { width: 1360, height: 900 });
    const commit = "git -c user.name=Agent -c user.email=agent@example.com commit -q";
    const script =
      `echo one > one.txt; git add one.txt; ${commit} -m 'Add one'; ` +
      `echo two > two.txt; git add two.txt; ${commit} -m 'Add two'`;
    await runScript(window, script, "Make two commits");
  });
  after(async () => {
    await clear(window);
    window.close();
  });

  const git = (...args: string[]): string =>
    execFileSync("git", args, { cwd: workspaceFolder().fsPath, encoding: "utf8" }).trim();

  it("brings the agent's own git commits from the palette", async () => {
    const head = git("rev-parse", "HEAD");
    const index = fs.readFileSync(path.join(workspaceFolder().fsPath, ".git", "index"));
    await window.call("palette", { title: "Holdfast: Bring Agent's Commits" });
    const text = await question(window);
    assert.match(text, /Bring 2 commits of the agent/);
    assert.match(text, /Add two[^]*Add one/);
    await window.call("screenshot", { name: "question-bring" });
    await answer(window, "Bring");
    await notification(window, "refs/holdfast/");
    const [ref = ""] = git("for-each-ref", "--format=%(refname)", "refs/holdfast").split("\n");
    assert.equal(git("show", `${ref}:two.txt`), "two");
    assert.equal(git("rev-parse", "HEAD"), head);
    const now = fs.readFileSync(path.join(workspaceFolder().fsPath, ".git", "index"));
    assert.equal(now.equals(index), true);
    assert.equal(await fileText("one.txt"), undefined);
  });

  it("undoes any commit from the history, and brings it back", async () => {
    await window.call("palette", { title: "Holdfast: Commit" });
    await waitForState(window, "committed");
    assert.equal(await fileText("one.txt"), "one\n");
    const pick = async (mark: string): Promise<void> => {
      await window.call("palette", { title: "Holdfast: Commit History" });
      await window.call("wait", { selector: ".quick-input-list", text: mark });
      await window.call("screenshot", { name: `history-${mark}` });
      await window.call("press", { key: "Enter" });
    };
    await pick("committed");
    assert.match(await question(window), /Undo the commit of 2 files/);
    await answer(window, "Undo Commit");
    await waitForState(window, "undone");
    assert.equal(await fileText("one.txt"), undefined);
    await pick("undone");
    await answer(window, "Bring Back");
    await waitForState(window, "committed");
    assert.equal(await fileText("one.txt"), "one\n");
    await notification(window, "The commit is back", "Undo");
    await until(
      "the notification undoes it",
      async () => (await fileText("one.txt")) === undefined,
    );
    await waitForState(window, "undone");
  });
});
