import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat, chmod, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import type { Failure } from "../../src/base/errors.ts";
import { ByteMatcher, ByteReplacer } from "../../src/node/secrets/byteMatcher.ts";
import { keyringStore, runProgram, type RunProgram } from "../../src/node/secrets/keyring.ts";
import { placeholderOf, spellingsOf } from "../../src/node/secrets/placeholder.ts";
import { formsOf } from "../../src/node/secrets/secretForms.ts";
import {
  forgetRemoved,
  listSecrets,
  loadSecrets,
  removeSecret,
  setSecret,
} from "../../src/node/secrets/secretStore.ts";
import { SecretLeak, Vault, type Position } from "../../src/node/secrets/vault.ts";

/** Feeds a text through a replacer in pieces of the given sizes. */
function inPieces(replacer: ByteReplacer, text: Buffer, sizes: readonly number[]): string {
  const out: Buffer[] = [];
  let at = 0;
  for (const size of sizes) {
    out.push(replacer.write(text.subarray(at, at + size)));
    at += size;
  }
  out.push(replacer.write(text.subarray(at)), replacer.end());
  return Buffer.concat(out).toString("latin1");
}

describe("secrets: matching", () => {
  it("replaces the same however the stream is cut", () => {
    const words = fc.array(fc.stringMatching(/^[ab]{2,5}$/), { minLength: 1, maxLength: 4 });
    const text = fc.stringMatching(/^[abc]{0,60}$/);
    fc.assert(
      fc.property(
        words,
        text,
        fc.array(fc.integer({ min: 0, max: 9 })),
        (patterns, input, sizes) => {
          const matcher = new ByteMatcher(
            patterns.map((word) => ({ bytes: Buffer.from(word), wordEnd: false })),
          );
          const make = (): ByteReplacer => new ByteReplacer(matcher, () => Buffer.from("#"));
          const bytes = Buffer.from(input);
          const whole = inPieces(make(), bytes, []);
          assert.equal(inPieces(make(), bytes, sizes), whole);
          for (const word of patterns) assert.ok(!whole.includes(word));
        },
      ),
    );
  });

  it("skips nothing that it would find byte by byte", () => {
    const word = fc.stringMatching(/^[abc]{2,9}$/);
    const words = fc.array(fc.record({ text: word, wordEnd: fc.boolean() }), {
      minLength: 1,
      maxLength: 5,
    });
    const piece = fc.oneof(word, fc.stringMatching(/^[abcxyz. ]{0,40}$/));
    fc.assert(
      fc.property(
        words,
        fc.array(piece, { maxLength: 12 }),
        fc.array(fc.integer({ min: 0, max: 60 })),
        (patterns, pieces, sizes) => {
          const matcher = new ByteMatcher(
            patterns.map(({ text, wordEnd }) => ({ bytes: Buffer.from(text), wordEnd })),
          );
          const found: number[][] = [[], []];
          const make = (which: 0 | 1): ByteReplacer =>
            new ByteReplacer(matcher, (pattern) => {
              found[which]?.push(pattern);
              return Buffer.from("#");
            });
          const bytes = Buffer.from(pieces.join(""));
          const single = inPieces(make(0), bytes, new Array<number>(bytes.length).fill(1));
          assert.equal(inPieces(make(1), bytes, sizes), single);
          assert.deepEqual(found[1], found[0]);
          assert.equal(matcher.find(bytes), found[0]?.[0] ?? -1);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("takes a word pattern only where the word ends", () => {
    const matcher = new ByteMatcher([
      { bytes: Buffer.from("$AB"), wordEnd: true },
      { bytes: Buffer.from("$AB_C"), wordEnd: true },
    ]);
    const cases = {
      "$AB.": "0.",
      $AB: "0",
      $AB_C: "1",
      $AB_: "$AB_",
      $AB_CD: "$AB_CD",
      $AB$AB: "00",
    };
    for (const [input, wanted] of Object.entries(cases)) {
      const replacer = new ByteReplacer(matcher, (index) => Buffer.from(String(index)));
      assert.equal(inPieces(replacer, Buffer.from(input), [1, 1, 1, 1]), wanted, input);
    }
  });
});

describe("secrets: the vault", () => {
  const destination = { host: "api.example.com", port: 443, path: "/v1/x" };
  const secret = (value: string) =>
    new Vault([{ name: "S", value, bindings: [{ host: "*.example.com" }] }]);

  it("finds any value in any of its forms, wherever it stands", () => {
    const values = fc.string({ minLength: 8, maxLength: 60, unit: "grapheme" });
    const noise = fc.string({ maxLength: 12 });
    fc.assert(
      fc.property(values, noise, noise, (value, before, after) => {
        if (Buffer.byteLength(value) < 8) return;
        const vault = secret(value);
        const bytes = Buffer.from(before + value + after);
        const shapes = [
          before + value + after,
          JSON.stringify(before + value + after),
          encodeURIComponent(value),
          new URLSearchParams({ v: value }).toString(),
          bytes.toString("base64"),
          bytes.toString("base64url"),
          bytes.toString("hex"),
        ];
        for (const shape of shapes) assert.equal(vault.leakIn(shape), "S", shape);
        assert.ok(!vault.scrub(before + value + after).includes(value));
      }),
      { numRuns: 40 },
    );
  });

  it("watches long values by their slices", () => {
    const key = Array.from(
      { length: 60 },
      (_, index) => `line ${String(index * 7919)} of a key`,
    ).join("\n");
    assert.equal(secret(key).leakIn(key.slice(300, 700)), "S");
    assert.equal(secret(key).leakIn(Buffer.from(key).toString("base64")), "S");
    assert.deepEqual(formsOf("short"), []);
  });

  const places: [string, string, number, string, Position, boolean][] = [
    ["*.example.com", "api.example.com", 443, "/", "header", true],
    ["*.example.com", "example.com", 443, "/", "header", false],
    ["*.example.com", "evilexample.com", 443, "/", "header", false],
    ["api.example.com", "api.example.com.evil.test", 443, "/", "header", false],
  ];
  for (const [binding, host, port, path, position, filled] of places) {
    it(`${filled ? "fills" : "does not fill"} a secret of ${binding} toward ${host}`, () => {
      const vault = new Vault([{ name: "S", value: "value-0123", bindings: [{ host: binding }] }]);
      const text = vault.fill(
        "x $HOLDFAST_SECRET_S",
        { host, port, path },
        position,
        "none",
        () => undefined,
      );
      assert.equal(text, filled ? "x value-0123" : "x $HOLDFAST_SECRET_S");
    });
  }

  it("fills every spelling of a placeholder, escaped for its place", () => {
    for (const { text } of spellingsOf("S")) {
      const vault = secret('a"b&c d/0123');
      const json = vault.fill(`"${text}"`, destination, "body", "json", () => undefined);
      if (!text.includes("%")) assert.equal(JSON.parse(json), 'a"b&c d/0123');
      const query = vault.fill(`k=${text}`, destination, "query", "percent", () => undefined);
      assert.equal(new URLSearchParams(query).get("k"), 'a"b&c d/0123');
    }
  });

  it("refuses what no header can carry, and stops at a leak", () => {
    const lines = secret("line one\nline two");
    assert.throws(
      () => lines.fillHeader(placeholderOf("S"), destination, () => undefined),
      /line breaks/,
    );
    assert.throws(
      () => secret("value-0123").fill("value-0123", destination, "body", "none", () => undefined),
      SecretLeak,
    );
  });
});

describe("secrets: the store", () => {
  let home: string;
  beforeEach(async () => {
    home = await mkdtemp(path.join(tmpdir(), "holdfast-secrets-"));
  });
  afterEach(async () => await rm(home, { recursive: true }));

  it("keeps, lists without values, loads and removes", async () => {
    await setSecret(home, "ONE", ["API.example.com", "*.example.org:8443/v1/"], {
      keep: "file",
      value: "v1",
    });
    await setSecret(home, "TWO", ["x.test"], { variable: "FROM_HERE" });
    await setSecret(home, "THREE", ["x.test"], { command: ["printf", "printed"] });
    const file = path.join(home, "secrets.json");
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const listed = await listSecrets(home);
    assert.deepEqual(listed, [
      { name: "ONE", hosts: ["api.example.com", "*.example.org:8443/v1/"], from: "file" },
      { name: "THREE", hosts: ["x.test"], from: "command" },
      { name: "TWO", hosts: ["x.test"], from: "environment" },
    ]);
    const loaded = await loadSecrets(home, ["ONE", "TWO", "THREE"], { FROM_HERE: "v2" });
    assert.deepEqual(
      loaded.map(({ name, value }) => [name, value]),
      [
        ["ONE", "v1"],
        ["TWO", "v2"],
        ["THREE", "printed"],
      ],
    );
    await removeSecret(home, "ONE");
    assert.ok(!(await readFile(file, "utf8")).includes("v1"));
    await assert.rejects(removeSecret(home, "ONE"), { code: "no-secret" });
  });

  const refusals: [string, string[], string, string][] = [
    ["lower", ["x.test"], "v", "bad-secret-name"],
    ["A B", ["x.test"], "v", "bad-secret-name"],
    ["NAME", [], "v", "no-secret-host"],
    ["NAME", ["*"], "v", "bad-secret-host"],
    ["NAME", ["*.com"], "v", "bad-secret-host"],
    ["NAME", ["a b"], "v", "bad-secret-host"],
    ["NAME", ["https://x.test"], "v", "bad-secret-host"],
    ["NAME", ["x.test"], "", "empty-secret"],
  ];
  for (const [name, hosts, value, code] of refusals) {
    it(`refuses ${name} for ${hosts.join()} as ${code}`, async () => {
      await assert.rejects(setSecret(home, name, hosts, { keep: "file", value }), { code });
    });
  }

  it("tells a command that prints nothing, fails or is not there, and never what it printed", async () => {
    const cases: [argv: string[], code: string][] = [
      [["true"], "secret-missing"],
      [["sh", "-c", "printf half; exit 3"], "secret-missing"],
      [["sh", "-c", "printf half; kill -9 $$"], "secret-missing"],
      [["head", "-c", "9000000", "/dev/zero"], "secret-missing"],
      [["nonesuch-program"], "no-keyring"],
      [["/etc"], "no-keyring"],
    ];
    for (const [command, code] of cases) {
      await setSecret(home, "FAILS", ["x.test"], { command });
      await assert.rejects(loadSecrets(home, ["FAILS"], {}), (error: Failure) => {
        assert.equal(error.code, code, command.join(" "));
        assert.doesNotMatch(error.line, /half/);
        return true;
      });
    }
  });

  it("hands a command no input, and a keyring's program all of it", async () => {
    const long = "x".repeat(300_000);
    assert.deepEqual(await runProgram(["cat"], long), { exitCode: 0, stdout: long });
    assert.deepEqual(await runProgram(["sh", "-c", "exit 7"], long), { exitCode: 7, stdout: "" });
  });

  it("refuses a file that others can read, or that is a link", async () => {
    await setSecret(home, "ONE", ["x.test"], { keep: "file", value: "v1" });
    const file = path.join(home, "secrets.json");
    await chmod(file, 0o644);
    await assert.rejects(listSecrets(home), { code: "secrets-not-private" });
    await rm(file);
    await symlink("/etc/hostname", file);
    await assert.rejects(listSecrets(home), { code: "secrets-unreadable" });
  });

  it("has the editor forget the values of secrets that the command line removed, and no others", async () => {
    const values = new Map<string, string>();
    const editor = {
      read: (name: string) => Promise.resolve(values.get(name)),
      write: (name: string, value: string) => Promise.resolve(void values.set(name, value)),
      remove: (name: string) => Promise.resolve(void values.delete(name)),
    };
    for (const name of ["KEPT", "REMOVED", "MOVED"])
      await setSecret(
        home,
        name,
        ["x.test"],
        { keep: "editor", value: `${name}-value` },
        { editor },
      );
    assert.equal((await removeSecret(home, "REMOVED")).from, "editor");
    await setSecret(home, "MOVED", ["x.test"], { variable: "MOVED" });
    assert.equal(values.size, 3);
    assert.deepEqual(await forgetRemoved(home, [...values.keys()], editor), ["KEPT"]);
    assert.deepEqual([...values.keys()], ["KEPT"]);
    await chmod(path.join(home, "secrets.json"), 0o644);
    await assert.rejects(forgetRemoved(home, ["KEPT"], editor), { code: "secrets-not-private" });
    assert.deepEqual([...values.keys()], ["KEPT"]);
  });

  it("keeps values in the keyring, on standard input only", async () => {
    const ring = new Map<string, string>();
    const argvs: string[] = [];
    const run: RunProgram = (argv, input) => {
      argvs.push(argv.join(" "));
      const name = argv.at(-1) ?? "";
      if (argv[1] === "store") ring.set(name, input);
      if (argv[1] === "clear") ring.delete(name);
      return Promise.resolve({
        exitCode: 0,
        stdout: argv[1] === "lookup" ? (ring.get(name) ?? "") : "",
      });
    };
    const stores = { keyring: keyringStore(run, "linux") };
    await setSecret(home, "RING", ["x.test"], { keep: "keyring", value: "ring-value" }, stores);
    assert.equal((await loadSecrets(home, ["RING"], {}, stores))[0]?.value, "ring-value");
    await removeSecret(home, "RING", stores);
    assert.equal(ring.size, 0);
    assert.ok(!argvs.join("\n").includes("ring-value"));
  });
});
