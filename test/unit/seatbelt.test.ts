import assert from "node:assert/strict";
import fc from "fast-check";
import { Failure } from "../../src/base/errors.ts";
import { seatbeltCommand, seatbeltPlan } from "../../src/node/sandbox/seatbelt/seatbeltPlan.ts";
import { seatbeltProfile } from "../../src/node/sandbox/seatbelt/seatbeltProfile.ts";
import { parseProcesses, ProcessFamily } from "../../src/node/sandbox/seatbelt/processTable.ts";
import type { SeatbeltPlaces, SeatbeltPlan } from "../../src/node/sandbox/seatbelt/seatbeltPlan.ts";
import type { SandboxSpec } from "../../src/runtime/ports.ts";
import { judge, type Asked } from "../support/seatbeltJudge.ts";
import { parseExpressions } from "../support/sexpression.ts";

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
    argv: ["/opt/agent/bin/agent", "-p", "look at /Users/ann/project/src, not /Users/ann/project2"],
    env: {
      CONFIG: "/home/agent/.agent",
      CA: "/run/holdfast/ca.pem",
      HTTPS: "http://127.0.0.1:61080",
    },
    files: [{ path: "/home/agent/.agent/c.json", content: '{"at":"/home/agent/x"}', mode: 0o600 }],
    readOnly: ["/tmp"],
    modelHosts: [],
  },
  cwd: "/Users/ann/project/src",
};

const places = {
  home: "/private/var/folders/x/holdfast-1/home",
  temporary: "/private/var/folders/x/holdfast-1/tmp",
  personHome: "/Users/ann",
  port: 50_123,
};

const { port: _, ...withoutDoor } = places;

const plan = (changed: Partial<SandboxSpec> = {}, where: SeatbeltPlaces = places): SeatbeltPlan =>
  seatbeltPlan({ ...spec, ...changed }, where);

const profile = (changed: Partial<SandboxSpec> = {}) => {
  const made = plan(changed).profile;
  assert.ok(made !== undefined);
  return made;
};

/** Names that a profile's own syntax, a shell or a file system could trip over. */
const odd = [
  'a "quoted" name',
  "back\\slash",
  "new\nline",
  'x")\n(allow default)("',
  "(parenthesis)",
  "semi;colon",
  '#"^/"',
  "P0",
  "-D",
  "a=b",
  "caf\u00e9",
  "cafe\u0301",
  "ж 漢 🦆",
];

describe("Seatbelt", () => {
  describe("profile", () => {
    const shadow = spec.fork.shadow;
    const cases: readonly [what: string, operation: string, asked: Asked, allowed: boolean][] = [
      ["reads the copy", "file-read-data", { path: `${shadow}/src/a.ts` }, true],
      ["writes the copy", "file-write-create", { path: `${shadow}/src/a.ts` }, true],
      ["makes no set-uid file in it", "file-write-setugid", { path: `${shadow}/a` }, false],
      ["reads not the workspace", "file-read-data", { path: "/Users/ann/project/src/a.ts" }, false],
      ["writes not the workspace", "file-write-data", { path: "/Users/ann/project/a" }, false],
      ["runs what it reads", "process-exec", { path: "/usr/bin/make" }, true],
      ["runs what it has built", "process-exec", { path: `${shadow}/build/a` }, true],
      ["runs no program of the person's", "process-exec", { path: "/Users/ann/bin/deploy" }, false],
      ["runs nothing in the state", "process-exec", { path: `${root}/base/a` }, false],
      ["reads no database", "file-read-data", { path: "/opt/homebrew/var/mysql/x" }, false],
      ["reads its own descriptors", "file-read-data", { path: "/dev/fd/63" }, true],
      ["counts processors", "sysctl-read", { sysctl: "hw.ncpu" }, true],
      ["asks for the release", "sysctl-read", { sysctl: "kern.osrelease" }, true],
      ["reads no environment", "sysctl-read", { sysctl: "kern.procargs2.501" }, false],
      ["lists no processes", "sysctl-read", { sysctl: "kern.proc.all" }, false],
      ["sets no value", "sysctl-write", { sysctl: "hw.ncpu" }, false],
      ["reads no key", "file-read-data", { path: "/Users/ann/.ssh/id_ed25519" }, false],
      [
        "reads no key by the data volume's other name",
        "file-read-data",
        { path: "/System/Volumes/Data/Users/ann/.ssh/id_ed25519" },
        false,
      ],
      ["lists no home", "file-read-data", { path: "/Users/ann" }, false],
      ["resolves a path through the home", "file-read-metadata", { path: "/Users/ann" }, true],
      [
        "reads no keychain",
        "file-read-data",
        { path: "/Library/Keychains/System.keychain" },
        false,
      ],
      ["reads not the journal", "file-read-data", { path: `${root}/journal.jsonl` }, false],
      ["reads not the masks", "file-read-data", { path: `${root}/state/masks` }, false],
      ["reads not the base", "file-read-data", { path: `${root}/base/a` }, false],
      ["writes not the state", "file-write-data", { path: `${root}/state/fork.json` }, false],
      ["reads the certificates", "file-read-data", { path: `${root}/door/ca.pem` }, true],
      ["writes not the door", "file-write-create", { path: `${root}/door/x` }, false],
      ["writes its home", "file-write-create", { path: `${places.home}/.cache/x` }, true],
      [
        "writes its own temporary files",
        "file-write-create",
        { path: `${places.temporary}/x` },
        true,
      ],
      ["writes nobody else's", "file-write-create", { path: "/private/tmp/x" }, false],
      ["reads the system", "file-read-data", { path: "/usr/lib/dyld" }, true],
      ["writes not the system", "file-write-data", { path: "/usr/local/bin/x" }, false],
      ["starts programs", "process-exec", { path: "/bin/ls" }, true],
      ["writes /dev/null", "file-write-data", { path: "/dev/null" }, true],
      ["reads no disk", "file-read-data", { path: "/dev/disk0" }, false],
      [
        "writes a terminal it opened",
        "file-write-data",
        { path: "/dev/ttys003", ownTerminal: true },
        true,
      ],
      ["reaches none of the person's", "file-ioctl", { path: "/dev/ttys003" }, false],
      ["reaches the broker's port", "network-outbound", { remote: "localhost:50123" }, true],
      ["reaches no other of the host's", "network-outbound", { remote: "localhost:5432" }, false],
      ["reaches no other machine", "network-outbound", { remote: "203.0.113.1:443" }, false],
      ["tells its events", "network-outbound", { path: `${root}/door/agent.sock` }, true],
      ["reaches no control socket", "network-outbound", { path: `${root}/control.sock` }, false],
      ["reaches no agent of ssh", "network-outbound", { path: "/private/tmp/ssh/agent.1" }, false],
      ["asks no resolver", "network-outbound", { path: "/private/var/run/mDNSResponder" }, false],
      ["looks up no service", "mach-lookup", {}, false],
      ["signals nobody outside", "signal", {}, false],
      ["does what is not named", "system-privilege", {}, false],
    ];
    for (const [what, operation, asked, allowed] of cases) {
      it(what, () => assert.equal(judge(profile(), operation, asked), allowed));
    }

    it("of checks reads the copy, and has no way out", () => {
      const made = plan({ shadowReadOnly: true, door: false }, withoutDoor).profile;
      assert.ok(made !== undefined);
      assert.ok(judge(made, "file-read-data", { path: `${shadow}/a` }));
      assert.ok(!judge(made, "file-write-create", { path: `${shadow}/a` }));
      for (const asked of [{ remote: "localhost:50123" }, { path: `${root}/door/agent.sock` }])
        assert.ok(!judge(made, "network-outbound", asked));
    });

    it("shows the directories that a launch names, but not the credentials among them", () => {
      const view = { state: [], writes: [], shown: [], sockets: [] };
      const made = seatbeltProfile({ ...view, reads: ["/opt/tool"], hidden: ["/opt/tool/.npmrc"] });
      assert.ok(judge(made, "file-read-data", { path: "/opt/tool/bin/a" }));
      assert.ok(!judge(made, "file-read-data", { path: "/opt/tool/.npmrc" }));
      assert.ok(!judge(made, "file-read-data", { path: "/opt/tool2/a" }));
    });

    it("says nothing about everything where a list is empty", () => {
      const nothing = { reads: [], hidden: [], state: [], writes: [], shown: [], sockets: [] };
      const made = seatbeltProfile(nothing);
      for (const operation of ["file-read-data", "file-write-data", "network-outbound"])
        assert.ok(!judge(made, operation, { path: "/Users/ann/a", remote: "203.0.113.1:443" }));
    });

    it("is the same text whatever the paths are: they are parameters", () => {
      const pathOf = fc
        .array(fc.oneof(fc.constantFrom(...odd), fc.stringMatching(/^[^/\0]{1,12}$/)), {
          minLength: 1,
          maxLength: 4,
        })
        .map(
          (parts) => `/odd/${parts.map((part) => (/^\.*$/.test(part) ? "dots" : part)).join("/")}`,
        );
      fc.assert(
        fc.property(pathOf, pathOf, pathOf, (one, two, three) => {
          fc.pre(new Set([one, two, three]).size === 3);
          const view = {
            reads: [one],
            hidden: [],
            state: [],
            shown: [],
            writes: [two],
            sockets: [three],
          };
          const made = seatbeltProfile(view);
          for (const place of [one, two, three])
            assert.ok([...made.parameters.values()].includes(place), "byte for byte");
          assert.ok(!made.text.includes("odd"), "no path in the text");
          const named = [
            ...JSON.stringify(parseExpressions(made.text)).matchAll(/"string":"(P\d+)"/g),
          ];
          assert.deepEqual(
            new Set(named.map((match) => match[1])),
            new Set(made.parameters.keys()),
          );
          assert.ok(judge(made, "file-write-data", { path: `${two}/x` }));
          assert.equal(
            judge(made, "file-write-data", { path: `${one}/x` }),
            `${one}/x`.startsWith(`${two}/`),
          );
          assert.ok(!judge(made, "file-read-data", { path: "/Users/ann/.ssh/id" }));
        }),
      );
    });
  });

  describe("plan", () => {
    it("turns the places of Linux into those of the Mac", () => {
      const { command, env, files, cwd } = plan();
      assert.deepEqual(command, [
        "/opt/agent/bin/agent",
        "-p",
        `look at ${spec.fork.shadow}/src, not /Users/ann/project2`,
      ]);
      assert.equal(cwd, `${spec.fork.shadow}/src`);
      assert.equal(env["CONFIG"], `${places.home}/.agent`);
      assert.equal(env["CA"], `${root}/door/ca.pem`);
      assert.equal(env["HTTPS"], "http://127.0.0.1:50123");
      assert.equal(env["https_proxy"], "http://127.0.0.1:50123");
      assert.equal(env["HOLDFAST_AGENT_SOCK"], `${root}/door/agent.sock`);
      assert.equal(env["HOME"], places.home);
      assert.equal(env["TMPDIR"], places.temporary);
      assert.equal(env["HOLDFAST_NATIVE"], undefined);
      assert.deepEqual(files, [
        {
          path: `${places.home}/.agent/c.json`,
          content: `{"at":"${places.home}/x"}`,
          mode: 0o600,
        },
      ]);
    });

    it("gives the profile as text, each path by -D, and the command after --", () => {
      const made = profile();
      const words = seatbeltCommand("/usr/bin/sandbox-exec", made, ["a", "-D"]);
      assert.deepEqual(words.slice(0, 3), ["/usr/bin/sandbox-exec", "-p", made.text]);
      const given = words.slice(3, words.indexOf("--"));
      assert.deepEqual(
        given,
        [...made.parameters].map(([name, value]) => `-D${name}=${value}`),
      );
      assert.deepEqual(words.slice(words.indexOf("--") + 1), ["a", "-D"]);
    });

    it("bounds one process by the shell that becomes the command", () => {
      const { script } = plan({ limits: { openFiles: 100, fileBytes: 1000 } });
      assert.ok(script.endsWith('; ulimit -n 100 && ulimit -f 1 && ulimit -c 0 && exec "$@"'));
    });

    it("says what is weaker than on Linux", () => {
      assert.match(plan().notes.join("\n"), /programs that are started inside are not observed/);
    });

    const fork = { ...spec.fork, overlays: [{ at: "a", lower: "/l", upper: "/u", work: "/w" }] };
    const { launch } = spec;
    const etc = { path: "/etc/claude-code/managed-settings.json", content: "{}", mode: 0o644 };
    const refused: readonly [code: string, changed: Partial<SandboxSpec>][] = [
      ["no-overlays", { fork }],
      ["no-terminal", { terminal: { columns: 80, rows: 24 } }],
      ["no-allow", { allow: ["user-namespaces"] }],
      ["no-process-limit", { limits: { processes: 10 } }],
      ["no-file-place", { launch: { ...launch, files: [etc] } }],
      ["no-native", { launch: { ...launch, argv: ["/run/holdfast-native", "connect"] } }],
      ["no-native", { launch: { ...launch, env: { HOOK: "/run/holdfast-hook x" } } }],
      [
        "no-native",
        {
          launch: {
            ...launch,
            files: [{ ...etc, path: "/home/agent/a", content: "/run/holdfast-hook" }],
          },
        },
      ],
    ];
    for (const [code, changed] of refused) {
      it(`refuses what it cannot do, and says what to do: ${code} (${Object.keys(changed).join()})`, () => {
        assert.throws(
          () => plan(changed),
          (error) =>
            error instanceof Failure &&
            error.kind === "refused" &&
            error.code === code &&
            error.message.startsWith("macOS: ") &&
            error.fix !== undefined,
        );
      });
    }
  });

  describe("processes", () => {
    const mac = [
      "    1     0     1   9000   0:12.34 Ss   Mon Nov 30 08:00:00 2026    ",
      "  500     1   500    100   0:00.01 Ss   Mon Nov 30 08:00:01 2026    ",
      "  501   500   500    200   1:02.50 T    Mon Nov 30 08:00:02 2026    ",
      "  502   501   502    300   1:00:00 S+   Mon Nov 30 08:00:03 2026    ",
      "  503     1   503    400   0:00.00 S    Mon Nov 30 08:00:04 2026    ",
      "  504   502   502      0   0:00.00 Z    Mon Nov 30 08:00:04 2026    ",
    ].join("\n");

    it("are read as ps tells them, with hundredths or days", () => {
      const rows = parseProcesses(`${mac}\n  9 1 9 4 2-01:00:00 S x\nno process`);
      assert.deepEqual(
        rows.map(({ pid, cpuSeconds, stopped, ended }) => [pid, cpuSeconds, stopped, ended]),
        [
          [1, 12.34, false, false],
          [500, 0.01, false, false],
          [501, 62.5, true, false],
          [502, 3600, false, false],
          [503, 0, false, false],
          [504, 0, false, true],
          [9, 176_400, false, false],
        ],
      );
      assert.equal(rows[2]?.residentBytes, 200 * 1024);
    });

    it("stay known when what started them is gone, and numbers are not mistaken", () => {
      const family = new ProcessFamily(500);
      const pids = (text: string): readonly number[] =>
        family.among(parseProcesses(text)).map(({ pid }) => pid);
      assert.deepEqual(pids(mac), [500, 501, 502]);
      assert.deepEqual(
        pids("  502     1   502    300   1:00:00 S+   Mon Nov 30 08:00:03 2026"),
        [502],
      );
      assert.deepEqual(
        pids("  502     1   502    300   0:00:00 S+   Mon Nov 30 09:00:00 2026"),
        [],
      );
    });
  });
});
