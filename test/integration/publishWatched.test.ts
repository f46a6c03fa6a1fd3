import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { nativeBuild } from "../support/nativeBuild.ts";
import { PublishFixture } from "../support/publishFixture.ts";

/** An editor that has a file open loads it anew only when it is told that the file came last, not that it went. */
describe("who watches the workspace during a publish", () => {
  const tools = mkdtempSync(path.join(tmpdir(), "holdfast-watch-"));
  const watcher = path.join(tools, "watchNames");

  before(function () {
    this.timeout(180_000);
    nativeBuild("faults");
    const source = path.join(import.meta.dirname, "../support/watchNames.c");
    execFileSync("cc", ["-Wall", "-Werror", "-O1", "-o", watcher, source]);
  });
  after(() => rmSync(tools, { recursive: true, force: true }));

  /** What the watcher of the workspace was told last of each name while `act` ran. */
  const lastTold = async (
    workspace: string,
    act: () => Promise<unknown>,
  ): Promise<Readonly<Record<string, string>>> => {
    const child = spawn(watcher, [workspace], { stdio: ["pipe", "pipe", "inherit"] });
    await once(child.stdout, "readable");
    const told = text(child.stdout);
    await act();
    child.stdin.end();
    const [first, ...lines] = (await told).trimEnd().split("\n");
    assert.equal(first, "watching");
    return Object.fromEntries(lines.map((line) => line.split(" ").reverse()) as [string, string][]);
  };

  const ways = {
    "by exchange": () => ({}),
    "without exchange": () => ({
      native: nativeBuild("faults"),
      env: { HOLDFAST_FAULT_NO_EXCHANGE: "1" },
    }),
  };
  for (const [way, options] of Object.entries(ways)) {
    it(`is told of each written file that it came, of each deleted one that it went (${way})`, async () => {
      using fixture = new PublishFixture(
        { edited: "1\n", merged: "1\n2\n3\n", gone: "1\n" },
        options(),
      );
      fixture
        .agent({ edited: "2\n", merged: "1\n2\nthree\n", gone: null, fresh: "new\n" })
        .person({ merged: "one\n2\n3\n" });
      const { workspace } = fixture;
      assert.deepEqual(await lastTold(workspace, () => fixture.commit()), {
        edited: "in",
        merged: "in",
        gone: "out",
        fresh: "in",
      });
      assert.deepEqual(await lastTold(workspace, () => fixture.undo()), {
        edited: "in",
        merged: "in",
        gone: "in",
        fresh: "out",
      });
    });
  }
});
