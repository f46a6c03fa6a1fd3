import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Failure } from "../../src/base/errors.ts";
import { savepoints } from "../../src/node/fork/savepoints.ts";
import type { ForkedFixture } from "../support/forkFixture.ts";
import { ForkFixture, git, nativeProgram } from "../support/forkFixture.ts";
import { forkPlaces, PlacedFixture } from "../support/forkPlaces.ts";
import { nestDeep } from "../support/nestedDeep.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

/** Beyond what a path can name. */
const levels = 4000;

/** The longest path that is told: LONGEST_PATH of native/src/tree.h. */
const longest = 3072;

/** Where an agent's writes lie. */
function writtenTo({ fork }: ForkedFixture): string {
  return fork.overlays.find(({ at }) => at === ".")?.upper ?? fork.shadow;
}

describe("fork: folders nested without end", () => {
  for (const place of forkPlaces) {
    it(`${place.name}: an agent that makes them loses nothing else`, async () => {
      using placed = new PlacedFixture(place);
      const { fixture } = placed;
      git(fixture.workspace, "init", "-q");
      fixture.write("a.txt", "base\n");
      const forked = await fixture.fork(place.backend);
      const written = writtenTo(forked);
      writeFileSync(path.join(written, "a.txt"), "agent\n");
      nestDeep(written, levels);

      const changes = await forked.changes();
      const deep = changes.filter(({ nestedTooDeep }) => nestedTooDeep === true);
      assert.deepEqual(
        deep.map((one) => [one.change, one.type, one.path.length <= longest]),
        [["added", "directory", true]],
      );
      assert.ok((deep[0]?.path.length ?? 0) > longest - 3);
      assert.deepEqual(
        changes.filter((one) => one.nestedTooDeep !== true).map((one) => one.path),
        ["a.txt", "d/d/d/d/d/d/near.txt"],
      );

      const points = savepoints({ nativePath: fixture.nativePath });
      const at = "2026-01-01T00:00:00.000Z";
      const saved = await points.take(forked.fork, fixture.workspace, forked.paths, { at });
      assert.ok(saved !== undefined);
      writeFileSync(path.join(written, "a.txt"), "worse\n");
      const back = { at, to: saved.savepoint };
      await points.restore(forked.fork, fixture.workspace, forked.paths, back);
      assert.equal(readFileSync(path.join(written, "a.txt"), "utf8"), "agent\n");

      await forked.remove();
      assert.equal(existsSync(forked.fork.shadow), false);
      assert.equal(existsSync(written), false);
    });

    it(`${place.name}: a workspace that has them is forked without what is deeper, or not at all`, async () => {
      using placed = new PlacedFixture(place);
      const { fixture } = placed;
      git(fixture.workspace, "init", "-q");
      fixture.write("a.txt", "base\n");
      nestDeep(fixture.workspace, levels);
      const forking = fixture.fork(place.backend);
      if (place.backend === "overlay" || place.backend === "snapshot") {
        await assert.rejects(forking, (error: unknown) => {
          assert.ok(error instanceof Failure);
          assert.equal(error.code, "native-clone-nested-too-deep");
          assert.ok(error.message.length < 600, error.message);
          return true;
        });
      } else {
        const forked = await forking;
        const told = forked.fork.notes.filter((note) => note.includes("left out"));
        assert.deepEqual(told, ["1 files or folders that cannot be read left out"]);
        assert.ok(forked.fork.notes.every((note) => note.length < 600));
        assert.deepEqual(await forked.changes(), []);
        execFileSync("rm", [forked.at("d/d/d/d/d/d/near.txt")]);
        assert.deepEqual(await forked.changeLines(), ["deleted d/d/d/d/d/d/near.txt"]);
        await forked.remove();
      }
      execFileSync(nativeProgram(), ["remove", fixture.workspace]);
      mkdirSync(fixture.workspace);
    });
  }

  const folder = temporaryFolders();

  it("are removed with few descriptors and a small stack, whatever their modes", () => {
    const top = path.join(folder(), "top");
    mkdirSync(path.join(top, "wide/x"), { recursive: true });
    nestDeep(top, 20_000);
    nestDeep(path.join(top, "wide"), 300);
    execFileSync("chmod", ["000", path.join(top, "d".concat("/d".repeat(150)))]);
    execFileSync("sh", [
      "-c",
      'ulimit -n 256; ulimit -s 256; exec "$0" remove "$1"',
      nativeProgram(),
      top,
    ]);
    assert.equal(existsSync(top), false);
  });

  it("are removed beside names that the removal would give", () => {
    using fixture = new ForkFixture(tmpdir());
    for (let i = 0; i < 3; i++) fixture.write(`.holdfast-deep-${i}/x`, "");
    nestDeep(fixture.workspace, 400);
    execFileSync(nativeProgram(), ["remove", fixture.workspace]);
    assert.equal(existsSync(fixture.workspace), false);
    mkdirSync(fixture.workspace);
  });
});
