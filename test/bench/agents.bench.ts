import { execFile } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { performance } from "node:perf_hooks";
import { promisify } from "node:util";
import { agentProgram } from "../../.config/setupAgents.mjs";
import { makeSample } from "../samples/makeSample.mjs";
import { againstTarget, figureOf, type Bench } from "../support/bench.ts";
import { root } from "../support/repository.ts";
import { startScriptedModel, type ModelScript } from "../support/scriptedModel.ts";
import type { ModelTurn } from "../support/scriptedModelWire.ts";

const command = path.join(root, "dist", "holdfast.cjs");
const claude = agentProgram("claude-code");
const sessions = 5;
const hookCalls = 200;
const calls = "12 calls with their hooks, 15 questions through the broker";
const withoutShell = "started without a shell, as Claude Code does";

/** A session of twelve calls: reads, edits, searches, commands, a sub-agent with a command of its own. */
function script(folder: string): ModelScript {
  const call = (name: string, input: Readonly<Record<string, unknown>>): ModelTurn => ({
    calls: [{ name, input }],
  });
  const bash = (line: string): ModelTurn => call("Bash", { command: line });
  const file = path.join(folder, "package.json");
  return {
    main: [
      call("Read", { file_path: file }),
      call("Grep", { pattern: "version", path: folder }),
      call("Edit", { file_path: file, old_string: '"name"', new_string: '"name" ' }),
      call("Write", { file_path: path.join(folder, "notes.txt"), content: "one\n" }),
      bash("ls -la"),
      bash("git status --short"),
      bash("node --version"),
      bash("cat notes.txt | sort | uniq -c"),
      bash("cp notes.txt more.txt && mv more.txt other.txt"),
      bash("git add --all && git -c user.name=a -c user.email=a@b.c commit --quiet --message one"),
      call("Agent", {
        description: "look around",
        prompt: "SUBTASK: look around",
        subagent_type: "general-purpose",
      }),
      { text: "All done." },
    ],
    sub: [bash("echo from the sub-agent"), { text: "Looked around." }],
  };
}

/** Milliseconds of one session: as a whole, and of its parts. */
interface Session {
  readonly whole: number;
  /** Until the agent asks its model for the first time. */
  readonly before: number;
  /** From there to the last time. */
  readonly between: number;
  /** From there to the end. */
  readonly after: number;
}

/** One whole session, as a person would start it. */
async function session(
  folder: string,
  run: (workspace: string, url: string) => readonly [string, readonly string[], NodeJS.ProcessEnv],
): Promise<Session> {
  const workspace = makeSample(fs.mkdtempSync(path.join(folder, "shop-")) + "/shop");
  const asked: number[] = [];
  const model = await startScriptedModel(() => {
    asked.push(performance.now());
    return script(workspace);
  });
  const [program, args, env] = run(workspace, model.url);
  const begun = performance.now();
  const running = promisify(execFile)(program, [...args], { cwd: workspace, env });
  running.child.stdin?.end();
  const { stdout } = await running;
  const ended = performance.now();
  await model.close();
  if (!stdout.includes("All done.")) throw new Error(`the session broke off: ${stdout}`);
  const [first = NaN, last = NaN] = [asked[0], asked.at(-1)];
  return {
    whole: ended - begun,
    before: first - begun,
    between: last - first,
    after: ended - last,
  };
}

function environment(home: string, url: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"],
    HOME: home,
    HOLDFAST_HOME: path.join(home, "holdfast"),
    HOLDFAST_CLAUDE_CODE: claude,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "a-key-of-nobody",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    IS_SANDBOX: "1",
  };
}

/** Milliseconds of one hook call, in the sandbox; and of starting another program in its place. */
async function hookCall(
  folder: string,
  home: string,
): Promise<readonly [hook: number, nothing: number]> {
  const payload = JSON.stringify({ hook_event_name: "PreToolUse", tool_name: "Bash" });
  const loop = (program: string): string =>
    `b=$(date +%s%N); i=0; while [ $i -lt ${hookCalls} ]; do echo '${payload}' | ${program}; i=$((i+1)); done; e=$(date +%s%N); echo $(((e-b)/1000))`;
  const lines = `${loop("/run/holdfast-hook")}; ${loop("cat >/dev/null")}`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [command, "run", "--on-exit", "discard", "--", "sh", "-c", lines],
    { cwd: folder, env: environment(home, "http://127.0.0.1:9") },
  );
  const [hook = NaN, nothing = NaN] = stdout.trim().split("\n").map(Number);
  return [hook / 1000 / hookCalls, nothing / 1000 / hookCalls];
}

export const bench: Bench = {
  title: "Agents",
  unavailable: () => {
    if (!fs.existsSync(command)) return "`npm run build` has not run";
    return fs.existsSync(claude) ? undefined : "Claude Code is not installed (`npm test` does it)";
  },
  run: async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-bench-"));
    const home = path.join(folder, "home");
    fs.mkdirSync(home);
    const free = ["-p", "Do the work.", "--permission-mode", "bypassPermissions"];
    const alone = (): Promise<Session> =>
      session(folder, (_workspace, url) => [claude, free, environment(home, url)]);
    const inside = async (): Promise<Session> => {
      let place = "";
      const took = await session(folder, (workspace, url) => {
        place = workspace;
        return [
          process.execPath,
          [command, "run", "--agent", "claude-code", "--prompt", "Do the work."],
          environment(home, url),
        ];
      });
      // What is still checked would slow down whatever is measured next.
      await promisify(execFile)(process.execPath, [command, "check", "latest", "--json"], {
        cwd: place,
        env: environment(home, "http://127.0.0.1:9"),
      });
      return took;
    };
    try {
      await alone();
      await inside();
      const unconfined: Session[] = [];
      const confined: Session[] = [];
      const hooks: number[] = [];
      const nothing: number[] = [];
      for (let run = 0; run < sessions; run++) {
        // By turns: what comes first has the quieter machine.
        if (run % 2 === 0) unconfined.push(await alone());
        confined.push(await inside());
        if (run % 2 === 1) unconfined.push(await alone());
        const [hook, empty] = await hookCall(makeSample(path.join(folder, `hooks-${run}`)), home);
        hooks.push(hook);
        nothing.push(empty);
      }
      const of = (part: keyof Session, all: readonly Session[]): readonly number[] =>
        all.map((one) => one[part]);
      const moreOf = (part: keyof Session): readonly number[] =>
        confined.map((one, at) => one[part] - (unconfined[at]?.[part] ?? NaN));
      const more = moreOf("whole");
      const share = more.map((one, at) => (100 * one) / (unconfined[at]?.whole ?? NaN));
      const note = "12 calls and a sub-agent, scripted model, from start to sealed";
      return [
        figureOf("Claude Code, unconfined", "ms", of("whole", unconfined), note),
        figureOf("Claude Code in Holdfast", "ms", of("whole", confined), note),
        againstTarget("what Holdfast adds", "ms", more, { atMost: 500 }, "this or the share"),
        againstTarget("what Holdfast adds, share", "%", share, { atMost: 10 }, "pairs of runs"),
        figureOf("of this, until the first question to the model", "ms", moreOf("before")),
        figureOf("of this, from the first question to the last", "ms", moreOf("between"), calls),
        figureOf("of this, from the last question to sealed", "ms", moreOf("after")),
        againstTarget("a hook call in the sandbox", "ms", hooks, { atMost: 5 }, withoutShell),
        figureOf("the same with `cat` for the hook", "ms", nothing),
      ];
    } finally {
      fs.rmSync(folder, { recursive: true, force: true, maxRetries: 15, retryDelay: 100 });
    }
  },
};
