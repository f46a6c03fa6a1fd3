import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { ForkFixture } from "../support/forkFixture.ts";
import { forkPlaces, PlacedFixture, type ForkPlace } from "../support/forkPlaces.ts";
import { HeldOverlays } from "../support/heldOverlays.ts";
import { Points } from "../support/savePoints.ts";
import {
  actExactly,
  randomRuns,
  type Seen,
  someEditOfAnyKind,
  someTree,
  type TreeEdit,
} from "../support/treeOracle.ts";

/** For others than root an overlay gives names of one file different inode numbers, and there is no telling that they are. */
const tellsInodes = process.getuid?.() === 0;

/** A fork in a place, looked at as the agent sees it. */
class Shadow {
  readonly points: Points;
  readonly #root: string;
  readonly #held: HeldOverlays | undefined;

  private constructor(points: Points, root: string, held: HeldOverlays | undefined) {
    this.points = points;
    this.#root = root;
    this.#held = held;
  }

  static async of({ fixture }: PlacedFixture, { backend }: ForkPlace): Promise<Shadow> {
    const forked = await fixture.fork(backend);
    const { shadow, overlays } = forked.fork;
    const points = new Points(fixture, forked);
    if (overlays.length === 0) return new Shadow(points, shadow, undefined);
    const held = await HeldOverlays.mount(fixture.nativePath, forked.fork);
    return new Shadow(points, held.root, held);
  }

  act(edits: readonly TreeEdit[]): Seen {
    const seen = actExactly(this.#root, edits);
    if (this.#held === undefined || tellsInodes) return seen;
    return new Map([...seen].map(([one, line]) => [one, line.replace(/ = .*$/s, "")]));
  }

  /** What a shell does in it, and what is there then. */
  run(script: string): Seen {
    execFileSync("sh", ["-ec", script], { cwd: this.#root });
    return this.act([]);
  }

  /** Each in a folder of its own: `c0`, `c1`, … */
  runEach(scripts: readonly string[]): Seen {
    for (const [i, script] of scripts.entries())
      execFileSync("sh", ["-ec", script], { cwd: path.join(this.#root, `c${i}`) });
    return this.act([]);
  }

  async goTo(savepoint: string): Promise<string> {
    return (await this.points.restore(savepoint, this.#held?.hostView)).savepoint;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#held?.[Symbol.asyncDispose]();
  }
}

/** Names of one file, as `a = b`, at the end of what is seen. */
function linksIn(seen: Seen): readonly string[] {
  const groups = [...seen.values()].flatMap((line) => / = (.*)$/.exec(line)?.[1] ?? []);
  return [...new Set(groups)].sort();
}

/** What a workspace begins with, what the agent does before and after the savepoint, and the links there are at it. */
interface LinkCase {
  readonly name: string;
  readonly base: string;
  readonly before: string;
  readonly after: string;
  readonly links: readonly string[];
  /** The links where an overlay has parted them already. */
  readonly overlaid?: readonly string[];
}

const pair = "echo one > a; ln a b";
const linkCases: readonly LinkCase[] = [
  {
    name: "edited through one name",
    base: pair,
    before: "true",
    after: "echo two > a",
    links: ["a = b"],
  },
  { name: "one name deleted", base: pair, before: "true", after: "rm a", links: ["a = b"] },
  { name: "both names deleted", base: pair, before: "true", after: "rm a b", links: ["a = b"] },
  { name: "parted", base: pair, before: "true", after: "rm a; cp -p b a", links: ["a = b"] },
  {
    name: "parted, with another mode",
    base: pair,
    before: "true",
    after: "rm a; cp b a; chmod 600 b",
    links: ["a = b"],
  },
  {
    name: "joined with a third",
    base: `${pair}; echo x > c`,
    before: "true",
    after: "ln -f a c",
    links: ["a = b"],
  },
  {
    name: "names exchanged",
    base: `${pair}; echo x > c; ln c d`,
    before: "true",
    after: "mv a t; mv c a; mv t c",
    links: ["a = b", "c = d"],
  },
  {
    name: "moved on to another inode's names",
    base: `${pair}; cp a c; ln c d`,
    before: "true",
    after: "ln -f c a; ln -f d b",
    links: ["a = b", "c = d"],
  },
  {
    name: "made by the agent and parted",
    base: "echo one > a",
    before: "ln a b",
    after: "rm a; cp b a",
    links: ["a = b"],
  },
  {
    name: "made by the agent, edited and parted",
    base: "true",
    before: pair,
    after: "rm b; echo two > b; rm a",
    links: ["a = b"],
  },
  {
    name: "edited before, and then deleted",
    base: pair,
    before: "cat a b > c; mv c a; ln -f a b",
    after: "rm a b",
    links: ["a = b"],
  },
  {
    name: "parted by the agent and joined",
    base: pair,
    before: "rm a; cp -p b a",
    after: "ln -f b a",
    links: [],
  },
  {
    name: "three names over two directories",
    base: "mkdir d e; echo one > d/a; ln d/a d/b; ln d/a e/c",
    before: "true",
    after: "rm -r e; echo two > d/a; rm d/b",
    links: ["d/a = d/b = e/c"],
  },
  {
    name: "a directory of it gone and made again",
    base: "true",
    before: "mkdir -p d/e; echo one > d/e/a; ln d/e/a b",
    after: "rm -r d; mkdir d; echo > d/e",
    links: ["b = d/e/a"],
  },
  {
    name: "a name in an ignored directory",
    base: "mkdir out; echo out/ > .gitignore; echo one > a; ln a out/a",
    before: "true",
    after: "rm -r out; echo two >> a",
    links: ["a = out/a"],
  },
  {
    name: "a name that hides secrets",
    base: "echo 'API_KEY=sk_live_abcdefghijklmnopqrstu' > .env; ln .env settings",
    before: "true",
    after: "rm settings",
    links: [".env = settings"],
    overlaid: [],
  },
  {
    name: "symbolic links",
    base: "true",
    before: "ln -s gone a; ln a b",
    after: "rm a; ln -s gone a",
    links: ["a = b"],
  },
];

const listen =
  "require('net').createServer().listen('so', () => process.kill(process.pid, 'SIGKILL'))";
const socket = `"${process.execPath}" -e "${listen}" 2>/dev/null || true; chmod 751 so`;

describe("fork: a restored savepoint is what it was", () => {
  for (const place of forkPlaces) {
    describe(place.name, () => {
      it("any tree: contents, modes, links, times, FIFOs; and back", async () => {
        using placed = new PlacedFixture(place);
        const edits = fc.array(someEditOfAnyKind, { maxLength: 12 });
        const property = fc.asyncProperty(someTree, edits, edits, edits, async (tree, ...steps) => {
          placed.empty();
          const [more, ...rest] = steps;
          actExactly(placed.fixture.workspace, [...tree, ...more]);
          await using shadow = await Shadow.of(placed, place);
          const states: Seen[] = [];
          for (const some of [[], ...rest]) {
            states.push(shadow.act(some));
            await shadow.points.take("point");
          }
          for (const index of [0, 2, 1]) {
            const now = shadow.act([]);
            const left = await shadow.goTo(`s${index + 1}`);
            assert.deepEqual(shadow.act([]), states[index]);
            if (index !== 2) continue;
            await shadow.goTo(left);
            assert.deepEqual(shadow.act([]), now);
          }
        });
        await fc.assert(property, { numRuns: randomRuns(place.filesystem === undefined ? 2 : 1) });
      });

      it("names of one file, however they were parted and joined", async () => {
        using placed = new PlacedFixture(place);
        const { workspace } = placed.fixture;
        execFileSync("git", ["init", "-q"], { cwd: workspace });
        for (const [i, { base }] of linkCases.entries()) {
          mkdirSync(path.join(workspace, `c${i}`));
          execFileSync("sh", ["-ec", base], { cwd: path.join(workspace, `c${i}`) });
        }
        await using shadow = await Shadow.of(placed, place);
        const first = shadow.runEach(linkCases.map(({ before }) => before));
        await shadow.points.take("first");
        const wanted = linkCases.flatMap(({ links, overlaid }, i) => {
          if (place.backend === "overlay" && !tellsInodes) return [];
          const those = place.backend === "overlay" ? (overlaid ?? links) : links;
          return those.map((link) => link.replaceAll(/[^ =]+/g, (one) => `c${i}/${one}`));
        });
        assert.deepEqual(linksIn(first), wanted.sort());
        const second = shadow.runEach(linkCases.map(({ after }) => after));
        const left = await shadow.goTo("s1");
        assert.deepEqual(shadow.act([]), first);
        await shadow.goTo(left);
        assert.deepEqual(shadow.act([]), second);
      });

      it("what the fork itself has hidden is no change", async () => {
        using placed = new PlacedFixture(place);
        placed.fixture.write(".env", "API_KEY=sk_live_abcdefghijklmnopqrstu\n");
        placed.fixture.write("d/a", "one\n");
        execFileSync("sh", ["-ec", "ln .env settings; ln d/a d/b; mkfifo p"], {
          cwd: placed.fixture.workspace,
        });
        await using shadow = await Shadow.of(placed, place);
        const first = shadow.act([]);
        assert.equal(await shadow.points.take(), undefined);
        await shadow.points.take("first");
        shadow.run("rm .env settings; cp d/a .env; ln .env settings");
        await shadow.goTo("s1");
        assert.deepEqual(shadow.act([]), first);
        assert.deepEqual(shadow.points.list(), ["s1 0 first", "s2 2 before going back to s1"]);
      });

      it("times to the nanosecond, and FIFOs and sockets", async () => {
        using placed = new PlacedFixture(place);
        const touch = (digits: string, ...names: readonly string[]): string =>
          `touch -h -d @1600000000.${digits} ${names.join(" ")}`;
        const base = `mkdir d e; echo > d/a; echo > b; ln -s b l; mkfifo p; ${touch("123456789", "d/a", "b", "l", "d", "e", "p", ".")}`;
        execFileSync("sh", ["-ec", base], { cwd: placed.fixture.workspace });
        await using shadow = await Shadow.of(placed, place);
        const states = [shadow.run("")];
        await shadow.points.take("base");
        states.push(
          shadow.run(
            `echo new > d/n; ln -s n d/m; mkfifo -m 640 d/q; echo x > b; rm -f p; mkdir f; ${touch("987654321", "d/n", "d/m", "d/q", "d/a", "b", "f", "d")}`,
          ),
        );
        await shadow.points.take("one");
        states.push(
          shadow.run(`rm -r d f b l; mkfifo r d; echo p > p; ${socket}; touch e; echo > b`),
        );
        await shadow.points.take("two");
        for (const index of [1, 0, 2, 0, 1, 2]) {
          await shadow.goTo(`s${index + 1}`);
          assert.deepEqual(shadow.act([]), states[index]);
        }
      });
    });
  }

  it("in folders that are read-only, then or now", async () => {
    using fixture = new ForkFixture();
    for (const name of ["now/a", "then/a", "both/a", "both/b/c"]) fixture.write(name, "one\n");
    execFileSync("chmod", ["555", path.join(fixture.workspace, "both")]);
    const forked = await fixture.fork("clone");
    const points = new Points(fixture, forked);
    const run = (script: string): Seen => {
      execFileSync("sh", ["-ec", script], { cwd: forked.fork.shadow });
      return actExactly(forked.fork.shadow, []);
    };
    const first = run("chmod 555 then; chmod u+w both; echo two > both/a; chmod 555 both both/b");
    await points.take("first");
    const second = run(
      "chmod u+w then both both/b; rm -r now/a then/a both/b; echo > now/n; echo > both/n; chmod 500 now both",
    );
    const { savepoint } = await points.restore("s1");
    assert.deepEqual(run("true"), first);
    await points.restore(savepoint);
    assert.deepEqual(run("true"), second);
  });

  it("one that an earlier version took leaves alone what it did not tell of", async () => {
    using fixture = new ForkFixture();
    fixture.write("a", "one\n");
    const forked = await fixture.fork("clone");
    const points = new Points(fixture, forked);
    const shadow = forked.fork.shadow;
    execFileSync("sh", ["-c", "mkdir d; echo > d/b; ln d/b c"], { cwd: shadow });
    await points.take();
    const file = path.join(forked.paths.state, "savepoints/s1.json");
    const text = readFileSync(file, "utf8")
      .replace(',"exact":true', "")
      .replaceAll(/,"mtime":"\d+"/g, "")
      .replaceAll(/\["[^"]*",\{"is":"same"\}\],?/g, "");
    assert.doesNotMatch(text, /exact|mtime|same/);
    writeFileSync(file, text.replace(/,\]/, "]"));
    execFileSync("sh", ["-c", "mkfifo p; rm -r d; echo > c; touch -d @1000 a"], { cwd: shadow });
    await points.restore("s1");
    const seen = actExactly(shadow, []);
    assert.deepEqual([...seen.keys()].sort(), ["", "a", "c", "d", "d/b", "p"]);
    assert.deepEqual(linksIn(seen), ["c = d/b"]);
    assert.match(seen.get("a") ?? "", / 1000000000000$/);
  });
});
