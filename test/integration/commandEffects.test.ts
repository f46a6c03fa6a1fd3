import assert from "node:assert/strict";
import { commandWorlds } from "../support/holdfastCommand.ts";

describe("file effects of a command's own children", () => {
  const newWorld = commandWorlds();

  for (const backend of ["clone", "overlay"] as const) {
    it(`are laid to the child that made them, deletions too: ${backend}`, async () => {
      const world = newWorld({ "a.txt": "one\n", "b.txt": "two\n", "d/c.txt": "three\n" });
      // Each follows at once, so that a scan begun after one sees what the next ones did.
      const steps = ["cat a.txt", "rm b.txt", "ls .", "cp a.txt e.txt", "rm -r d", "cat e.txt"];
      const script = `${steps.join("; ")}; true`;
      const { code, stderr } = await world.run([
        "run",
        "--backend",
        backend,
        "--",
        "sh",
        "-c",
        script,
      ]);
      assert.equal(code, 0, stderr);
      const entries = await world.entries();
      const commands = new Map(
        entries.flatMap((entry) =>
          entry.kind === "tool.started" ? [[entry.seq, entry.title] as const] : [],
        ),
      );
      const effects = entries
        .filter((entry) => entry.kind === "file.changed")
        .map((entry) => `${commands.get(Number(entry.parent))}: ${entry.change} ${entry.path}`);
      assert.deepEqual(
        effects.sort(),
        [
          "cp a.txt e.txt: added e.txt",
          "rm -r d: deleted d/c.txt",
          "rm b.txt: deleted b.txt",
        ].sort(),
      );
    });
  }
});
