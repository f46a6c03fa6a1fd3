import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { Manifest } from "../../src/node/fork/manifest.ts";
import { maskedSecrets } from "../../src/node/fork/secretMasks.ts";
import type { ForkFixture } from "../support/forkFixture.ts";
import { forkPlaces, PlacedFixture } from "../support/forkPlaces.ts";
import { LoopFilesystem } from "../support/loopFilesystem.ts";
import { randomRuns } from "../support/treeOracle.ts";

const token = (letter: string): string => `ghp_${letter.repeat(36)}`;

/** Root without this one may make snapshots, and not search a tree: as whoever owns a workspace. */
const asOwner = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"];

/** Who makes a listing. */
type Maker = "root" | "owner";

interface Listing {
  readonly manifest: string;
  readonly origin: string | undefined;
  readonly kept: number;
  /** The snapshot that was listed. */
  readonly tree: string;
}

/** Listings of one workspace's snapshots, each beginning with the last. */
class Listings {
  readonly #fixture: ForkFixture;
  #count = 0;
  #last: Listing | undefined;

  constructor(fixture: ForkFixture) {
    this.#fixture = fixture;
  }

  take(maker: Maker = "root"): Listing {
    const { workspace, root } = this.#fixture;
    const at = (name: string): string => path.join(root, `${name}-${++this.#count}`);
    const [manifest, tree, shadow] = [at("manifest"), at("tree"), at("shadow")];
    const known = this.#last === undefined ? [] : ["--known", this.#last.manifest];
    const since = this.#last?.origin === undefined ? [] : ["--since", this.#last.origin];
    const freeze = ["--freeze", tree, "--snapshot", shadow];
    const words = ["--from", workspace, "--manifest", manifest, ...freeze, ...known, ...since];
    const report = this.#run(maker === "owner" ? asOwner : [], words);
    execFileSync(this.#fixture.nativePath, ["remove", shadow], { stdio: "ignore" });
    const { origin, kept } = report;
    this.#last = {
      ...{ manifest, tree, kept: Number(kept) },
      origin: typeof origin === "string" ? origin : undefined,
    };
    return this.#last;
  }

  /** What a listing has, and what one has that is made of the same tree with nothing to begin with. */
  check({ manifest, tree }: Listing, what: string): void {
    const whole = `${manifest}-whole`;
    this.#run([], ["--from", tree, "--manifest", whole]);
    assert.deepEqual(contentOf(manifest), contentOf(whole), what);
    rmSync(whole);
    execFileSync(this.#fixture.nativePath, ["remove", tree], { stdio: "ignore" });
  }

  #run(before: readonly string[], words: readonly string[]): Record<string, unknown> {
    const { nativePath } = this.#fixture;
    const [program = "", ...args] = [...before, nativePath, "clone", "--report-fd", "1", ...words];
    return JSON.parse(execFileSync(program, args, { encoding: "utf8" })) as Record<string, unknown>;
  }
}

function contentOf(file: string): unknown {
  const manifest = Manifest.open(file);
  const entries = [...manifest.entries()].map(({ path: at, entry }) => {
    const { index, type, mode, size, mtime, host, target, absent, earlier } = entry;
    const times = type === "directory" ? [] : [mtime, host.ctime];
    return [at, index, type, mode, size, host.ino, ...times, target, absent, earlier];
  });
  return [entries, manifest.suspects(), manifest.gitDirectories(), manifest.lookup("")?.mode];
}

const map = (file: string): string =>
  `python3 -c "import mmap;f=open('${file}','r+b');m=mmap.mmap(f.fileno(),0);m[0:1]=b'Z'"`;

/** Edits of a person; `a` and `b` are folders, `f` and `g` names in them. Any may fail: nothing stands there, say. */
const edits: readonly ((a: string, b: string, f: string, g: string) => string)[] = [
  (a, b, f) => `mkdir -p ${a}; echo ${b} > ${a}/${f}`,
  (a, _, f) => `echo 'x = "${token("e")}"' > ${a}/${f}`,
  (a, _, f) => `rm -rf ${a}/${f}`,
  (a, b, f, g) => `mv -T ${a}/${f} ${b}/${g}`,
  (a, b) => `mv -T ${a} held; mv -T ${b} ${a}; mv -T held ${b}`,
  (a, b) => `mv ${a} ${b}/`,
  (a, b, f, g) => `ln -f ${a}/${f} ${b}/${g}`,
  (a, _, f) =>
    `touch -r ${a}/${f} ../time; printf Z | dd of=${a}/${f} conv=notrunc; touch -r ../time ${a}/${f}`,
  (a, _, f) => map(`${a}/${f}`),
  (a, b, f, g) => `cp --reflink=always ${a}/${f} ${b}/${g}`,
  (a, _, f) => `rm -f ${a}/${f}; echo again > ${a}/${f}`,
  (a, _, f) => `chmod 640 ${a}/${f}; setfattr -n user.x -v 1 ${a}/${f}`,
  (a, _, f) => `truncate -s 300000 ${a}/${f}`,
  (a, _, f) => `ln -sfn ../${f} ${a}/link`,
  (a, _, f) => `rm -rf ${a}/${f}; mkdir ${a}/${f}; echo > ${a}/${f}/.env`,
  (a, _, f) => `rm -rf ${a}/${f}; $native subvolume create ${a}/${f}; echo in > ${a}/${f}/in`,
  (a, _, f) => `rm -f ${a}/${f}; mkfifo ${a}/${f}`,
  (a) =>
    `mkdir -p ${a}/node_modules/p; echo 1 > ${a}/node_modules/p/i.js; mv ${a}/node_modules/p ${a}/was-p`,
  (a) => `chmod 750 . ${a}; cat ${a}/*`,
  () => "btrfs subvolume snapshot . ../backup-$$",
  () => "sync",
];

const folders = ["a", "b", "a/c", "b/c", "a/c/e", "b/c/e", "node_modules/m", "."];
const names = ["f", "g", ".env", "h.js"];

const someEdits = fc.array(
  fc.tuple(
    fc.constantFrom<Maker>("root", "owner"),
    fc.array(
      fc
        .tuple(
          fc.constantFrom(...edits),
          fc.constantFrom(...folders),
          fc.constantFrom(...folders),
          fc.constantFrom(...names),
          fc.constantFrom(...names),
        )
        .map(([edit, ...words]) => edit(...words)),
      { maxLength: 5 },
    ),
  ),
  { minLength: 2, maxLength: 6 },
);

function fill(fixture: ForkFixture): void {
  for (const folder of folders)
    for (const name of names) fixture.write(`${folder}/${name}`, "A=1\n");
  for (let i = 0; i < 300; i++) fixture.write(`still/d${i % 20}/f${i}.js`, `${i}\n`);
}

function perform({ workspace, nativePath }: ForkFixture, script: string): void {
  const env = { PATH: process.env["PATH"], native: nativePath };
  execFileSync("sh", ["-c", `(${script}) || true`], { cwd: workspace, env, stdio: "ignore" });
}

const [place] = forkPlaces.filter(({ backend }) => backend === "snapshot");

if (place !== undefined)
  describe("fork: a listing that begins with an earlier one", function () {
    this.timeout(180_000);

    it("is that one when nothing has changed, whoever makes it, and after reading", () => {
      using placed = new PlacedFixture(place);
      const { fixture } = placed;
      fill(fixture);
      execFileSync("mkfifo", [path.join(fixture.workspace, "pipe")]);
      const listings = new Listings(fixture);
      const first = listings.take();
      const files = first.kept;
      assert.equal(files, 0);
      for (const maker of ["root", "owner", "owner", "root"] as const) {
        const next = listings.take(maker);
        assert.equal(statSync(next.manifest).ino, statSync(first.manifest).ino, maker);
        assert.equal(next.kept, 332);
        listings.check(next, maker);
      }
      fixture.write("still/d1/f1.js", "edited\n"); // what is still in memory alone counts
      const edited = listings.take("owner");
      assert.notEqual(statSync(edited.manifest).ino, statSync(first.manifest).ino);
      listings.check(edited, "edited");
      fixture.write("still/d2/f2.js", "edited\n");
      const searched = listings.take("root");
      assert.equal(searched.kept, 331);
      listings.check(searched, "searched");
    });

    it("is the list that would be made without it, after each kind of edit", () => {
      using placed = new PlacedFixture(place);
      const { fixture } = placed;
      fill(fixture);
      const listings = new Listings(fixture);
      listings.check(listings.take(), "the first");
      for (const edit of edits) {
        const script = edit("a", "b", "f", "g");
        perform(fixture, script);
        listings.check(listings.take("root"), script);
        perform(fixture, "mv -T b/a a; mkdir -p a/c b/c; echo a > a/f; echo b > b/g");
      }
    });

    it("is the list that would be made without it, whatever was done in between", () => {
      using placed = new PlacedFixture(place);
      const { fixture } = placed;
      fc.assert(
        fc.property(someEdits, (rounds) => {
          placed.empty();
          fill(fixture);
          const listings = new Listings(fixture);
          listings.check(listings.take(), "the first");
          for (const [maker, scripts] of rounds) {
            for (const script of scripts) perform(fixture, script);
            listings.check(listings.take(maker), `${maker}: ${scripts.join("\n")}`);
          }
        }),
        { numRuns: randomRuns(8) },
      );
    });

    it("is no beginning for another subvolume in its place, for another listing or filesystem, or when something was missing", () => {
      using placed = new PlacedFixture(place);
      const { fixture } = placed;
      fill(fixture);
      const { workspace, root, nativePath } = fixture;
      const listings = new Listings(fixture);
      listings.take();
      execFileSync("btrfs", ["subvolume", "snapshot", workspace, `${workspace}-saved`]);
      writeFileSync(path.join(workspace, "still/d1/f1.js"), `"${token("g")}"\n`);
      execFileSync("mv", [workspace, `${workspace}-edited`]);
      execFileSync("mv", [`${workspace}-saved`, workspace]); // an older state, put back
      const restored = listings.take();
      assert.equal(restored.kept, 0);
      listings.check(restored, "restored");

      const again = listings.take();
      assert.equal(again.kept, 332);
      const list = (...more: string[]): Record<string, unknown> => {
        const places = ["--freeze", `${root}/x`, "--snapshot", `${root}/y`];
        const words = ["--from", workspace, "--manifest", `${root}/z`, ...places, ...more];
        const run = ["clone", "--report-fd", "1", ...words];
        const told = execFileSync(nativePath, run, { encoding: "utf8" });
        execFileSync(nativePath, ["remove", `${root}/x`, `${root}/y`], { stdio: "ignore" });
        return JSON.parse(told) as Record<string, unknown>;
      };
      const { manifest, origin = "" } = again;
      assert.equal(list("--known", manifest, "--since", origin)["kept"], 332);
      const other = list()["origin"] as string;
      assert.equal(list("--known", manifest, "--since", other)["kept"], 0); // an origin of another listing
      assert.equal(list("--known", manifest, "--since", "damaged")["kept"], 0);
      using elsewhere = new LoopFilesystem("btrfs");
      const copy = path.join(elsewhere.point, "copy");
      execFileSync("cp", [manifest, copy]);
      assert.equal(list("--known", copy, "--since", origin)["kept"], 0);
    });

    it("is kept with where it is from, and finds the secrets of each fork", async () => {
      using placed = new PlacedFixture(place);
      const { fixture } = placed;
      fill(fixture);
      const masks = async (): Promise<string[]> => {
        const forked = await fixture.fork("snapshot");
        const values = maskedSecrets(forked.paths.state).map(({ value }) => value);
        assert.deepEqual(await forked.changeLines(), []);
        await forked.remove();
        return values.filter((value) => value !== "1");
      };
      const kept = (): string => {
        const directory = path.join(fixture.home, "listings");
        const [name = ""] = readdirSync(directory).filter((one) => !one.includes("."));
        return path.join(directory, name);
      };
      assert.deepEqual(await masks(), []);
      const { ino } = statSync(kept());
      const origin = readFileSync(`${kept()}.origin`, "utf8");
      assert.deepEqual(await masks(), []);
      assert.equal(statSync(kept()).ino, ino);
      assert.notEqual(readFileSync(`${kept()}.origin`, "utf8"), origin);
      fixture.write("still/d3/f3.js", `"${token("h")}"\n`);
      assert.deepEqual(await masks(), [token("h")]);
      assert.deepEqual(await masks(), [token("h")]); // it is in the listing
      writeFileSync(kept(), readFileSync(kept()).subarray(0, 5000));
      assert.deepEqual(await masks(), [token("h")]); // cut off
      assert.ok(existsSync(`${kept()}.origin`));
    });
  });
