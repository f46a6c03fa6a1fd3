import assert from "node:assert/strict";
import {
  appendFileSync,
  chmodSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { removeListings } from "../../src/node/fork/listing.ts";
import { Manifest } from "../../src/node/fork/manifest.ts";
import { runNative } from "../../src/node/fork/runNative.ts";
import { maskedSecrets } from "../../src/node/fork/secretMasks.ts";
import type { ForkFixture } from "../support/forkFixture.ts";
import { forkPlaces, PlacedFixture } from "../support/forkPlaces.ts";

const token = `ghp_${"aB3".repeat(12)}`;
const harmless = `abcd${"xY9".repeat(12)}`;
const begunAt = 40; // native/src/manifest.h

function keptListings(fixture: ForkFixture): readonly string[] {
  const directory = path.join(fixture.home, "listings");
  return readdirSync(directory).map((name) => path.join(directory, name));
}

/** Makes what a listing has read count as settled, as if it had been made two minutes later. */
function settle(file: string): void {
  const time = readFileSync(file).readBigInt64LE(begunAt) + 120_000_000_000n;
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(time);
  const fd = openSync(file, "r+");
  writeSync(fd, bytes, 0, 8, begunAt);
  closeSync(fd);
}

/** How many files a listing takes from an earlier one. */
async function takenFrom(fixture: ForkFixture, known: string): Promise<unknown> {
  const manifest = path.join(fixture.root, "manifest");
  const args = ["--from", fixture.workspace, "--manifest", manifest, "--known", known];
  return (await runNative(fixture.nativePath, "clone", args)).report["kept"];
}

async function masksOfFork(fixture: ForkFixture, place: "overlay" | "snapshot"): Promise<string[]> {
  const forked = await fixture.fork(place);
  const values = maskedSecrets(forked.paths.state).map(({ value }) => value);
  await forked.remove();
  return values;
}

describe("fork: the last listing of a workspace", () => {
  for (const place of forkPlaces) {
    const { backend, name } = place;
    if (backend !== "overlay" && backend !== "snapshot") continue;

    it(`${name}: a secret is found, whatever an earlier listing said of its file`, async () => {
      using placed = new PlacedFixture(place);
      const { fixture } = placed;
      const at = (file: string): string => path.join(fixture.workspace, file);
      for (const file of ["same.js", "edited.js", "replaced.js", "moved.js", "d/deep.js"])
        fixture.write(file, `const value = "${harmless}";\n`);
      fixture.write("old.js", `const value = "${token}";\n`);
      assert.deepEqual(await masksOfFork(fixture, backend), [token]);
      keptListings(fixture).forEach(settle);
      assert.deepEqual(await masksOfFork(fixture, backend), [token]); // it is in the listing

      keptListings(fixture).forEach(settle);
      const found = ["one", "two", "three", "four"].map((_, i) => `ghp_${String(i).repeat(36)}`);
      const texts = found.map((value) => `const value = "${value}";\n`);
      const { atime, mtime } = statSync(at("edited.js"));
      writeFileSync(at("edited.js"), texts[0] ?? "");
      utimesSync(at("edited.js"), atime, mtime); // same inode, size and mtime
      fixture.write("other.js", texts[1]);
      utimesSync(at("other.js"), atime, mtime);
      renameSync(at("other.js"), at("replaced.js"));
      renameSync(at("old.js"), at("moved.js"));
      fixture.write("d/new.js", texts[2]);
      renameSync(at("d"), at("e"));
      writeFileSync(at("e/deep.js"), texts[3] ?? "");
      assert.deepEqual((await masksOfFork(fixture, backend)).sort(), [...found, token].sort());
    });
  }

  it("spares the reading of what has settled, and of nothing else", async () => {
    using placed = new PlacedFixture({ name: "overlay", backend: "overlay" });
    const { fixture } = placed;
    for (let i = 0; i < 5; i++) fixture.write(`f${i}.js`, `${i}\n`);
    fixture.write(".env", "A=1\n"); // by its name alone
    await masksOfFork(fixture, "overlay");
    const [kept = ""] = keptListings(fixture);
    assert.equal(await takenFrom(fixture, kept), 0); // all were written within the minute
    settle(kept);
    assert.equal(await takenFrom(fixture, kept), 5);
    writeFileSync(path.join(fixture.workspace, "f1.js"), "1\n");
    assert.equal(await takenFrom(fixture, kept), 4);
  });

  it("knows the folders of vendored code that have not changed, and their files as they are", async () => {
    using placed = new PlacedFixture({ name: "overlay", backend: "overlay" });
    const { fixture } = placed;
    const at = (file: string): string => path.join(fixture.workspace, file);
    const names = ["same", "edited", "grown", "emptied", "later"];
    for (const one of names) fixture.write(`vendor/a/${one}.js`, `${one}\n`);
    fixture.write("vendor/a/empty.js");
    fixture.write("vendor/b/c/deep.js", "deep\n");
    fixture.write("vendor/b/.npmrc", "x".repeat(1_100_000)); // too large to be looked into
    symlinkSync("a/same.js", at("vendor/link"));
    await masksOfFork(fixture, "overlay");
    const [kept = ""] = keptListings(fixture);
    settle(kept);
    assert.equal(await takenFrom(fixture, kept), 7);
    writeFileSync(
      at("vendor/b/.npmrc"),
      `//registry.example.com/:_authToken=npm_${"a1".repeat(18)}\n`,
    );
    fixture.write("vendor/b/c/.env", "API_KEY=s3cr3t-value-0001\n");
    writeFileSync(at("vendor/a/edited.js"), "EDITED\n");
    chmodSync(at("vendor/a/edited.js"), 0o755);
    appendFileSync(at("vendor/a/grown.js"), "more\n");
    truncateSync(at("vendor/a/emptied.js"));
    assert.equal(await takenFrom(fixture, kept), 6);

    const forked = await fixture.fork("overlay");
    assert.equal(forked.fork.files, 9);
    const { reader } = forked;
    const values = maskedSecrets(forked.paths.state).map(({ value }) => value);
    assert.deepEqual(values.sort(), [`npm_${"a1".repeat(18)}`, "s3cr3t-value-0001"]);
    assert.deepEqual(await reader.stat("base", "vendor/a/edited.js"), {
      type: "file",
      mode: 0o755,
      size: 7,
    });
    const base = async (one: string): Promise<string> =>
      Buffer.from((await reader.read("base", `vendor/a/${one}.js`)) ?? "absent").toString();
    assert.deepEqual(await Promise.all(["same", "edited", "grown", "emptied"].map(base)), [
      "same\n",
      "EDITED\n",
      "grown\nmore\n",
      "",
    ]);
    assert.deepEqual(await reader.stat("base", "vendor/link"), {
      type: "symlink",
      mode: 0o777,
      target: "a/same.js",
    });
    for (const one of ["later", "empty"]) {
      appendFileSync(at(`vendor/a/${one}.js`), "while the agent runs\n");
      await assert.rejects(reader.read("base", `vendor/a/${one}.js`), { code: "base-lost" });
    }
  });

  it("leads to the list that would be made without it, also where that is read in pieces", async () => {
    using placed = new PlacedFixture({ name: "overlay", backend: "overlay" });
    const { fixture } = placed;
    for (let i = 0; i < 3000; i++) {
      const directory = `vendor/p${i % 150}${i % 3 === 0 ? "/in" : ""}`;
      fixture.write(`${directory}/f${i}.js`, `${i}\n`);
    }
    for (let i = 0; i < 150; i += 30) {
      symlinkSync(`f${i}.js`, path.join(fixture.workspace, `vendor/p${i}/in/link`));
      fixture.write(`vendor/p${i}/.npmrc`, "registry=x\n");
      fixture.write(`vendor/p${i + 1}/.git`, "gitdir: nowhere\n");
    }
    fixture.write("src/main.js", `"${token}"\n`);
    const list = async (name: string, ...more: string[]): Promise<Manifest> => {
      const manifest = path.join(fixture.root, name);
      const args = ["--from", fixture.workspace, "--manifest", manifest, ...more];
      await runNative(fixture.nativePath, "clone", args);
      return Manifest.open(manifest);
    };
    const plain = await list("plain");
    const known = path.join(fixture.root, "plain");
    settle(known);
    const again = await list("again", "--known", known);
    const all = (manifest: Manifest): unknown[] => [...manifest.entries()];
    const earlier = new Set(
      [...again.entries()].filter(({ entry }) => entry.earlier).map((one) => one.path),
    );
    assert.equal(earlier.size, 3005);
    assert.deepEqual(
      all(again),
      [...plain.entries()].map(({ path: at, entry }) => ({
        path: at,
        entry: { ...entry, earlier: earlier.has(at) },
      })),
    );
    assert.deepEqual(again.suspects(), plain.suspects());
    assert.equal(again.suspects().length, 6);
    assert.equal(again.gitDirectories().length, 5);
    const found = all(plain).length;
    assert.equal(found, again.count - 1);
    assert.deepEqual(again.lookup("vendor/p7/f7.js")?.size, 2);
  });

  it("is as none when it is damaged, and goes with what is old", async () => {
    using placed = new PlacedFixture({ name: "overlay", backend: "overlay" });
    const { fixture } = placed;
    fixture.write("a.js", `"${token}"\n`);
    await masksOfFork(fixture, "overlay");
    const [kept = ""] = keptListings(fixture);
    renameSync(kept, `${kept}.old`);
    writeFileSync(kept, "HFMANI01 and nothing that follows from it");
    assert.deepEqual(await masksOfFork(fixture, "overlay"), [token]);
    assert.equal(removeListings(fixture.home, new Date(0)), 0);
    assert.equal(removeListings(fixture.home, new Date(Date.now() + 1000)), 2);
    assert.deepEqual(keptListings(fixture), []);
  });
});
