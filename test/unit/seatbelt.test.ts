import assert from "node:assert/strict";
import { Failure } from "../../src/base/errors.ts";
import { seatbeltCommand, seatbeltProfile } from "../../src/node/sandbox/seatbelt.ts";
import type { SandboxSpec } from "../../src/runtime/ports.ts";

const root = "/Users/ann/.local/state/holdfast/transactions/1";

const spec: SandboxSpec = {
  workspace: "/Users/ann/project",
  fork: {
    backend: "clone",
    shadow: `${root}/state/shadow`,
    overlays: [],
    manifest: `${root}/state/manifest`,
    forkMs: 1,
    files: 1,
    bytes: 1,
    notes: [],
  },
  paths: { root, base: `${root}/base`, door: `${root}/door`, state: `${root}/state` },
  launch: {
    argv: ["/opt/agent/bin/agent", "-p", "x"],
    env: {},
    files: [],
    readOnly: ["/opt/agent"],
    modelHosts: [],
  },
  cwd: "/Users/ann/project",
};

const places = {
  home: "/private/tmp/hf/home",
  temporary: "/private/tmp/hf/tmp",
  bridgePort: 61080,
};

/** Rules of the profile in order, one a line. */
const rules = (changed: Partial<SandboxSpec> = {}): readonly string[] =>
  seatbeltProfile({ ...spec, ...changed }, places)
    .trimEnd()
    .split("\n");

const count = (text: string, sign: string): number => text.split(sign).length - 1;

describe("Seatbelt profile", () => {
  it("denies what it does not name", () => {
    assert.deepEqual(rules().slice(0, 2), ["(version 1)", "(deny default)"]);
    assert.ok(
      !rules().some((rule) =>
        /^\(allow (default|file-read\*|file-write\*|network\*?)\)$/.test(rule),
      ),
    );
  });

  it("writes the shadow, its own home and temporary directory, nothing else", () => {
    const writes = rules().filter((rule) => rule.startsWith("(allow file-write*"));
    const named = writes.flatMap((rule) =>
      [...rule.matchAll(/subpath "([^"]+)"/g)].map((match) => match[1]),
    );
    assert.deepEqual([...new Set(named)], [spec.fork.shadow, places.home, places.temporary]);
  });

  it("writes no shadow for checks", () => {
    const writes = rules({ shadowReadOnly: true }).filter((rule) =>
      rule.startsWith("(allow file-write*"),
    );
    assert.ok(!writes.some((rule) => rule.includes(spec.fork.shadow)));
  });

  it("reads neither the home nor the workspace of the person", () => {
    for (const rule of rules().filter((one) => one.startsWith("(allow file-read* ")))
      for (const hidden of [
        '"/Users"',
        '"/Users/ann"',
        '"/Users/ann/project"',
        '"/private/var"',
        '"/"',
      ])
        assert.ok(!rule.includes(`subpath ${hidden}`), `${hidden} in ${rule}`);
  });

  it("hides the state again after all that it allows, the shadow in it excepted", () => {
    const all = rules();
    const denied = all.findIndex((rule) => rule.startsWith("(deny file-read* file-write*"));
    const allowed = all.findIndex(
      (rule) => rule === `(allow file-read* (subpath "${spec.fork.shadow}"))`,
    );
    assert.ok(denied > all.findIndex((rule) => rule.startsWith("(allow file-write*")));
    assert.ok(allowed > denied);
    for (const secret of [
      spec.paths.state,
      spec.paths.base,
      `${root}/journal.jsonl`,
      `${root}/control.sock`,
    ])
      assert.ok(all[denied]?.includes(`"${secret}"`), secret);
  });

  it("leads out by loopback and the door alone", () => {
    const network = rules().filter((rule) => rule.includes("network"));
    assert.deepEqual(network, [
      "(deny network*)",
      '(allow network-bind network-inbound (local ip "localhost:*"))',
      `(allow network-outbound (remote ip "localhost:61080") (literal "${root}/door/agent.sock"))`,
    ]);
    assert.ok(!rules({ door: false }).some((rule) => rule.includes("network-outbound")));
  });

  it("quotes paths, and refuses those that cannot be", () => {
    const launch = { ...spec.launch, readOnly: ['/opt/a "b" \\c'] };
    const text = seatbeltProfile({ ...spec, launch }, places);
    assert.ok(text.includes('(subpath "/opt/a \\"b\\" \\\\c")'));
    assert.equal(count(text, "("), count(text, ")"));
    const evil = { ...spec.launch, readOnly: ['/opt/x")\n(allow default)'] };
    assert.throws(() => seatbeltProfile({ ...spec, launch: evil }, places), Failure);
  });

  it("refuses overlays", () => {
    const fork = { ...spec.fork, overlays: [{ at: "a", lower: "/l", upper: "/u", work: "/w" }] };
    assert.throws(() => seatbeltProfile({ ...spec, fork }, places), /overlay/);
  });

  it("runs the launch under the profile", () => {
    assert.deepEqual(seatbeltCommand(spec, "/p.sb"), [
      ...["/usr/bin/sandbox-exec", "-f", "/p.sb", "--"],
      ...spec.launch.argv,
    ]);
  });
});
