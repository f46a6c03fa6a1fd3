import assert from "node:assert/strict";
import { incidentOf } from "../../src/core/incident/incident.ts";
import { incidentReport } from "../../src/core/incident/incidentReport.ts";
import { platformOf, platforms } from "../../src/core/incident/platforms.ts";
import { services } from "../../src/core/policy/knowledge/services.ts";
import type { EntryDraft } from "../../src/core/journal/entry.ts";
import { begun, entriesOf, holdDecided, holdOpened, requestStarted } from "../support/entries.ts";
import { sampleJournal } from "../support/sampleJournal.ts";

function verdict(request: string, verdictGiven: "allow" | "hold" | "deny"): EntryDraft {
  return {
    kind: "verdict",
    source: "broker",
    request,
    verdict: verdictGiven,
    reversibility: "irreversible",
    rule: "default.change",
    reason: "changes something outside",
  };
}

function finished(request: string, end: { status?: number; error?: string }): EntryDraft {
  const counted = { bytesSent: 10, bytesReceived: 20, durationMs: 5 };
  return { kind: "request.finished", source: "broker", request, ...end, ...counted };
}

const change = (request: string): EntryDraft => requestStarted(request, "change", "irreversible");

describe("what left the machine", () => {
  const cases: readonly (readonly [
    what: string,
    drafts: readonly EntryDraft[],
    outcomes: readonly string[],
  ])[] = [
    ["nothing without a verdict", [change("r1")], []],
    [
      "what was allowed",
      [change("r1"), verdict("r1", "allow"), finished("r1", { status: 201 })],
      ["answered"],
    ],
    ["what was allowed and is on its way", [change("r1"), verdict("r1", "allow")], ["unknown"]],
    [
      "what broke off",
      [change("r1"), verdict("r1", "allow"), finished("r1", { error: "reset" })],
      ["unknown"],
    ],
    [
      "what the server refused",
      [change("r1"), verdict("r1", "allow"), finished("r1", { status: 422 })],
      ["failed"],
    ],
    [
      "nothing that was denied",
      [change("r1"), verdict("r1", "deny"), finished("r1", { error: "denied" })],
      [],
    ],
    [
      "nothing whose address turned out wrong",
      [change("r1"), verdict("r1", "allow"), verdict("r1", "deny")],
      [],
    ],
    ["nothing that is held", [change("r1"), verdict("r1", "hold"), holdOpened("h1", "r1", 2)], []],
    [
      "nothing that was approved and not sent",
      [
        change("r1"),
        verdict("r1", "hold"),
        holdOpened("h1", "r1", 2),
        holdDecided("h1", "approve"),
      ],
      [],
    ],
    [
      "what an approval let go",
      [
        change("r1"),
        verdict("r1", "hold"),
        holdOpened("h1", "r1", 2),
        holdDecided("h1", "approve"),
        { kind: "hold.spent", source: "broker", request: "r1", by: "r1" },
      ],
      ["unknown"],
    ],
    [
      "what an approval for the transaction let go",
      [
        change("r1"),
        verdict("r1", "hold"),
        holdOpened("h1", "r1", 2),
        { ...holdDecided("h1", "approve"), scope: "transaction" } as EntryDraft,
        change("r2"),
        verdict("r2", "hold"),
      ],
      ["unknown"],
    ],
  ];

  for (const [what, drafts, outcomes] of cases)
    it(`counts ${what}`, () => {
      const { crossings } = incidentOf(entriesOf([begun, ...drafts]));
      assert.deepEqual(
        crossings.map((one) => one.outcome),
        outcomes,
      );
    });

  it("tells hosts, secrets and open holds", () => {
    const incident = incidentOf(sampleJournal("waiting"));
    assert.deepEqual(
      incident.hosts.map(({ host, model, calls }) => [host, model, calls]),
      [
        ["api.anthropic.com", true, 3],
        ["api.linear.app", false, 1],
        ["github.com", false, 1],
        ["registry.npmjs.org", false, 4],
      ],
    );
    assert.deepEqual(
      incident.secrets.map(({ secret, hosts }) => [secret, hosts]),
      [["GITHUB", ["github.com"]]],
    );
    assert.deepEqual(
      incident.held.map(({ hold }) => hold),
      ["h-51"],
    );
    assert.deepEqual(
      incident.crossings.map(({ host, wayBack }) => [host, wayBack]),
      [
        ["github.com", "delete the branch"],
        ["api.linear.app", undefined],
      ],
    );
  });
});

describe("the report of an emergency stop", () => {
  const incident = incidentOf(sampleJournal("waiting"));
  const report = incidentReport({
    at: "2026-11-29T20:15:00.000Z",
    outcomes: [{ transaction: incident.transaction, outcome: "sealed" }],
    incidents: [incident],
    directory: "/state/evidence/20261129-201500",
  });

  it("links where each secret that was used is revoked", () => {
    assert.match(
      report,
      /\*\*GITHUB\*\*, sent to github\.com — revoke it: \[GitHub: .*\]\(https:\/\/github\.com\/settings\/tokens\)/,
    );
  });

  it("tells what may be undone, the way back and the platform's window", () => {
    assert.match(
      report,
      /`POST github\.com\/mara\/shop\.git\/git-receive-pack` .* \| recoverable \| delete the branch \|/,
    );
    assert.match(report, /a deleted repository: 90 days/);
    assert.match(report, /`POST api\.linear\.app\/graphql` .* \| irreversible \|/);
  });

  it("says that held calls were not sent", () => {
    assert.match(report, /`h-51` Archive 214 deals in HubSpot: \*\*not sent\*\*, undecided/);
  });

  it("is of use when nothing ran", () => {
    const empty = incidentReport({
      at: "2026-11-29T20:15:00.000Z",
      outcomes: [],
      incidents: [],
      directory: "/e",
    });
    assert.match(empty, /No agent was running/);
    assert.match(empty, /No secret was used/);
  });

  it("does not let an agent write Markdown or hide characters", () => {
    const nasty = incidentReport({
      at: "2026-11-29T20:15:00.000Z",
      outcomes: [{ transaction: "t1", outcome: "sealed" }],
      incidents: [
        {
          ...incident,
          transaction: "t1",
          task: "[free](https://evil.example) | \u202Ex",
          held: [],
          secrets: [{ secret: "A", hosts: ["evil.example](https://x"], times: 1, last: "" }],
        },
      ],
      directory: "/e",
    });
    assert.doesNotMatch(nasty, /[^\\]\]\(https:\/\/(evil|x)/);
    assert.doesNotMatch(nasty, /\u202E/);
  });
});

describe("platforms", () => {
  it("have links and sources over https, and something to revoke", () => {
    for (const { name, hosts, revoke, undo, audit, sources } of platforms) {
      assert.ok(
        hosts.length > 0 && revoke.length > 0 && undo.length > 0 && sources.length > 0,
        name,
      );
      const links = [
        ...revoke.map(({ url }) => url),
        ...sources,
        ...(audit === undefined ? [] : [audit]),
      ];
      for (const link of links) assert.equal(new URL(link).protocol, "https:", link);
    }
  });

  it("a host belongs to one at most", () => {
    const hosts = platforms.flatMap((one) => one.hosts.map((host) => host.replace("*.", "any.")));
    for (const host of hosts) {
      const owners = platforms.filter((one) => platformOf(host) === one);
      assert.equal(owners.length, 1, host);
    }
  });

  it("cover the services that the policy knows best", () => {
    const ids = [
      "github",
      "gitlab",
      "slack",
      "stripe",
      "npm",
      "openai",
      "gmail",
      "googleCloud",
      "linear",
    ];
    const known = services.filter(({ id }) => ids.includes(id) || id.startsWith("npm"));
    assert.ok(known.length >= 6);
    for (const { name, hosts } of known)
      for (const host of hosts)
        assert.ok(
          platformOf(host.replace("*.", "any.")) !== undefined || host === "registry.yarnpkg.com",
          `${name}: ${host}`,
        );
    assert.equal(platformOf("s3.eu-central-1.amazonaws.com")?.name, "AWS");
    assert.equal(platformOf("api.anthropic.com")?.name, "Anthropic");
    assert.equal(platformOf("notgithub.com"), undefined);
  });
});
