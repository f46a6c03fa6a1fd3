import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { Manifest } from "../../src/node/fork/manifest.ts";
import { unifiedPatch } from "../../src/node/publish/unifiedPatch.ts";
import { buildChangeSet } from "../../src/runtime/commit/seal.ts";
import { ForkFixture, git } from "../support/forkFixture.ts";
import { forkPlaces, PlacedFixture } from "../support/forkPlaces.ts";
import { HeldOverlays } from "../support/heldOverlays.ts";
import { Points } from "../support/savePoints.ts";

/** About the sizes from which a content is saved in another way: native/src/cloneFile.c. */
const sizes = [0, 1, 4095, 4096, 4097, 65_536, 65_537, 70_000, 262_145];

function content(size: number): Buffer {
  return Buffer.alloc(size, `content of ${size} bytes, `);
}

describe("fork: the base of a file that both sides have changed", function () {
  this.timeout(60_000);
  for (const place of forkPlaces) {
    if (place.backend !== "clone") continue;
    it(`${place.name}: is what was forked, at rest or just written`, async () => {
      using placed = new PlacedFixture(place);
      const { fixture } = placed;
      const at = (file: string): string => path.join(fixture.workspace, file);
      for (const size of sizes) fixture.write(`old-${size}`, content(size));
      fixture.write("old-key.txt", `ghp_${"a".repeat(36)}\n`);
      while (Date.now() < statSync(at("old-key.txt")).ctimeMs + 1100) await setTimeout(50);
      for (const size of sizes) fixture.write(`new-${size}`, content(size));
      fixture.write("rewritten", "first\n");
      const { atime, mtime } = statSync(at("old-1"));
      writeFileSync(at("rewritten"), "again\n");
      utimesSync(at("rewritten"), atime, mtime);

      const forked = await fixture.fork("clone");
      const names = sizes.flatMap((size) => [`old-${size}`, `new-${size}`]);
      for (const name of [...names, "rewritten", "old-key.txt"]) {
        writeFileSync(at(name), "the person's\n");
        writeFileSync(forked.at(name), "the agent's own\n");
      }
      const manifest = Manifest.open(forked.fork.manifest);
      for (const name of names) {
        const base = await forked.reader.read("base", name);
        const wanted = content(Number(name.split("-")[1]));
        assert.ok(base !== undefined && wanted.equals(base), name);
        assert.ok(manifest.lookup(name)?.saved !== undefined, name);
      }
      assert.equal(String(await forked.reader.read("base", "rewritten")), "again\n");
      assert.match(String(await forked.reader.read("base", "old-key.txt")), /HOLDFAST_SECRET/);
      assert.equal((await forked.changes()).length, names.length + 2);
      await forked.remove();
    });
  }

  it("is gone in an overlay, and all else can be reviewed: by the ignore rules, renames and all", async () => {
    using fixture = new ForkFixture();
    const edited = ["a.txt", "deleted", "renamed", ".gitignore"];
    git(fixture.workspace, "init", "-q");
    for (const name of edited) fixture.write(name, name === ".gitignore" ? "out/\n" : `${name}\n`);
    fixture.write("kept", "what is moved\n");
    fixture.write("out/o", "output\n");
    const forked = await fixture.fork("overlay");
    await using held = await HeldOverlays.mount(fixture.nativePath, forked.fork);
    const points = new Points(fixture, forked);
    execFileSync(
      "sh",
      [
        "-ec",
        "echo agent >> a.txt; rm deleted; cat renamed > as; rm renamed; mv kept moved; echo p/ >> .gitignore; echo > out/o",
      ],
      { cwd: held.root },
    );
    for (const name of edited) appendFileSync(path.join(fixture.workspace, name), "person\n");
    const lost = /the base of "[^"]+" is gone: both sides changed it, and an overlay keeps no copy/;
    for (const name of edited) await assert.rejects(forked.reader.read("base", name), lost);
    const wanted = [
      ".gitignore",
      "a.txt",
      "as",
      "deleted",
      "moved <- kept",
      "out/o ignored",
      "renamed",
    ];
    const told = async (): Promise<readonly string[]> => {
      const { files } = await buildChangeSet(forked.reader, await forked.changes());
      return files.map(({ path: at, from, section, hunks, before }) => {
        const isLost = before?.type === "file" && before.sha256 === "";
        assert.equal(isLost, edited.includes(at), at);
        assert.equal(hunks.length === 0, isLost || from !== undefined, at);
        const moved = from === undefined ? "" : ` <- ${from}`;
        return `${at}${moved}${section === "ignored" ? " ignored" : ""}`;
      });
    };
    assert.deepEqual(await told(), wanted);
    const patch = await unifiedPatch(
      forked.reader,
      await buildChangeSet(forked.reader, await forked.changes()),
    );
    const leftOut = [...patch.matchAll(/^# left out: ([^,]+), .* its base is gone$/gm)];
    assert.deepEqual(leftOut.map(([, name]) => name).sort(), edited.sort());
    const copy = path.join(fixture.root, "copy");
    execFileSync("cp", ["-a", fixture.workspace, copy]);
    execFileSync("git", ["apply", "--whitespace=nowarn"], {
      cwd: copy,
      input: Buffer.from(patch, "latin1"),
    });
    assert.deepEqual(readdirSync(copy).sort(), [
      ...[".git", ".gitignore", "a.txt", "as", "deleted", "moved", "out", "renamed"],
    ]);
    await points.take("all of it");
    execFileSync("sh", ["-ec", "rm moved; echo more >> a.txt"], { cwd: held.root });
    await points.restore("s1", held.hostView);
    assert.deepEqual(await told(), wanted);
    assert.equal(readFileSync(path.join(held.root, "a.txt"), "utf8"), "a.txt\nagent\n");
  });
});
