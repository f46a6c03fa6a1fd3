import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Failure } from "../../src/base/errors.ts";
import { compilePolicy } from "../../src/core/policy/compilePolicy.ts";
import { appendRule } from "../../src/node/policy/appendRule.ts";
import { defaultBranches } from "../../src/node/policy/defaultBranches.ts";
import { explainCall } from "../../src/node/policy/explainCall.ts";
import {
  checkPolicyFile,
  readPolicies,
  userPolicyPath,
} from "../../src/node/policy/policyFiles.ts";
import { problemLine } from "../../src/node/state/configFile.ts";

const text = (verdict: string) =>
  `// mine\n{ "version": 1, "rules": [\n  { "id": "a", "when": { "host": "example.org" }, "verdict": "${verdict}" } // why\n] }\n`;

describe("policy files", () => {
  let root = "";
  let workspace = "";
  let env: NodeJS.ProcessEnv = {};

  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), "holdfast-policy-"));
    workspace = path.join(root, "workspace");
    env = { XDG_CONFIG_HOME: path.join(root, "config") };
    mkdirSync(path.join(workspace, ".holdfast"), { recursive: true });
    mkdirSync(path.join(root, "config/holdfast"), { recursive: true });
  });
  afterEach(() => rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }));

  const write = (file: string, content: string) => writeFileSync(file, content, { mode: 0o600 });
  const code = (run: () => unknown): string => {
    try {
      run();
    } catch (error) {
      assert.ok(error instanceof Failure);
      return error.code;
    }
    return "none";
  };

  it("are absent when there are none", () => {
    assert.deepEqual(readPolicies({ workspace, env }), { user: undefined, workspace: undefined });
    assert.equal(
      code(() => readPolicies({ workspace, env, file: path.join(root, "x.json") })),
      "policy-missing",
    );
  });

  it("the user's opens, the workspace's only narrows", () => {
    write(userPolicyPath(env), text("allow"));
    const open = readPolicies({ workspace, env });
    const explain = (policies: typeof open) =>
      explainCall(
        compilePolicy({ ...policies, task: {} }),
        "POST",
        "https://example.org/a",
        Buffer.from("{}"),
      );
    assert.deepEqual([explain(open).verdict, explain(open).rule], ["allow", "user:a"]);
    write(path.join(workspace, ".holdfast/policy.json"), text("deny"));
    assert.equal(explain(readPolicies({ workspace, env })).rule, "workspace:a");
    rmSync(userPolicyPath(env));
    write(path.join(workspace, ".holdfast/policy.json"), text("allow"));
    assert.equal(explain(readPolicies({ workspace, env })).verdict, "hold");
  });

  it("a mistake is named with file, line and column", () => {
    const file = userPolicyPath(env);
    write(file, text("alow"));
    assert.equal(
      code(() => readPolicies({ workspace, env })),
      "policy-invalid",
    );
    assert.deepEqual(checkPolicyFile(file, "user").map(problemLine), [
      `${file}:3:62: rules[0].verdict: Invalid option: expected one of "allow"|"hold"|"deny"`,
    ]);
  });

  it("a user's policy that others can write is refused", () => {
    write(userPolicyPath(env), text("allow"));
    chmodSync(userPolicyPath(env), 0o666);
    assert.equal(
      code(() => readPolicies({ workspace, env })),
      "policy-foreign",
    );
  });

  it("a workspace's policy that is a link or a directory is refused", () => {
    write(path.join(root, "elsewhere.json"), text("hold"));
    symlinkSync(path.join(root, "elsewhere.json"), path.join(workspace, ".holdfast/policy.json"));
    assert.equal(
      code(() => readPolicies({ workspace, env })),
      "policy-unreadable",
    );
    rmSync(path.join(workspace, ".holdfast/policy.json"));
    mkdirSync(path.join(workspace, ".holdfast/policy.json"));
    assert.equal(
      code(() => readPolicies({ workspace, env })),
      "policy-unreadable",
    );
  });

  it("a rule is added once, comments stay, and the file is private", () => {
    const file = userPolicyPath(env);
    const rule = {
      id: "b",
      when: { host: "example.org", method: ["POST"] },
      verdict: "allow" as const,
    };
    appendRule(file, rule);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    write(file, text("hold"));
    appendRule(file, rule);
    appendRule(file, { ...rule, verdict: "deny" as const });
    const after = readFileSync(file, "utf8");
    assert.match(after, /^\/\/ mine/);
    assert.match(after, /\/\/ why/);
    const policy = readPolicies({ workspace, env }).user?.policy;
    assert.deepEqual(
      policy?.rules.map((one) => `${one.id} ${one.verdict}`),
      ["a hold", "b deny"],
    );
  });

  it("a broken policy is not written to", () => {
    write(userPolicyPath(env), "{");
    const rule = { id: "b", when: { host: "example.org" }, verdict: "allow" as const };
    assert.equal(
      code(() => appendRule(userPolicyPath(env), rule)),
      "policy-invalid",
    );
    assert.equal(readFileSync(userPolicyPath(env), "utf8"), "{");
  });

  it("the default branches are read from the remotes, from a linked worktree too", () => {
    assert.deepEqual(defaultBranches(workspace), []);
    const heads = path.join(workspace, ".git/refs/remotes/origin");
    mkdirSync(heads, { recursive: true });
    writeFileSync(path.join(heads, "HEAD"), "ref: refs/remotes/origin/next\n");
    assert.deepEqual(defaultBranches(workspace), ["next"]);
    const linked = path.join(workspace, ".git/worktrees/w");
    mkdirSync(linked, { recursive: true });
    writeFileSync(path.join(linked, "commondir"), "../..\n");
    mkdirSync(path.join(root, "w"));
    writeFileSync(path.join(root, "w/.git"), `gitdir: ${linked}\n`);
    assert.deepEqual(defaultBranches(path.join(root, "w")), ["next"]);
  });

  it("only URLs are explained", () => {
    assert.equal(
      code(() => explainCall(compilePolicy({ task: {} }), "GET", "example.org")),
      "url-invalid",
    );
  });
});
