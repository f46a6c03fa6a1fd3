import { PassThrough } from "node:stream";
import { Failure, messageOf } from "../base/errors.ts";
import { visibleLine } from "../base/visibleText.ts";
import type { AgentEvent, AgentSession, OpenSession, SessionRequest } from "../runtime/agent.ts";
import type { Journal } from "../runtime/journal.ts";
import type { OpenTransaction } from "../runtime/openTransaction.ts";
import type { Sandbox } from "../runtime/ports.ts";
import { version } from "./installationPaths.ts";

/** Text that comes in small pieces is journaled in larger ones: at most one entry in this time, milliseconds. */
const gatherMs = 150;

/** Characters that are journaled at the latest: an entry of text is never large enough to become a blob. */
const gatherMost = 2000;

/** What a terminal would obey, rather than show: every control but the tab and the end of a line. */
const controls = /[^\P{Cc}\t\n]/gu;

/** How long an agent whose session is over may take to end by itself, milliseconds. */
const farewellMs = 3000;

/** What a session works with. */
export interface SessionParts {
  readonly transaction: string;
  readonly open: OpenTransaction;
  readonly journal: Journal;
  readonly speak: OpenSession;
  readonly cwd: string;
  readonly mcpServers: readonly string[];
  /** Sent as soon as the session is there. */
  readonly prompt?: string;
  /** Ends the session after that prompt. */
  readonly once: boolean;
  /** Ends the agent and seals. */
  readonly seal: () => Promise<void>;
}

/**
 * The conversation of one transaction with an agent that is spoken to over its standard streams: one prompt at a time.
 * What is said is journaled (`prompt`, `text`, `thought`, `plan`, `turn.ended`) and written as plain text for a terminal.
 */
export class SessionDesk {
  /** What a terminal shows in the place of the agent's own streams. */
  readonly streams: Pick<Sandbox, "stdin" | "stdout" | "stderr" | "resize" | "signal">;
  readonly #parts: SessionParts;
  readonly #shown = new PassThrough();
  readonly #session: Promise<AgentSession>;
  #gathered: { readonly event: "text" | "thought"; text: string } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #busy = false;
  /** Gives up the prompt that waits for the session. */
  #giveUp: (() => void) | undefined;
  #began = false;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    const { open, speak, cwd, mcpServers } = parts;
    const { sandbox } = open;
    const typed = new PassThrough();
    // Ctrl-C in a terminal ends the turn, not the agent.
    typed.on("data", (bytes: Buffer) => {
      if (bytes.includes(3)) void this.cancel();
    });
    this.streams = {
      stdin: typed,
      stdout: this.#shown,
      ...(sandbox.stderr === undefined ? {} : { stderr: sandbox.stderr }),
      resize: () => undefined,
      signal: (name) => sandbox.signal(name),
    };
    const { stdin, stdout } = sandbox;
    const onEvent = (event: AgentEvent): void => this.#take(event);
    const onUnanswered: SessionRequest["onUnanswered"] = (asked, seconds) =>
      this.#alert(
        "session-unanswered",
        `the agent has not answered ${asked} for ${seconds} seconds; it may be slow: wait, or end it with \`holdfast stop ${parts.transaction}\``,
      );
    const spoken = speak({ stdin, stdout, cwd, mcpServers, version, onEvent, onUnanswered });
    const gone = open.exited.then((): never => {
      const message = "the agent's session did not begin: the agent ended";
      throw new Failure("failed", "agent-gone", message);
    });
    this.#session = Promise.race([spoken, gone]);
    this.#session.then(
      () => (this.#began = true),
      () => undefined,
    );
    void open.exited.then(() => this.#over());
    void this.#begin();
  }

  /** Sends a prompt and waits for the end of the turn. Throws a Failure `busy` while another one runs. */
  async prompt(text: string): Promise<{ readonly stopReason: string }> {
    if (this.#busy) {
      const fix = "wait for its end, or cancel it";
      throw new Failure("failed", "busy", "the agent still works on the prompt before", fix);
    }
    this.#busy = true;
    try {
      const session = await this.#sessionUnlessCancelled();
      this.#record("prompt", "person", { text });
      const stopReason = session === undefined ? "cancelled" : await session.prompt(text);
      this.#flush();
      this.#record("turn.ended", "acp", { stopReason });
      return { stopReason };
    } catch (error) {
      this.#flush();
      const message = messageOf(error);
      this.#record("turn.ended", "acp", { stopReason: "error", message });
      this.#alert("session", message);
      throw error;
    } finally {
      this.#busy = false;
      this.#show("\n");
    }
  }

  /** Undefined when the prompt was cancelled before there was a session: the agent has heard nothing of it. */
  async #sessionUnlessCancelled(): Promise<AgentSession | undefined> {
    const givenUp = new Promise<undefined>((resolve) => {
      this.#giveUp = () => resolve(undefined);
    });
    try {
      return await Promise.race([this.#session, givenUp]);
    } finally {
      this.#giveUp = undefined;
    }
  }

  /** Asks the agent to end its turn; nothing happens when none runs. */
  async cancel(): Promise<null> {
    if (this.#giveUp !== undefined) this.#giveUp();
    else if (this.#busy) await (await this.#session).cancel();
    return null;
  }

  /** The first prompt; afterwards the session stays open for others, or ends. */
  async #begin(): Promise<void> {
    const { prompt, once } = this.#parts;
    let failed: unknown;
    try {
      if (prompt !== undefined) {
        const { stopReason } = await this.prompt(prompt);
        if (once) {
          await this.#end(stopReason === "refusal" ? 1 : 0);
          return;
        }
      }
    } catch (error) {
      failed = error; // told by the prompt
    }
    try {
      await this.#session;
    } catch (error) {
      if (error !== failed) this.#alert("session", messageOf(error));
      failed = error;
      await this.#end(1);
      return;
    }
    // Nobody is there to go on.
    if (failed !== undefined && once) await this.#end(1);
  }

  /** The session is over: the agent is asked to go, then ended. */
  async #end(exitCode: number): Promise<void> {
    const { open, seal } = this.#parts;
    open.concludes(exitCode);
    open.sandbox.stdin.end();
    const patience = new Promise((resolve) => setTimeout(resolve, farewellMs).unref());
    await Promise.race([open.exited, patience]);
    await seal();
  }

  #over(): void {
    this.#flush();
    // It went in the middle of something: that is no good end, whatever its own exit code is.
    if (this.#busy || !this.#began) this.#parts.open.concludes(1);
    this.#shown.end();
    void this.#session.then(
      (session) => session.close(),
      () => undefined,
    );
  }

  #take(event: AgentEvent): void {
    if (event.type === "other" && (event.event === "text" || event.event === "thought")) {
      this.#gather(event.event, (event.data as { text: string }).text);
      return;
    }
    this.#flush();
    if (event.type === "toolStarted") this.#show(`\n• ${visibleLine(event.title)}\n`);
    this.#parts.open.hear(event, "acp");
  }

  #gather(event: "text" | "thought", text: string): void {
    if (event === "text") this.#show(text);
    if (this.#gathered !== undefined && this.#gathered.event !== event) this.#flush();
    this.#gathered ??= { event, text: "" };
    this.#gathered.text += text;
    if (this.#gathered.text.length > gatherMost) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), gatherMs);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const gathered = this.#gathered;
    this.#gathered = undefined;
    if (gathered === undefined) return;
    const { event, text } = gathered;
    this.#parts.open.hear({ type: "other", event, data: { text } }, "acp");
  }

  #alert(code: string, message: string): void {
    this.#parts.journal.append({ kind: "alert", source: "acp", code, message });
    this.#show(`\n${message}\n`);
  }

  #record(event: string, source: "person" | "acp", data: Record<string, string>): void {
    const { journal } = this.#parts;
    journal.append({ kind: "agent.event", source, event, data: journal.keep(data) });
  }

  /** An agent that is spoken to has no screen of its own: its words may not steer the person's terminal. */
  #show(text: string): void {
    if (!this.#shown.writableEnded) this.#shown.write(text.replaceAll(controls, ""));
  }
}
