import type { Entry, EntryOf } from "../journal/entry.ts";
import { ProcessParents } from "../timeline/processParents.ts";
import { Timeline } from "../timeline/timeline.ts";
import {
  checkError,
  earlier,
  names,
  shortList,
  shortText,
  splitQuery,
  type TraceSpan,
} from "./span.ts";
import { SpanTree, type Opening, type Told } from "./spanTree.ts";

/**
 * The trace of a transaction: a fold over its journal, as the timeline is one, and in agreement with it about classes.
 *
 * - A span is known by the `seq` of the entry that opened it, so every export of a journal gives the same spans.
 * - The span of the transaction ends when the agent's work ends (sealed, discarded, interrupted, failed). What a person does
 *   with it afterwards hangs under it and may lie later.
 * - What has no span above it in the journal hangs under the transaction.
 */
export class TraceFold {
  readonly #timeline = new Timeline();
  readonly #tree = new SpanTree();
  readonly #starters = new ProcessParents();
  readonly #calls = new Map<string, number>();
  readonly #processes = new Map<number, number>();
  readonly #requests = new Map<string, number>();
  readonly #holds = new Map<string, number>();
  readonly #commits = new Map<string, number>();
  #lastAt = "";

  /** Takes the next entry; returns the `seq`s of the spans that it made or changed. */
  apply(entry: Entry): readonly number[] {
    this.#timeline.apply(entry);
    this.#lastAt = entry.at;
    const changed = this.#apply(entry);
    return changed === undefined ? [] : [changed];
  }

  /** Every span, in the order of the journal; those that have not ended end with the last entry and are marked. */
  spans(): readonly TraceSpan[] {
    return [...this.#tree.seqs()].flatMap((seq) => this.span(seq) ?? []);
  }

  /** One span as it is now. */
  span(seq: number): TraceSpan | undefined {
    return this.#tree.span(seq, this.#lastAt, this.#classOf(seq));
  }

  /** True when a span and everything below it have ended. */
  settled(seq: number): boolean {
    return this.#tree.settled(seq);
  }

  /** What the timeline says of the same thing. */
  #classOf(seq: number): Told {
    const node = seq === this.#tree.root ? undefined : this.#timeline.node(seq);
    if (node === undefined) return {};
    const { processes, files, requests } = node.effects;
    const effects = {
      "holdfast.effects.processes": processes,
      "holdfast.effects.files": files,
      "holdfast.effects.requests": requests,
    };
    return {
      "holdfast.reversibility": node.reversibility,
      ...(node.kind === "tool" ? effects : {}),
      ...(node.mismatch === undefined ? {} : { "holdfast.mismatch": shortText(node.mismatch) }),
    };
  }

  #apply(entry: Entry): number | undefined {
    const starter = this.#starters.apply(entry);
    switch (entry.kind) {
      case "tool.started":
        return this.#toolStarted(entry);
      case "tool.finished":
        return this.#toolFinished(entry);
      case "process.exec":
        return this.#processExec(entry, starter);
      case "process.exit":
        return this.#processExit(entry);
      case "file.changed":
        return this.#fileChanged(entry);
      case "request.started":
        return this.#requestStarted(entry);
      case "request.finished":
        return this.#requestFinished(entry);
      case "verdict":
        return this.#verdict(entry);
      case "hold.opened":
        return this.#holdOpened(entry);
      case "hold.decided":
        return this.#holdDecided(entry);
      case "secret.used":
        return this.#secretUsed(entry);
      case "alert":
        return this.#open(entry, {
          name: `alert ${entry.code}`,
          endAt: entry.at,
          error: entry.message,
          attributes: { "holdfast.alert": entry.code },
        });
      default:
        return this.#applyTransaction(entry);
    }
  }

  #applyTransaction(entry: Entry): number | undefined {
    switch (entry.kind) {
      case "transaction.begun":
        return this.#begun(entry);
      case "transaction.forked":
        this.#tellRoot({
          "holdfast.backend": entry.backend,
          "holdfast.files": entry.files,
        });
        return this.#open(entry, {
          name: "fork",
          startAt: earlier(entry.at, entry.forkMs),
          endAt: entry.at,
          attributes: { "holdfast.backend": entry.backend, "holdfast.files": entry.files },
        });
      case "transaction.started":
        return this.#tellRoot({ "holdfast.sandbox": shortText(entry.sandbox) });
      case "transaction.exited":
        return this.#tellRoot({
          [names.exitCode]: entry.exitCode ?? undefined,
          "holdfast.signal": entry.signal,
        });
      case "transaction.sealed": {
        const { added, modified, deleted } = entry.counts;
        return this.#endRoot(entry, "sealed", {
          "holdfast.changes.added": added,
          "holdfast.changes.modified": modified,
          "holdfast.changes.deleted": deleted,
        });
      }
      case "transaction.discarded":
        return this.#endRoot(entry, "discarded", {});
      case "transaction.interrupted":
        return this.#endRoot(entry, "interrupted", {}, entry.reason);
      case "transaction.failed":
        return this.#endRoot(entry, "failed", {}, entry.message);
      default:
        return this.#applyReview(entry);
    }
  }

  #applyReview(entry: Entry): number | undefined {
    switch (entry.kind) {
      case "check.finished": {
        const { check, status, durationMs, introduced, resolved } = entry;
        return this.#open(entry, {
          name: `check ${check}`,
          startAt: earlier(entry.at, durationMs),
          endAt: entry.at,
          error: checkError(status, entry.note),
          attributes: {
            "holdfast.check": check,
            "holdfast.check.status": status,
            "holdfast.check.introduced": introduced.length,
            "holdfast.check.resolved": resolved.length,
          },
        });
      }
      case "check.step":
        return this.#open(entry, {
          name: `check step ${entry.check}`,
          endAt: entry.at,
          attributes: {
            "holdfast.check": entry.check,
            "holdfast.check.introduced": entry.introduced.length,
            "holdfast.check.resolved": entry.resolved.length,
          },
        });
      case "savepoint.taken":
        return this.#open(entry, {
          name: "savepoint",
          startAt: earlier(entry.at, entry.durationMs),
          endAt: entry.at,
          attributes: { "holdfast.savepoint": entry.savepoint, "holdfast.files": entry.files },
        });
      case "savepoint.restored":
        return this.#open(entry, {
          name: "restore",
          endAt: entry.at,
          attributes: { "holdfast.savepoint": entry.to },
        });
      case "commit.intended": {
        const name = entry.undoes === undefined ? "commit" : "undo";
        const attributes = {
          "holdfast.commit": entry.commit,
          "holdfast.files": entry.paths.length,
        };
        const seq = this.#open(entry, { name, attributes });
        this.#commits.set(entry.undoes ?? entry.commit, seq);
        return seq;
      }
      case "commit.published":
        return this.#end(this.#commits.get(entry.commit), entry.at, {
          "holdfast.published": entry.published,
          "holdfast.merged": entry.merged,
        });
      case "commit.undone":
        return this.#end(this.#commits.get(entry.commit), entry.at, {
          "holdfast.published": entry.files,
        });
      case "commit.abandoned":
        return this.#end(this.#commits.get(entry.commit), entry.at, {}, entry.reason);
      default:
        return undefined;
    }
  }

  #begun(entry: EntryOf<"transaction.begun">): number {
    return this.#open(entry, {
      name: `invoke_agent ${entry.agent}`,
      attributes: {
        [names.operation]: "invoke_agent",
        [names.agent]: entry.agent,
        "holdfast.transaction": entry.transaction,
        "holdfast.workspace": entry.workspace.slice(entry.workspace.lastIndexOf("/") + 1),
        "holdfast.task": entry.task === undefined ? undefined : shortText(entry.task),
        "holdfast.no_sandbox": entry.unsafeNoSandbox,
      },
    });
  }

  #toolStarted(entry: EntryOf<"tool.started">): number {
    const seq = this.#open(entry, {
      name: `execute_tool ${entry.tool}`,
      attributes: {
        [names.operation]: "execute_tool",
        [names.tool]: entry.tool,
        [names.toolCall]: entry.call,
        [names.toolType]: "function",
        [names.agent]: entry.agent,
        "holdfast.tool.kind": entry.toolKind,
        "holdfast.title": shortText(entry.title),
      },
    });
    this.#calls.set(entry.call, seq);
    return seq;
  }

  #toolFinished(entry: EntryOf<"tool.finished">): number | undefined {
    const error = entry.status === "ok" ? undefined : entry.status;
    return this.#end(
      this.#calls.get(entry.call),
      entry.at,
      { "holdfast.tool.status": entry.status },
      error,
    );
  }

  #processExec(entry: EntryOf<"process.exec">, starter: number | undefined): number | undefined {
    const program = entry.program.slice(entry.program.lastIndexOf("/") + 1);
    const attributes = {
      [names.pid]: entry.pid,
      [names.parentPid]: entry.ppid,
      [names.program]: shortText(entry.program),
      [names.arguments]: shortList(entry.argv),
      [names.directory]: shortText(entry.cwd),
    };
    const name = `exec ${program}`;
    const known = this.#processes.get(entry.pid);
    // The same process runs another program.
    if (this.#tree.isOpen(known)) return this.#tree.tell(known, attributes, name);
    const parent = starter ?? entry.parent;
    const seq = this.#open(entry, { name, attributes, parent });
    this.#processes.set(entry.pid, seq);
    return seq;
  }

  #processExit(entry: EntryOf<"process.exit">): number | undefined {
    const { exitCode, signal } = entry;
    const error = exitCode === 0 ? undefined : (signal ?? `exit code ${exitCode ?? "unknown"}`);
    return this.#end(
      this.#processes.get(entry.pid),
      entry.at,
      { [names.exitCode]: exitCode ?? undefined, "holdfast.signal": signal },
      error,
    );
  }

  #fileChanged(entry: EntryOf<"file.changed">): number {
    return this.#open(entry, {
      name: `file ${entry.change}`,
      endAt: entry.at,
      attributes: {
        [names.file]: shortText(entry.path),
        [names.fileSize]: entry.bytes,
        "holdfast.file.change": entry.change,
        "holdfast.file.from": entry.from === undefined ? undefined : shortText(entry.from),
      },
    });
  }

  #requestStarted(entry: EntryOf<"request.started">): number {
    const { path, query } = splitQuery(entry.path);
    const seq = this.#open(entry, {
      name: `${entry.method} ${entry.host}`,
      kind: "client",
      attributes: {
        [names.method]: entry.method,
        [names.scheme]: entry.protocol,
        [names.host]: entry.host,
        [names.port]: entry.port,
        [names.path]: shortText(path),
        [names.query]: query === undefined ? undefined : shortText(query),
        "holdfast.traffic": entry.traffic,
        "holdfast.request.reversibility": entry.reversibility,
        "holdfast.way_back": entry.wayBack,
      },
    });
    this.#requests.set(entry.request, seq);
    return seq;
  }

  #requestFinished(entry: EntryOf<"request.finished">): number | undefined {
    const { status, bytesSent, bytesReceived, error } = entry;
    const failed = error ?? (status !== undefined && status >= 400 ? String(status) : undefined);
    return this.#end(
      this.#requests.get(entry.request),
      entry.at,
      {
        [names.status]: status,
        [names.sent]: bytesSent,
        [names.received]: bytesReceived,
      },
      failed,
    );
  }

  #verdict(entry: EntryOf<"verdict">): number | undefined {
    const seq = this.#requests.get(entry.request);
    const told = {
      "holdfast.verdict": entry.verdict,
      "holdfast.rule": entry.rule,
      "holdfast.reason": shortText(entry.reason),
    };
    if (entry.verdict === "deny") {
      return this.#end(seq, entry.at, told, `denied by ${entry.rule}`);
    }
    return this.#tree.tell(seq, told);
  }

  #holdOpened(entry: EntryOf<"hold.opened">): number {
    const seq = this.#open(entry, {
      name: "hold",
      parent: this.#requests.get(entry.request) ?? entry.parent,
      attributes: {
        "holdfast.hold": entry.hold,
        "holdfast.rule": entry.rule,
        "holdfast.reason": shortText(entry.reason),
        "holdfast.way_back": entry.wayBack,
        "holdfast.payload.sha256": entry.payloadSha256,
      },
    });
    this.#holds.set(entry.hold, seq);
    return seq;
  }

  #holdDecided(entry: EntryOf<"hold.decided">): number | undefined {
    const { decision, scope } = entry;
    const error = decision === "approve" ? undefined : decision;
    const told = { "holdfast.decision": decision, "holdfast.scope": scope };
    return this.#end(this.#holds.get(entry.hold), entry.at, told, error);
  }

  #secretUsed(entry: EntryOf<"secret.used">): number | undefined {
    // The name of the secret, never its value: the journal has none.
    return this.#tree.addEvent(this.#requests.get(entry.request), {
      name: "holdfast.secret.used",
      at: entry.at,
      attributes: { "holdfast.secret": entry.secret, "holdfast.where": entry.where },
    });
  }

  #open(entry: Entry, opening: Opening): number {
    return this.#tree.open(entry, { parent: entry.parent, ...opening });
  }

  #end(seq: number | undefined, at: string, told: Told, error?: string): number | undefined {
    return this.#tree.end(seq, at, told, error);
  }

  /** Adds to the span of the transaction, as long as it runs. */
  #tellRoot(told: Told): number | undefined {
    const { root } = this.#tree;
    return this.#tree.isOpen(root) ? this.#tree.tell(root, told) : undefined;
  }

  #endRoot(entry: Entry, state: string, told: Told, error?: string): number | undefined {
    const { root } = this.#tree;
    if (!this.#tree.isOpen(root)) return undefined;
    return this.#end(root, entry.at, { ...told, "holdfast.ended": state }, error);
  }
}
