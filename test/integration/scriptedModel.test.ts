import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { agentProgram, type RealAgent } from "../../.config/setupAgents.mjs";
import { startScriptedModel, type ModelScript } from "../support/scriptedModel.ts";

interface Session {
  readonly script: ModelScript;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Files of the agent's HOME, relative. */
  readonly home?: Readonly<Record<string, string>>;
}

/** Each agent's way to read `hello.txt`, say "there" instead of "world", write `new.txt`, copy it by a command, and,
 * where it has sub-agents, let one write `sub.txt`. */
const sessions: Readonly<Record<RealAgent, (folder: string, url: string) => Session>> = {
  "claude-code": (folder, url) => ({
    script: {
      main: [
        {
          text: "First I read.",
          calls: [{ name: "Read", input: { file_path: `${folder}/hello.txt` } }],
        },
        {
          calls: [
            {
              name: "Edit",
              input: {
                file_path: `${folder}/hello.txt`,
                old_string: "world",
                new_string: "there",
              },
            },
            { name: "Write", input: { file_path: `${folder}/new.txt`, content: "new\n" } },
          ],
        },
        { calls: [{ name: "Bash", input: { command: "cp new.txt copy.txt" } }] },
        {
          calls: [
            {
              name: "Agent",
              input: {
                description: "look around",
                prompt: "SUBTASK: look around",
                subagent_type: "general-purpose",
              },
            },
          ],
        },
        { text: "All done." },
      ],
      sub: [
        { calls: [{ name: "Bash", input: { command: "echo sub > sub.txt" } }] },
        { text: "Looked around." },
      ],
    },
    args: ["-p", "Do the work.", "--dangerously-skip-permissions"],
    env: {
      IS_SANDBOX: "1",
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "dummy",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
  }),
  codex: (_folder, url) => ({
    script: {
      main: [
        {
          text: "First I read.",
          calls: [{ name: "exec_command", input: { cmd: "cat hello.txt" } }],
        },
        {
          calls: [
            {
              name: "apply_patch",
              input:
                "*** Begin Patch\n*** Update File: hello.txt\n@@\n-hello world\n+hello there\n*** Add File: new.txt\n+new\n*** End Patch\n",
            },
          ],
        },
        { calls: [{ name: "exec_command", input: { cmd: "cp new.txt copy.txt" } }] },
        { text: "All done." },
      ],
    },
    args: [
      ...["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
      "Do the work.",
    ],
    env: { SCRIPTED_KEY: "dummy" },
    home: {
      ".codex/config.toml": `model = "gpt-5.5"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "${url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
`,
    },
  }),
  opencode: (folder, url) => ({
    script: {
      main: [
        {
          text: "First I read.",
          calls: [{ name: "read", input: { filePath: `${folder}/hello.txt` } }],
        },
        {
          calls: [
            {
              name: "edit",
              input: { filePath: `${folder}/hello.txt`, oldString: "world", newString: "there" },
            },
            { name: "write", input: { filePath: `${folder}/new.txt`, content: "new\n" } },
          ],
        },
        {
          calls: [{ name: "bash", input: { command: "cp new.txt copy.txt", description: "Copy" } }],
        },
        {
          calls: [
            {
              name: "task",
              input: {
                description: "look around",
                prompt: "SUBTASK: look around",
                subagent_type: "general",
              },
            },
          ],
        },
        { text: "All done." },
      ],
      sub: [
        {
          calls: [{ name: "bash", input: { command: "echo sub > sub.txt", description: "Sub" } }],
        },
        { text: "Looked around." },
      ],
    },
    args: ["run", "--model", "scripted/scripted", "Do the work."],
    home: {
      ".config/opencode/opencode.json": JSON.stringify({
        autoupdate: false,
        share: "disabled",
        permission: { "*": "allow" },
        provider: {
          scripted: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: `${url}/v1`, apiKey: "dummy" },
            models: { scripted: { name: "Scripted", tool_call: true } },
          },
        },
      }),
    },
  }),
  gemini: (folder, url) => ({
    script: {
      main: [
        {
          text: "First I read.",
          calls: [{ name: "read_file", input: { file_path: `${folder}/hello.txt` } }],
        },
        {
          calls: [
            {
              name: "replace",
              input: {
                file_path: `${folder}/hello.txt`,
                instruction: "greet",
                old_string: "world",
                new_string: "there",
              },
            },
            { name: "write_file", input: { file_path: `${folder}/new.txt`, content: "new\n" } },
          ],
        },
        { calls: [{ name: "run_shell_command", input: { command: "cp new.txt copy.txt" } }] },
        { text: "All done." },
      ],
    },
    args: ["--yolo", "--skip-trust", "--prompt", "Do the work."],
    env: { GEMINI_API_KEY: "dummy", GOOGLE_GEMINI_BASE_URL: url },
    home: {
      ".gemini/settings.json": JSON.stringify({
        security: { auth: { selectedType: "gemini-api-key" } },
        privacy: { usageStatisticsEnabled: false },
      }),
    },
  }),
};

async function play(name: RealAgent, folder: string): Promise<string> {
  const script: ModelScript[] = [];
  const model = await startScriptedModel(() => script[0]!);
  const session = sessions[name](path.join(folder, "project"), model.url);
  script.push(session.script);
  const home = path.join(folder, "home");
  for (const [file, content] of Object.entries(session.home ?? {})) {
    fs.mkdirSync(path.dirname(path.join(home, file)), { recursive: true });
    fs.writeFileSync(path.join(home, file), content);
  }
  const running = promisify(execFile)(agentProgram(name), [...session.args], {
    cwd: path.join(folder, "project"),
    env: { PATH: process.env["PATH"], HOME: home, ...session.env },
    timeout: 100_000,
  });
  // A pipe that stays open would be read as more of the prompt.
  running.child.stdin?.end();
  try {
    return (await running).stdout;
  } finally {
    await model.close();
  }
}

/** Real agents play the script on real files, without a sandbox: this tests the model server, nothing else. */
describe("scripted model", () => {
  let folder: string;
  beforeEach(() => {
    folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-model-")));
    fs.mkdirSync(path.join(folder, "project"));
    fs.mkdirSync(path.join(folder, "home"));
    fs.writeFileSync(path.join(folder, "project", "hello.txt"), "hello world\n");
  });
  afterEach(() => fs.rmSync(folder, { recursive: true, maxRetries: 5 }));

  for (const name of Object.keys(sessions) as RealAgent[])
    it(`leads ${name} through reads, edits, commands and sub-agents`, async () => {
      const said = await play(name, folder);
      const read = (file: string): string =>
        fs.readFileSync(path.join(folder, "project", file), "utf8");
      assert.match(said, /All done\./);
      assert.equal(read("hello.txt"), "hello there\n");
      assert.equal(read("copy.txt"), "new\n");
      if (name === "claude-code" || name === "opencode") assert.equal(read("sub.txt"), "sub\n");
    }).timeout(120_000);
});
