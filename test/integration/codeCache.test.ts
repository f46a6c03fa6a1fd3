import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { builtCommand } from "../support/holdfastCommand.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

/** Both programs are as long as each other: V8 compares the length of a source alone. */
const program = 'process.stdout.write("the bundle");';
const counterfeit = 'process.stdout.write("the cached");';

describe("cache of compiled code", () => {
  const newFolder = temporaryFolders();
  let home = "";
  let bundle = "";
  let start = "";

  beforeEach(() => {
    const place = newFolder();
    home = path.join(place, "home");
    fs.mkdirSync(home, { recursive: true, mode: 0o700 });
    start = path.join(place, "holdfast.cjs");
    bundle = path.join(place, "command.cjs");
    fs.copyFileSync(builtCommand, start);
    fs.writeFileSync(bundle, program);
  });

  const run = (more: Readonly<Record<string, string>> = {}): string =>
    execFileSync(process.execPath, [start], {
      encoding: "utf8",
      env: { PATH: process.env["PATH"], HOLDFAST_HOME: home, ...more },
    });
  const cache = (): string => path.join(home, "cache");
  const entries = (): string[] => fs.readdirSync(cache()).map((name) => path.join(cache(), name));

  /** What the cache has is the compiled code of another program. */
  function exchange(): string {
    run();
    const [entry = ""] = entries();
    const wrapped = `(function (exports, require, module, __filename, __dirname) { ${counterfeit}\n})`;
    const compile =
      "process.stdout.write(new vm.Script(process.argv[1], { filename: process.argv[2] }).createCachedData())";
    const data = execFileSync(process.execPath, ["-e", compile, wrapped, bundle]);
    // As one to which nobody adds any more: else each run would put what it ran in its place.
    const rest = Buffer.concat([Buffer.of(255), Buffer.alloc(11), data]);
    const digest = createHash("sha1").update(rest).digest();
    fs.writeFileSync(entry, Buffer.concat([digest, rest]));
    return entry;
  }

  it("is kept for our user alone", () => {
    assert.equal(run(), "the bundle");
    assert.equal(fs.statSync(cache()).mode & 0o777, 0o700);
    assert.deepEqual(
      entries().map((one) => fs.statSync(one).mode & 0o777),
      [0o600],
    );
    assert.equal(run(), "the bundle");
    assert.equal(entries().length, 1);
  });

  it("is what runs the next time", () => {
    exchange();
    assert.equal(run(), "the cached");
  });

  it("takes in what later processes compile, a few times", () => {
    const called = "function called() { return [1, 2, 3].map((one) => one * 2).join(); } called();";
    fs.writeFileSync(bundle, `if (process.env.CALL) { ${called} } ${program}`);
    run();
    const [entry = ""] = entries();
    const size = (): number => fs.statSync(entry).size;
    const first = size();
    run();
    assert.equal(size(), first, "nothing else ran");
    run({ CALL: "1" });
    const grown = size();
    assert.ok(grown > first, "a function more is compiled");
    for (let round = 0; round < 10; round++) run();
    assert.equal(size(), grown, "what others do not call stays");
    const last = fs.statSync(entry).mtimeMs;
    assert.equal(run({ CALL: "1" }), "the bundle");
    assert.equal(fs.statSync(entry).mtimeMs, last, "enough have added to it");
    assert.equal(entries().length, 1);
  });

  it("is not brought back where it was removed while the program ran", () => {
    const clear = `require("fs").rmSync(${JSON.stringify(cache())}, { recursive: true });`;
    fs.writeFileSync(bundle, `if (process.env.CLEAR) { ${clear} } ${program}`);
    run();
    assert.equal(run({ CLEAR: "1" }), "the bundle");
    assert.equal(fs.existsSync(cache()), false);
  });

  it("counts for nothing once the bundle is another", () => {
    exchange();
    fs.writeFileSync(`${bundle}.new`, program.replace("bundle", "second"));
    fs.renameSync(`${bundle}.new`, bundle);
    assert.equal(run(), "the second");
  });

  const spoilt: Readonly<Record<string, (entry: string) => void>> = {
    "others can read the entry": (entry) => fs.chmodSync(entry, 0o644),
    "others can write the entry": (entry) => fs.chmodSync(entry, 0o622),
    "others can write its directory": () => fs.chmodSync(cache(), 0o777),
    "others can write the home": () => fs.chmodSync(home, 0o777),
    "the entry is a link": (entry) => {
      fs.renameSync(entry, path.join(home, "elsewhere"));
      fs.symlinkSync(path.join(home, "elsewhere"), entry);
    },
    "its directory is a link": () => {
      fs.renameSync(cache(), path.join(home, "elsewhere"));
      fs.symlinkSync(path.join(home, "elsewhere"), cache());
    },
    "the entry is damaged": (entry) => {
      const bytes = fs.readFileSync(entry);
      bytes.writeUInt8((bytes.at(-1) ?? 0) ^ 1, bytes.length - 1);
      fs.writeFileSync(entry, bytes);
    },
    "the entry is cut off": (entry) => fs.truncateSync(entry, 10),
    "the entry is a pipe": (entry) => {
      fs.rmSync(entry);
      execFileSync("mkfifo", [entry]);
    },
  };
  for (const [what, spoil] of Object.entries(spoilt))
    it(`is not taken when ${what}`, () => {
      spoil(exchange());
      assert.equal(run(), "the bundle");
    });

  it("leaves nothing where there is no home", () => {
    fs.rmdirSync(home);
    assert.equal(run(), "the bundle");
    assert.equal(fs.existsSync(home), false);
  });

  it("forgets what no process has made for a month", () => {
    run();
    const old = path.join(cache(), "command-of-yesteryear");
    fs.writeFileSync(old, "");
    const long = new Date(Date.now() - 40 * 24 * 60 * 60 * 1000);
    fs.utimesSync(old, long, long);
    fs.appendFileSync(bundle, " ");
    run();
    assert.equal(fs.existsSync(old), false);
  });
});
