import assert from "node:assert/strict";
import { statSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { Manifest } from "../../src/node/fork/manifest.ts";
import { forkPlaces, PlacedFixture } from "../support/forkPlaces.ts";

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
});
