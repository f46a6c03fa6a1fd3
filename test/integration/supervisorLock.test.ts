import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { liveSupervisor, takeSupervisorLock } from "../../src/node/state/supervisorLock.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

const contender = path.resolve(import.meta.dirname, "../support/lockContender.ts");

describe("supervisor lock", () => {
  const folder = temporaryFolders();

  it("is taken once and belongs to this process", () => {
    const root = folder();
    assert.equal(liveSupervisor(root), undefined);
    assert.equal(takeSupervisorLock(root), true);
    assert.equal(liveSupervisor(root), process.pid);
    assert.equal(takeSupervisorLock(root), false);
  });

  it("is nobody's where the transaction is gone", () => {
    assert.equal(liveSupervisor(path.join(folder(), "gone")), undefined);
  });

  it("of four that start at once one has it; when that one is killed, one of the next four", async () => {
    const root = folder();
    for (let round = 0; round < 2; round++) {
      const all = Array.from({ length: 4 }, () =>
        spawn(process.execPath, ["--import", "tsx", contender, root], {
          stdio: ["pipe", "pipe", "inherit"],
        }),
      );
      const answers = await Promise.all(
        all.map(async (child) => {
          const [answer] = (await once(child.stdout, "data")) as [Buffer];
          return answer.toString().trim();
        }),
      );
      assert.equal(answers.filter((answer) => answer === "true").length, 1, answers.join(" "));
      for (const child of all) child.kill("SIGKILL");
      const running = all.filter((child) => child.exitCode === null && child.signalCode === null);
      await Promise.all(running.map((child) => once(child, "exit")));
      assert.equal(liveSupervisor(root), undefined);
    }
  });
});
