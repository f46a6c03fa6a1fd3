import { spawn } from "node:child_process";
import path from "node:path";
import { createInterface } from "node:readline";
import { builtCommand, eventually, type CommandWorld } from "./holdfastCommand.ts";
import type { Entry, EntryKind, EntryOf } from "../../src/core/journal/entry.ts";

/** One tool call of the directed agent: what it writes, by path; `null` deletes. */
export interface DirectedCall {
  readonly title: string;
  readonly writes: Readonly<Record<string, string | null>>;
}

/** Lies in the workspace; does what it reads on its standard input, a list of tool calls per line, and answers each line. */
export const directedAgent = `
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { createInterface } from "node:readline";
const socket = net.connect(process.env.HOLDFAST_AGENT_SOCK);
const tell = (event) =>
  new Promise((told) => socket.write(JSON.stringify({ ...event, at: new Date().toISOString() }) + "\\n", told));
let count = 0;
for await (const line of createInterface({ input: process.stdin })) {
  for (const { title, writes } of JSON.parse(line)) {
    const call = "call-" + ++count;
    await tell({ event: "tool.started", call, tool: "Edit", toolKind: "edit", title, input: Object.keys(writes) });
    for (const [file, content] of Object.entries(writes)) {
      if (content === null) fs.rmSync(file);
      else {
        fs.mkdirSync(path.dirname(file), { recursive: true });
        fs.writeFileSync(file, content);
      }
    }
    await tell({ event: "tool.finished", call, status: "ok", output: "" });
    // Longer than the clock of the file system, so that a change belongs to one call alone.
    await new Promise((later) => setTimeout(later, 30));
  }
  console.log("done");
}
socket.end();
`;

/** `holdfast run` around the directed agent, which must be `agent.mjs` in the workspace. */
export class DirectedRun {
  readonly #world: CommandWorld;
  readonly #child: ReturnType<typeof spawn>;
  readonly ended: Promise<{ readonly code: number | null; readonly stderr: string }>;
  readonly #answers: AsyncIterator<string>;

  constructor(world: CommandWorld, options: readonly string[] = []) {
    this.#world = world;
    const args = ["run", "--agent", "scripted", ...options, "--", "node", "agent.mjs"];
    this.#child = spawn(process.execPath, [builtCommand, ...args], {
      cwd: world.workspace,
      env: {
        ...process.env,
        HOLDFAST_HOME: world.home,
        XDG_CONFIG_HOME: path.join(world.home, "config"),
      },
      stdio: ["pipe", "pipe", "pipe"],
    });
    let stderr = "";
    this.#child.stderr?.on("data", (bytes: Buffer) => (stderr += bytes.toString("utf8")));
    this.#answers = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
    this.ended = new Promise((resolve) =>
      this.#child.once("close", (code) => resolve({ code, stderr })),
    );
  }

  /** Lets the agent make calls, one right after the other. */
  async calls(...calls: readonly DirectedCall[]): Promise<void> {
    this.#child.stdin?.write(`${JSON.stringify(calls)}\n`);
    await this.#answers.next();
  }

  /** Waits for the entry of that kind after `after`. */
  next<K extends EntryKind>(kind: K, after = 0): Promise<EntryOf<K>> {
    return eventually(
      async () => {
        const entries: readonly Entry[] = await this.#world.entries().catch(() => []);
        return entries.find(
          (entry): entry is EntryOf<K> & Entry => entry.kind === kind && entry.seq > after,
        );
      },
      kind,
      60_000,
    );
  }

  /** Lets the agent end and waits for the seal. */
  async end(): Promise<{ readonly code: number | null; readonly stderr: string }> {
    this.#child.stdin?.end();
    return this.ended;
  }
}
