import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { agentProgram, type RealAgent } from "../../.config/setupAgents.mjs";
import { agentSessions } from "../support/agentSessions.ts";
import {
  builtCommand,
  commandWorlds,
  eventually,
  type CommandWorld,
} from "../support/holdfastCommand.ts";
import { startScriptedModel, type ScriptedModel } from "../support/scriptedModel.ts";
import { Terminal } from "../support/terminal.ts";

/** What the own interface of an agent shows and takes. */
interface Interface {
  readonly agent: RealAgent;
  /** On the screen once it takes a prompt. */
  readonly ready: RegExp;
  readonly quit: string;
}

const interfaces: readonly Interface[] = [
  { agent: "claude-code", ready: /❯/, quit: "/exit" },
  // The model that the session names has a newer one: it is not asked about.
  { agent: "codex", ready: /›/, quit: "/quit" },
  { agent: "opencode", ready: /Ask anything/, quit: "/exit" },
  { agent: "gemini", ready: /Type your message/, quit: "/quit" },
];

const prompt = "Make the copy.";

describe("agents in their own interfaces", () => {
  const newWorld = commandWorlds();
  let terminal: Terminal | undefined;
  afterEach(() => terminal?.close());

  it("a held call is told in lines of their own, also where the terminal is the agent's", async () => {
    const world = newWorld();
    const held = "curl --silent --max-time 100 --data word http://held.example/";
    terminal = new Terminal(
      [process.execPath, builtCommand, "run", "--", "sh", "-c", `printf working; ${held}`],
      {
        cwd: world.workspace,
        env: {
          ...process.env,
          HOLDFAST_HOME: world.home,
          XDG_CONFIG_HOME: path.join(world.home, "config"),
        },
      },
    );
    await terminal.shows(/^holdfast: held: .*$[^]*^holdfast: {3}`holdfast approve h-/m);
    assert.match(terminal.screen, /^working$/m);
    const [hold] = await world.json<{ hold: string }[]>(["holds"]);
    assert.equal((await world.run(["deny", hold?.hold ?? ""])).code, 0);
    const { code } = await terminal.press("", "the end", () =>
      terminal?.code === undefined ? undefined : { code: terminal.code },
    );
    assert.notEqual(code, 255);
  }).timeout(300_000);

  it("a terminal that was typed to by a pipe is one that a person can come back to", async () => {
    const world = newWorld();
    const env = {
      ...process.env,
      HOLDFAST_HOME: world.home,
      XDG_CONFIG_HOME: path.join(world.home, "config"),
    };
    const sit = (...words: readonly string[]): Terminal =>
      new Terminal([process.execPath, builtCommand, ...words], { cwd: world.workspace, env });
    const reads =
      'while read -r line; do /bin/echo got $line; [ "$line" = end ] && exit; done; echo eof';
    terminal = sit("run", "--", "sh", "-c", `echo ready; ${reads}`);
    await terminal.shows(/^ready$/m);
    terminal.type("\x1c");
    await terminal.shows(/detached; `holdfast attach/);
    const piped = world.run(["attach", "latest"], { input: "one\n" });
    await eventually(async () => {
      const execs = (await world.entries()).filter((entry) => entry.kind === "process.exec");
      return execs.find(({ argv }) => argv.join(" ") === "/bin/echo got one");
    }, "what was typed by the pipe");
    const back = sit("attach", "latest");
    terminal = back;
    const left = await piped;
    assert.equal(left.code, 0);
    assert.match(left.stderr, /another terminal took over/);
    await back.press("end\r", "the end", () => (back.code === undefined ? undefined : true));
    assert.match(back.screen, /^got one$[^]*^got end$/m);
    assert.doesNotMatch(back.screen, /^eof$/m);
    const status = await world.json<{ exitCode: number }>(["status", "latest"]);
    assert.equal(status.exitCode, 0);
  }).timeout(300_000);

  /** The agent's own interface with the prompt sent. */
  async function prompted(
    world: CommandWorld,
    agent: RealAgent,
    model: ScriptedModel,
  ): Promise<Terminal> {
    const { variable, env, args } = agentSessions[agent];
    const shown = new Terminal([process.execPath, builtCommand, "run", "--agent", agent, ...args], {
      cwd: world.workspace,
      env: {
        ...process.env,
        HOLDFAST_HOME: world.home,
        XDG_CONFIG_HOME: path.join(world.home, "config"),
        // With it Gemini CLI takes no terminal for one.
        CI: undefined,
        [variable]: agentProgram(agent),
        ...env(model.url, "sk-a-key"),
      },
    });
    terminal = shown;
    const ready = interfaces.find((one) => one.agent === agent)?.ready ?? /./;
    await shown.shows(ready);
    await shown.press(prompt, "the prompt", () =>
      shown.screen.includes(prompt) ? true : undefined,
    );
    await shown.press("\r", "the prompt at the model", () =>
      model.requests.some(({ body }) => JSON.stringify(body).includes(prompt)) ? true : undefined,
    );
    return shown;
  }

  for (const { agent, quit } of interfaces) {
    it(`${agent}: a person interrupts a command, which is told as cancelled`, async () => {
      const world = newWorld({ "hello.txt": "hello world\n" });
      const { shell } = agentSessions[agent];
      const model = await startScriptedModel({
        main: [shell("echo begun > begun.txt; sleep 300")],
      });
      const ends = async (): Promise<string[]> =>
        (await world.entries()).flatMap((entry) =>
          entry.kind === "tool.finished" ? [entry.status] : [],
        );
      try {
        const shown = await prompted(world, agent, model);
        await eventually(
          async () => {
            const execs = (await world.entries()).filter((entry) => entry.kind === "process.exec");
            return execs.find(({ argv }) => argv.join(" ") === "sleep 300");
          },
          "the command",
          90_000,
        );
        // Codex leaves it running in the background.
        if (agent === "codex")
          await shown.press("\u001b", "the end of the turn", () =>
            /interrupted/.test(shown.screen) ? true : undefined,
          );
        else
          await shown.press("\u001b", "the end of the call", async () =>
            (await ends()).length > 0 ? true : undefined,
          );
        assert.equal((await world.run(["stop", "latest"])).code, 0);
      } finally {
        await model.close();
      }
      assert.deepEqual(await ends(), ["cancelled"]);
      const changed = (await world.entries()).filter((entry) => entry.kind === "file.changed");
      assert.deepEqual(
        changed.map((entry) => entry.path),
        ["begun.txt"],
      );
    }).timeout(400_000);

    it(`${agent}: takes what is typed, works, and quits`, async () => {
      const world = newWorld({ "hello.txt": "hello world\n" });
      const { shell } = agentSessions[agent];
      const model = await startScriptedModel({
        main: [shell("cp hello.txt copy.txt"), { text: "It is copied." }],
      });
      try {
        const shown = await prompted(world, agent, model);
        await shown.shows(/It is copied\./);
        await shown.press(quit, "the word to quit", () =>
          shown.screen.includes(quit) ? true : undefined,
        );
        await shown.press("\r", "the end", () => shown.code);
        assert.equal(shown.code, 0, shown.screen);
        assert.match(shown.screen, /sealed: 1 added, 0 modified, 0 deleted/);
      } finally {
        await model.close();
      }
      const entries = await world.entries();
      const [call, ...more] = entries.filter((entry) => entry.kind === "tool.started");
      assert.deepEqual(more, []);
      assert.match(JSON.stringify(call?.input), /cp hello\.txt copy\.txt/);
      const ends = entries.filter((entry) => entry.kind === "tool.finished");
      assert.deepEqual(
        ends.map(({ status }) => status),
        ["ok"],
      );
      const changed = entries.filter((entry) => entry.kind === "file.changed");
      assert.deepEqual(
        changed.map((entry) => [entry.path, entry.parent]),
        [["copy.txt", call?.seq]],
      );
      assert.deepEqual(
        entries.filter((entry) => entry.kind === "hold.opened"),
        [],
        "its start asks nobody",
      );
      assert.ok(!existsSync(path.join(world.workspace, "copy.txt")));
    }).timeout(400_000);
  }
});
