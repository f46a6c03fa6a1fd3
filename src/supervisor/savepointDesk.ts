import { Failure, messageOf } from "../base/errors.ts";
import type { Journal } from "../runtime/journal.ts";
import type { Fork, Sandbox, Savepoint, Savepoints, TransactionPaths } from "../runtime/ports.ts";

/** What savepoints are taken of. */
export interface SavepointScope {
  readonly workspace: string;
  readonly paths: TransactionPaths;
  readonly fork: () => Fork;
  /** The agent's sandbox while it runs: it is frozen for the moment of a savepoint. */
  readonly sandbox: () => Sandbox | undefined;
}

/**
 * Takes and restores savepoints, one at a time, and journals them. One is taken by itself after tool calls that changed
 * files; those that come while one is being taken share the next.
 */
export class SavepointDesk {
  readonly #savepoints: Savepoints;
  readonly #journal: Journal;
  readonly #scope: SavepointScope;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = false;

  constructor(savepoints: Savepoints, journal: Journal, scope: SavepointScope) {
    this.#savepoints = savepoints;
    this.#journal = journal;
    this.#scope = scope;
  }

  list(): readonly Savepoint[] {
    return this.#savepoints.list(this.#scope.paths);
  }

  /** A file as a savepoint has it, base64; nothing when it has none there. */
  async file(path: string, savepoint: string): Promise<{ content?: string }> {
    const { workspace, paths, fork } = this.#scope;
    const bytes = await this.#savepoints.read(fork(), workspace, paths, { savepoint, path });
    return bytes === undefined ? {} : { content: Buffer.from(bytes).toString("base64") };
  }

  /** A tool call changed files. */
  changed(): void {
    if (this.#waiting) return;
    this.#waiting = true;
    void this.#inTurn(async () => {
      this.#waiting = false;
      await this.#take(undefined, "holdfast");
    }).catch((error: unknown) => {
      const message = `no savepoint could be taken: ${messageOf(error)}`;
      this.#journal.append({
        kind: "alert",
        source: "holdfast",
        code: "savepoint-failed",
        message,
      });
    });
  }

  /** One on request (of a person, or of the agent through our MCP server), also when nothing has changed. */
  async take(name: string | undefined, by: "person" | "mcp" = "person"): Promise<Savepoint> {
    const taken = await this.#inTurn(() => this.#take(name ?? "", by));
    if (taken === undefined) throw new Failure("failed", "no-savepoint", "no savepoint was taken");
    return taken;
  }

  /** Brings the shadow back; resolves with the savepoint of the state that was left. */
  restore(to: string, by: "person" | "mcp" = "person"): Promise<Savepoint> {
    return this.#inTurn(() =>
      this.#frozen(async () => {
        const { workspace, paths, fork } = this.#scope;
        const before = performance.now();
        const at = new Date().toISOString();
        const hostView = this.#scope.sandbox()?.hostView;
        const options = { at, to, hostView };
        const left = await this.#savepoints.restore(fork(), workspace, paths, options);
        this.#record(left, performance.now() - before, by);
        const { savepoint } = left;
        this.#journal.append({ kind: "savepoint.restored", source: by, savepoint, to });
        return left;
      }),
    );
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await this.#last;
  }

  #take(
    name: string | undefined,
    by: "person" | "mcp" | "holdfast",
  ): Promise<Savepoint | undefined> {
    return this.#frozen(async () => {
      const { workspace, paths, fork } = this.#scope;
      const before = performance.now();
      const at = new Date().toISOString();
      const taken = await this.#savepoints.take(fork(), workspace, paths, { at, name });
      if (taken !== undefined) this.#record(taken, performance.now() - before, by);
      return taken;
    });
  }

  #record(taken: Savepoint, durationMs: number, source: "holdfast" | "person" | "mcp"): void {
    const { savepoint, name, files } = taken;
    this.#journal.append({
      kind: "savepoint.taken",
      source,
      savepoint,
      ...(name === undefined || name === "" ? {} : { name }),
      files,
      durationMs: Math.round(durationMs),
    });
  }

  async #frozen<T>(work: () => Promise<T>): Promise<T> {
    const sandbox = this.#scope.sandbox();
    try {
      // Inside: what could not be frozen as a whole is thawed too, else the agent would stand still for good.
      await sandbox?.freeze();
      return await work();
    } finally {
      await sandbox?.thaw();
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => undefined);
    return mine;
  }
}
