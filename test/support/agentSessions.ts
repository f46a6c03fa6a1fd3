import type { RealAgent } from "../../.config/setupAgents.mjs";
import type { ModelScript } from "./scriptedModel.ts";
import type { ModelTurn } from "./scriptedModelWire.ts";

/** Where a scripted session reaches out to: a server of the test's on loopback. */
export interface SessionPlaces {
  /** The workspace. */
  readonly folder: string;
  /** `http://127.0.0.1:PORT` of a server that a policy holds, and denies below `/denied`. */
  readonly outside: string;
}

/** How one real agent is led through the same work in its own words. */
export interface AgentSession {
  /** The variable that names its program. */
  readonly variable: string;
  /** Points it to a model server; the key has this value. */
  readonly env: (url: string, key: string) => Readonly<Record<string, string>>;
  /** Further arguments, after the ones of the adapter. */
  readonly args: readonly string[];
  /** Files of the workspace: where the agent has permissions of its own, they forbid `rm -rf forbidden`. */
  readonly files: Readonly<Record<string, string>>;
  readonly script: (places: SessionPlaces) => ModelScript;
  /** A turn that runs one shell command. */
  readonly shell: (command: string) => ModelTurn;
  /** The calls that the journal must have, in order, `tool status`; below a call, indented, those of its sub-agent. */
  readonly calls: readonly string[];
}

const call = (name: string, input: Readonly<Record<string, unknown>> | string): ModelTurn => ({
  calls: [{ name, input }],
});

/** Codex has its tools for sub-agents in a group of their own. */
const collaborate = (name: string, input: Readonly<Record<string, unknown>>): ModelTurn => ({
  calls: [{ name, namespace: "collaboration", input }],
});

/** Commands that every session runs: rename, delete, copy, a failure, a call that waits, one that is denied. */
function commands(shell: (command: string) => ModelTurn, { outside }: SessionPlaces): ModelTurn[] {
  const curl = "curl --silent --show-error --fail --max-time 60";
  return [
    shell("mv old.txt moved.txt && rm gone.txt && env | grep -i key > env.txt"),
    shell("cat no-such-file"),
    shell(`${curl} --data word ${outside}/held > answer.txt`),
    shell(`${curl} ${outside}/denied`),
  ];
}

const claudeShell = (command: string): ModelTurn => call("Bash", { command });
const codexShell = (cmd: string): ModelTurn => call("exec_command", { cmd, yield_time_ms: 60_000 });
const opencodeShell = (command: string): ModelTurn => call("bash", { command, description: "Run" });
const geminiShell = (command: string): ModelTurn => call("run_shell_command", { command });

export const agentSessions: Readonly<Record<RealAgent, AgentSession>> = {
  "claude-code": {
    variable: "HOLDFAST_CLAUDE_CODE",
    env: (url, key) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key }),
    args: [],
    files: {
      ".claude/settings.json": JSON.stringify({
        permissions: { deny: ["Bash(rm -rf forbidden)"] },
      }),
    },
    shell: claudeShell,
    script: (places) => ({
      main: [
        {
          text: "First I read.",
          ...call("Read", { file_path: `${places.folder}/hello.txt` }),
        },
        call("Edit", {
          file_path: `${places.folder}/hello.txt`,
          old_string: "world",
          new_string: "there",
        }),
        call("Write", { file_path: `${places.folder}/new.txt`, content: "new\n" }),
        ...commands(claudeShell, places),
        claudeShell("rm -rf forbidden"),
        call("Agent", {
          description: "look around",
          prompt: "SUBTASK: look around",
          subagent_type: "general-purpose",
        }),
        { text: "All done." },
      ],
      sub: [claudeShell("echo sub > sub.txt"), { text: "Looked around." }],
    }),
    calls: [
      "Read ok",
      "Edit ok",
      "Write ok",
      "Bash ok",
      "Bash failed",
      "Bash ok",
      "Bash failed",
      "Bash denied",
      "Agent ok",
      "  Bash ok",
    ],
  },
  codex: {
    variable: "HOLDFAST_CODEX",
    env: (url, key) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key }),
    args: ["--", "--model", "gpt-5.5", "--enable", "multi_agent_v2"],
    files: {},
    shell: codexShell,
    script: (places) => ({
      main: [
        { text: "First I read.", ...codexShell("cat hello.txt") },
        call(
          "apply_patch",
          "*** Begin Patch\n*** Update File: hello.txt\n@@\n-hello world\n+hello there\n*** Add File: new.txt\n+new\n*** End Patch\n",
        ),
        ...commands(codexShell, places),
        collaborate("spawn_agent", {
          task_name: "look",
          message: "SUBTASK: look around",
          fork_turns: "none",
        }),
        collaborate("wait_agent", {}),
        { text: "All done." },
      ],
      sub: [codexShell("echo sub > sub.txt"), { text: "Looked around." }],
    }),
    calls: [
      "Bash ok",
      "apply_patch ok",
      "Bash ok",
      "Bash failed",
      "Bash ok",
      "Bash failed",
      "collaborationspawn_agent ok",
      "  Bash ok",
      "collaborationwait_agent ok",
    ],
  },
  opencode: {
    variable: "HOLDFAST_OPENCODE",
    env: (url, key) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key }),
    args: ["--", "--model", "anthropic/claude-sonnet-4-5"],
    files: {
      "opencode.json": JSON.stringify({ permission: { bash: { "rm -rf forbidden": "deny" } } }),
    },
    shell: opencodeShell,
    script: (places) => ({
      main: [
        {
          text: "First I read.",
          ...call("read", { filePath: `${places.folder}/hello.txt` }),
        },
        call("edit", {
          filePath: `${places.folder}/hello.txt`,
          oldString: "world",
          newString: "there",
        }),
        call("write", { filePath: `${places.folder}/new.txt`, content: "new\n" }),
        ...commands(opencodeShell, places),
        opencodeShell("rm -rf forbidden"),
        call("task", {
          description: "look around",
          prompt: "SUBTASK: look around",
          subagent_type: "general",
        }),
        { text: "All done." },
      ],
      sub: [opencodeShell("echo sub > sub.txt"), { text: "Looked around." }],
    }),
    calls: [
      "read ok",
      "edit ok",
      "write ok",
      "bash ok",
      "bash failed",
      "bash ok",
      "bash failed",
      "bash denied",
      "task ok",
      "  bash ok",
    ],
  },
  gemini: {
    variable: "HOLDFAST_GEMINI",
    env: (url, key) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: key }),
    args: [],
    files: {},
    shell: geminiShell,
    script: (places) => ({
      main: [
        {
          text: "First I read.",
          ...call("read_file", { file_path: `${places.folder}/hello.txt` }),
        },
        call("replace", {
          file_path: `${places.folder}/hello.txt`,
          instruction: "greet",
          old_string: "world",
          new_string: "there",
        }),
        call("write_file", { file_path: `${places.folder}/new.txt`, content: "new\n" }),
        ...commands(geminiShell, places),
        call("invoke_agent", { agent_name: "generalist", prompt: "SUBTASK: look around" }),
        { text: "All done." },
      ],
      sub: [geminiShell("echo sub > sub.txt"), { text: "Looked around." }],
    }),
    calls: [
      "read_file ok",
      "replace ok",
      "write_file ok",
      "run_shell_command ok",
      "run_shell_command failed",
      "run_shell_command ok",
      "run_shell_command failed",
      "invoke_agent ok",
      "  run_shell_command ok",
    ],
  },
};
