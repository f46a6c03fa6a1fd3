import type { Entry } from "../../src/core/journal/entry.ts";
import { JournalWriter, request } from "./journalWriter.ts";

const workspace = "/home/mara/shop";

const payload = `POST /crm/v3/objects/deals/batch/archive HTTP/1.1
host: api.hubapi.com
authorization: Bearer $HOLDFAST_SECRET_HUBSPOT
content-type: application/json

{"inputs":[{"id":"9001"},{"id":"9002"},{"id":"9003"},{"id":"9004"}],"note":"stale\u200Bdeals \u202Eyrarbil"}`;

/** A believable run: reads, edits, a sub-agent, tests, a push, a held call. `until` stops at a stage. */
export function sampleJournal(until: "running" | "waiting" | "sealed" | "committed"): Entry[] {
  const journal = new JournalWriter();
  beginning(journal);
  editing(journal);
  testing(journal);
  if (until === "running") return journal.entries;
  crossing(journal);
  if (until === "waiting") return journal.entries;
  ending(journal);
  if (until === "committed") {
    const commit = "c1";
    const paths = ["src/pricing.ts", "src/client.ts", "src/api/deals.ts", "test/pricing.test.ts"];
    journal.add({ kind: "commit.intended", source: "holdfast", commit, paths }, 9000);
    journal.add({
      kind: "commit.published",
      source: "holdfast",
      commit,
      published: 4,
      merged: 1,
      complete: true,
    });
  }
  return journal.entries;
}

function beginning(journal: JournalWriter): void {
  const shadow = "/home/mara/.local/state/holdfast/forks/7f3a";
  const task = "Round prices to cents and archive the stale deals";
  const notes: string[] = [];
  journal.add({
    kind: "transaction.begun",
    source: "holdfast",
    transaction: "7f3a91c2",
    version: "0.1.0",
    workspace,
    agent: "claude-code",
    command: ["claude"],
    task,
    limits: { records: "50" },
    backendWanted: "auto",
    onExit: "review",
  });
  journal.add(
    {
      kind: "transaction.forked",
      source: "holdfast",
      backend: "clone",
      forkMs: 214,
      files: 12_340,
      shadow,
      notes,
    },
    214,
  );
  journal.add({
    kind: "transaction.started",
    source: "holdfast",
    pid: 4711,
    sandbox: "bubblewrap, Landlock, seccomp",
    notes,
  });
  for (let n = 0; n < 3; n++)
    request(journal, {
      host: "api.anthropic.com",
      path: "/v1/messages",
      traffic: "model",
      bytes: 18_400,
    });
}

function editing(journal: JournalWriter): void {
  journal.finish(
    journal.tool("Read", "read", "Read src/pricing.ts", { file_path: "src/pricing.ts" }),
    "export function price(net: number): number {\n  return net * 1.19;\n}\n",
    "ok",
    6,
  );
  journal.finish(
    journal.tool("Grep", "search", "Grep price\\(", { pattern: "price\\(", path: "src" }),
    "src/pricing.ts\nsrc/client.ts\nsrc/api/deals.ts",
    "ok",
    31,
  );
  const edit = journal.tool("Edit", "edit", "Edit src/pricing.ts", {
    file_path: "src/pricing.ts",
    old_string: "export function price(net: number): number {\n  return net * 1.19;\n}",
    new_string:
      "export function price(net: number): number {\n  return Math.round(net * 119) / 100;\n}",
  });
  journal.add({
    kind: "file.changed",
    source: "fs",
    parent: edit,
    path: "src/pricing.ts",
    change: "modified",
    bytes: 1204,
  });
  journal.finish(edit, "The file src/pricing.ts has been updated.", "ok", 14);
  const agent = journal.tool("Task", "agent", "Task find every caller that rounds again", {
    description: "find callers",
    prompt: "Find every caller that rounds the result of price().",
  });
  journal.finish(
    journal.tool(
      "Read",
      "read",
      "Read src/client.ts",
      { file_path: "src/client.ts" },
      { parent: agent, agent: "explorer" },
    ),
    "…",
    "ok",
    5,
  );
  const inner = journal.tool(
    "Edit",
    "edit",
    "Edit src/client.ts",
    { file_path: "src/client.ts", old_string: "round(price(net))", new_string: "price(net)" },
    { parent: agent, agent: "explorer" },
  );
  journal.add({
    kind: "file.changed",
    source: "fs",
    parent: inner,
    path: "src/client.ts",
    change: "modified",
    bytes: 5210,
  });
  journal.finish(inner, "ok", "ok", 11);
  journal.finish(agent, "Two callers rounded again; both fixed.", "ok", 5200);
  const read = journal.tool("Read", "read", "Read package.json", { file_path: "package.json" });
  journal.add({
    kind: "file.changed",
    source: "fs",
    parent: read,
    path: "package-lock.json",
    change: "modified",
    bytes: 88_120,
  });
  journal.finish(read, "{ … }", "ok", 7);
}

function testing(journal: JournalWriter): void {
  const bash = journal.tool("Bash", "execute", "Bash npm test", {
    command: "npm test -- --reporter dot",
    description: "Run the tests",
  });
  const cwd = workspace;
  const npm = journal.add({
    kind: "process.exec",
    source: "kernel",
    parent: bash,
    pid: 31,
    ppid: 9,
    argv: ["npm", "test", "--", "--reporter", "dot"],
    cwd,
    program: "/usr/bin/npm",
  });
  journal.add({
    kind: "process.exec",
    source: "kernel",
    parent: npm,
    pid: 44,
    ppid: 31,
    argv: ["node", "node_modules/.bin/mocha", "--reporter", "dot"],
    cwd,
    program: "/usr/bin/node",
  });
  journal.add(
    { kind: "process.exit", source: "kernel", parent: npm, pid: 44, exitCode: 1, durationMs: 2810 },
    2810,
  );
  journal.add({
    kind: "process.exit",
    source: "kernel",
    parent: bash,
    pid: 31,
    exitCode: 1,
    durationMs: 3140,
  });
  const output = Array.from(
    { length: 40 },
    (_, n) => `  ${n === 31 ? "1) rounds half cents up" : `✓ case ${String(n)}`}`,
  ).join("\n");
  journal.finish(bash, `${output}\n\n39 passing\n1 failing`, "failed", 3220);
  const test = journal.tool("Write", "edit", "Write test/pricing.test.ts", {
    file_path: "test/pricing.test.ts",
    content: 'it("rounds half cents up", () => {\n  equal(price(1.005), 1.2);\n});\n',
  });
  journal.add({
    kind: "file.changed",
    source: "fs",
    parent: test,
    path: "test/pricing.test.ts",
    change: "added",
    bytes: 512,
  });
  journal.finish(test, "File created.", "ok", 9);
  for (let n = 0; n < 4; n++)
    request(journal, {
      host: "registry.npmjs.org",
      path: `/rounding/${String(n)}`,
      traffic: "disclosure",
      bytes: 310,
    });
  journal.tool("Bash", "execute", "Bash npm test", { command: "npm test" });
}

function crossing(journal: JournalWriter): void {
  const push = journal.tool("Bash", "execute", "Bash git push -u origin round-prices", {
    command: "git push -u origin round-prices",
  });
  request(journal, {
    host: "github.com",
    path: "/mara/shop.git/git-receive-pack",
    traffic: "change",
    method: "POST",
    parent: push,
    reversibility: "recoverable",
    wayBack: "delete the branch",
    rule: "git-new-branch",
    reason: "creates branch round-prices",
    secret: "GITHUB",
  });
  journal.finish(push, "branch 'round-prices' set up to track 'origin/round-prices'.", "ok", 1840);
  const mail = journal.tool("Bash", "execute", "Bash curl api.linear.app", {
    command: "curl -X POST https://api.linear.app/graphql -d @comment.json",
  });
  request(journal, {
    host: "api.linear.app",
    path: "/graphql",
    traffic: "change",
    method: "POST",
    parent: mail,
    reversibility: "irreversible",
    rule: "linear-comment",
    reason: "a comment is mailed to subscribers at once",
  });
  journal.finish(mail, '{"data":{"commentCreate":{"success":true}}}', "ok", 420);
  const archive = journal.tool("crm_archive", "execute", "crm_archive 214 deals", {
    object: "deals",
    ids: ["9001", "9002", "9003", "9004"],
  });
  const id = `r${String(journal.entries.length)}`;
  const at = { request: id, reversibility: "irreversible" } as const;
  const started = journal.add({
    kind: "request.started",
    source: "broker",
    parent: archive,
    ...at,
    protocol: "https",
    method: "POST",
    host: "api.hubapi.com",
    port: 443,
    path: "/crm/v3/objects/deals/batch/archive",
    traffic: "change",
    bytes: 4210,
  });
  const reason = "archives more records than the task allows";
  journal.add({
    kind: "verdict",
    source: "broker",
    parent: started,
    ...at,
    verdict: "hold",
    rule: "crm-archive",
    reason,
  });
  journal.add({
    kind: "hold.opened",
    source: "broker",
    parent: started,
    ...at,
    hold: "h-51",
    summary: "Archive 214 deals in HubSpot",
    rule: "crm-archive",
    reason,
    blastRadius: { count: 214, unit: "records", limit: 50 },
    payload,
    payloadSha256: "9f2c4e1ab77d0c55e1f0".padEnd(64, "0"),
  });
}

function ending(journal: JournalWriter): void {
  journal.add(
    {
      kind: "hold.decided",
      source: "person",
      hold: "h-51",
      decision: "deny",
      scope: "call",
      reason: "only the 41 from the list",
    },
    20_000,
  );
  journal.add({ kind: "check.started", source: "holdfast", check: "typescript", generation: 3 });
  journal.add(
    {
      kind: "check.finished",
      source: "holdfast",
      check: "typescript",
      generation: 3,
      status: "failed",
      durationMs: 640,
      introduced: [
        {
          path: "src/api/deals.ts",
          line: 18,
          column: 9,
          code: "TS2322",
          message: "Type 'string' is not assignable to type 'number'.",
          severity: "error",
        },
      ],
      resolved: [
        {
          path: "src/client.ts",
          line: 40,
          column: 3,
          code: "TS2554",
          message: "Expected 1 arguments, but got 2.",
          severity: "error",
        },
      ],
      unchanged: 0,
    },
    640,
  );
  journal.add({
    kind: "savepoint.taken",
    source: "holdfast",
    savepoint: "s4",
    name: "before the end",
    files: 4,
    durationMs: 22,
  });
  journal.add({ kind: "transaction.exited", source: "holdfast", exitCode: 0 });
  journal.add({
    kind: "transaction.sealed",
    source: "holdfast",
    counts: { added: 1, modified: 4, deleted: 0 },
    changeSet: "changes.json",
  });
}
