import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import * as z from "zod";
import { messageOf } from "../base/errors.ts";
import { parseJson } from "../base/jsonl.ts";
import { maskedSecrets } from "../node/fork/secretMasks.ts";
import type { JournalFile } from "../node/journal/journalFile.ts";
import type { Secret } from "../node/secrets/vault.ts";
import type { LiveTraces } from "../node/telemetry/liveTraces.ts";
import { homeOf } from "../node/state/home.ts";
import type { TransactionPaths } from "../runtime/ports.ts";
import { version } from "./installationPaths.ts";
import { writeWhole } from "./stateFiles.ts";

const saved = z.object({ endpoint: z.string() });

/** What of the start a later supervisor of the same transaction needs. */
function savedFile(paths: TransactionPaths): string {
  return path.join(paths.state, "traces.json");
}

/** Values that the masks of a fork hide: they go nowhere, and are scrubbed. */
function hiddenSecrets(paths: TransactionPaths): readonly Secret[] {
  return maskedSecrets(paths.state).map((secret) => ({ ...secret, bindings: [] }));
}

/** The live export of one supervisor; off unless the user named an endpoint. Whatever is wrong with it is said once in the
 * journal, and never in the way of the transaction. */
export class TraceExport {
  readonly #paths: TransactionPaths;
  readonly #journal: JournalFile;
  #traces: LiveTraces | undefined;
  #listening: Disposable | undefined;

  constructor(paths: TransactionPaths, journal: JournalFile) {
    this.#paths = paths;
    this.#journal = journal;
  }

  /** For a transaction that begins: `secrets` are all values that may not be told. */
  async begin(endpoint: string | undefined, secrets: readonly Secret[]): Promise<void> {
    if (endpoint !== undefined) writeWhole(savedFile(this.#paths), JSON.stringify({ endpoint }));
    await this.#start(endpoint, secrets, 0);
  }

  /** For a transaction that an earlier supervisor began: what it journaled is not sent again. */
  async reopen(): Promise<void> {
    const file = savedFile(this.#paths);
    const before = existsSync(file) ? parseJson(readFileSync(file, "utf8")) : undefined;
    const parsed = saved.safeParse(before);
    const endpoint = parsed.success ? parsed.data.endpoint : undefined;
    const hidden = existsSync(this.#paths.state) ? hiddenSecrets(this.#paths) : [];
    await this.#start(endpoint, hidden, this.#journal.entries().length);
  }

  async close(): Promise<void> {
    this.#listening?.[Symbol.dispose]();
    await this.#traces?.close();
  }

  async #start(
    endpoint: string | undefined,
    secrets: readonly Secret[],
    known: number,
  ): Promise<void> {
    try {
      const home = homeOf(this.#paths);
      // What sends traces takes long to load, and most transactions send none.
      const { traceTarget } = await import("../node/telemetry/traceSettings.ts");
      const target = await traceTarget(endpoint, home, process.env);
      if (target === undefined) return;
      const { LiveTraces } = await import("../node/telemetry/liveTraces.ts");
      const { Vault } = await import("../node/secrets/vault.ts");
      const traces = new LiveTraces({
        target,
        transaction: path.basename(this.#paths.root),
        version,
        vault: new Vault(secrets),
        onProblem: (message) => this.#tell(message),
      });
      this.#traces = traces;
      traces.seed(this.#journal.entries().slice(0, known));
      for (const entry of this.#journal.entries().slice(known)) traces.take(entry);
      this.#listening = this.#journal.onAppend((entry) => traces.take(entry));
    } catch (error) {
      this.#tell(`traces are not sent: ${messageOf(error)}`);
    }
  }

  #tell(message: string): void {
    try {
      this.#journal.append({ kind: "alert", source: "holdfast", code: "traces-not-sent", message });
    } catch {
      // The journal is closed or cannot be written: that is told elsewhere, and this is not worth more.
    }
  }
}
