import { stepTitle } from "../check/stepWords.ts";
import type { CheckStatus, Entry, EntryOf } from "../journal/entry.ts";
import { NodeTree } from "./nodeTree.ts";
import { PublishRows } from "./publishRows.ts";
import { SpokenRow } from "./spokenRow.ts";
import {
  newNode,
  timelineGroups,
  type GrowingNode,
  type NodeStatus,
  type TimelineGroup,
  type TimelineNode,
} from "./timelineNode.ts";

/** Tools that say they only read: a file changed under them is a mismatch. */
const readers: ReadonlySet<string> = new Set(["read", "search", "think"]);

/** How a row shows the end of a check; a check that found errors did its work. */
const endOfCheck: Readonly<Record<CheckStatus, NodeStatus>> = {
  passed: "ok",
  failed: "ok",
  notChecked: "failed",
  crashed: "failed",
  timedOut: "failed",
  skipped: "cancelled",
};

/**
 * The timeline of a transaction: a fold over its journal.
 *
 * - Every entry belongs to exactly one node, or to none (`transaction.*`).
 * - A node's class is the strictest of its own effects and its children's. A request that was denied had no effect.
 *   Disclosures and model traffic do not lift the class of the tool call that caused them: they are counted in one
 *   collapsed row per host, and that row is irreversible (the model's has its own row).
 * - A root node is in group `held` while a hold at or below it is open, otherwise in the group of its class.
 * - `apply` is proportional to the depth of the node, never to the length of the journal.
 */
export class Timeline {
  readonly #tree = new NodeTree();
  readonly #requests = new Map<string, number>();
  readonly #holds = new Map<string, number>();
  readonly #calls = new Map<string, number>();
  readonly #processes = new Map<number, number>();
  readonly #checks = new Map<string, number>();
  readonly #publishes = new PublishRows();
  readonly #spoken = new SpokenRow();
  readonly #collapsed = new Map<string, number>();
  #nextCollapsed = -1;

  /** Takes the next entry; returns the ids of the nodes that it made or changed, each root after what is below it. */
  apply(entry: Entry): readonly number[] {
    switch (entry.kind) {
      case "tool.started":
        this.#spoken.interrupt();
        return this.#toolStarted(entry);
      case "tool.finished":
        return this.#toolFinished(entry);
      case "process.exec":
        return this.#processExec(entry);
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
        return this.#tree.join(this.#requests.get(entry.request), entry);
      default:
        return this.#applyReview(entry);
    }
  }

  node(id: number): TimelineNode | undefined {
    return this.#tree.get(id);
  }

  /** Number of nodes, collapsed rows included. */
  get size(): number {
    return this.#tree.size;
  }

  /** Root nodes in order of appearance. */
  roots(): readonly number[] {
    return this.#tree.roots;
  }

  groupOf(id: number): TimelineGroup {
    const node = this.#tree.get(id);
    if (node === undefined) return "reversible";
    return node.effects.holds > 0 ? "held" : node.reversibility;
  }

  /** Root nodes of every group, in order of appearance. */
  groups(): ReadonlyMap<TimelineGroup, readonly number[]> {
    const groups = new Map<TimelineGroup, number[]>(timelineGroups.map((group) => [group, []]));
    for (const id of this.#tree.roots) groups.get(this.groupOf(id))?.push(id);
    return groups;
  }

  #applyReview(entry: Entry): readonly number[] {
    switch (entry.kind) {
      case "transaction.interrupted":
        return this.#tree.cancelRunning(); // the agent died with its supervisor, and nobody told of its calls' ends
      case "check.started":
        return this.#checkStarted(entry);
      case "check.finished":
        return this.#checkFinished(entry);
      case "check.provisional":
        return this.#checkProvisional(entry);
      case "check.step":
        return this.#checkStep(entry);
      case "savepoint.taken":
        return this.#open(
          entry,
          newNode(entry, "savepoint", { title: entry.name ?? entry.savepoint }),
        );
      case "savepoint.restored":
        return this.#open(entry, newNode(entry, "savepoint", { title: `restored ${entry.to}` }));
      case "commit.intended":
      case "commits.intended": {
        const title = this.#publishes.titleOf(entry);
        const node = newNode(entry, "commit", { title, status: "running" });
        return this.#open(entry, node, (id) => this.#publishes.opened(entry, id));
      }
      case "commit.published":
      case "commit.abandoned":
      case "commit.undone":
      case "commits.brought":
      case "commits.abandoned":
        return this.#publishEnded(entry);
      case "agent.event":
        if (this.#spoken.continues(entry)) return this.#tree.join(this.#spoken.row, entry);
        return this.#open(entry, newNode(entry, "event", { title: entry.event }));
      case "alert": {
        const status = "failed";
        return this.#open(entry, newNode(entry, "alert", { title: entry.message, status }));
      }
      default:
        return [];
    }
  }

  #publishEnded(entry: Parameters<PublishRows["ended"]>[0]): readonly number[] {
    const { told, status, about } = this.#publishes.ended(entry);
    const changed = this.#tree.join(told, entry, (node) => (node.status = status));
    const commit = about === undefined ? undefined : this.#tree.get(about.row);
    if (about === undefined || commit === undefined || about.row === told) return changed;
    commit.status = about.status;
    return [...changed, about.row];
  }

  /** A new generation: one row per check, which shows the newest answer. */
  #checkStarted(entry: EntryOf<"check.started">): readonly number[] {
    if (this.#checks.size > 0) {
      return [...this.#checks.values()].flatMap((id) =>
        this.#tree.join(id, entry, (node) => (node.status = "running")),
      );
    }
    const node = newNode(entry, "check", { title: "all", status: "running" });
    return this.#open(entry, node, (id) => this.#checks.set("all", id));
  }

  #checkFinished(entry: EntryOf<"check.finished">): readonly number[] {
    const { check, status, durationMs, introduced, resolved } = entry;
    const id = this.#checks.get(check) ?? this.#checks.get("all");
    if (id === undefined) {
      const opened = this.#open(entry, newNode(entry, "check", { title: check }));
      this.#checks.set(check, entry.seq);
      return opened;
    }
    // The row that stood for all of them is now that of the first that answers.
    this.#checks.delete("all");
    this.#checks.set(check, id);
    return this.#tree.join(id, entry, (node) => {
      node.title = check;
      node.status = endOfCheck[status];
      node.durationMs = durationMs;
      node.target = `+${introduced.length} −${resolved.length}`;
    });
  }

  /** The row stays running: the answer is still to come. */
  #checkProvisional(entry: EntryOf<"check.provisional">): readonly number[] {
    const id = this.#checks.get(entry.check) ?? this.#checks.get("all");
    return this.#tree.join(id, entry, (node) => {
      if (node.status !== "running") return;
      node.target = `provisional: +${entry.introduced.length} −${entry.resolved.length}`;
    });
  }

  /** Stands under the call that did it; one that several calls share, under its check. Each of the calls tells it. */
  #checkStep(entry: EntryOf<"check.step">): readonly number[] {
    const node = newNode(entry, "check", { title: stepTitle(entry) });
    node.parent = this.#nodeOfEntry(entry.parent) ?? this.#checks.get(entry.check);
    const changed = [...this.#tree.add(node)];
    for (const call of entry.calls) {
      const tool = this.#tree.get(call);
      if (tool === undefined) continue;
      (tool.steps ??= []).push(entry);
      if (call !== node.parent) changed.push(...this.#tree.upwards(call));
    }
    return changed;
  }

  #toolStarted(entry: EntryOf<"tool.started">): readonly number[] {
    const node = newNode(entry, "tool", {
      title: entry.title,
      tool: entry.tool,
      target: entry.toolKind,
      subAgent: entry.agent,
      status: "running",
    });
    return this.#open(entry, node, (id) => this.#calls.set(entry.call, id));
  }

  #toolFinished(entry: EntryOf<"tool.finished">): readonly number[] {
    return this.#tree.join(entry.parent ?? this.#calls.get(entry.call), entry, (node) => {
      node.status = entry.status;
      node.durationMs = entry.durationMs ?? elapsed(node.at, entry.at);
    });
  }

  #processExec(entry: EntryOf<"process.exec">): readonly number[] {
    const known = this.#processes.get(entry.pid);
    const same = this.#tree.get(known);
    // The same process runs another program: one node, two entries.
    if (same?.status === "running" && same.parent === entry.parent) {
      return this.#tree.join(known, entry, (node) => {
        node.title = entry.argv.join(" ");
        node.target = entry.program;
      });
    }
    const node = newNode(entry, "process", {
      title: entry.argv.join(" "),
      target: entry.program,
      status: "running",
    });
    return this.#open(entry, node, (id) => {
      this.#processes.set(entry.pid, id);
      this.#tree.count(id, "processes", 1);
    });
  }

  #processExit(entry: EntryOf<"process.exit">): readonly number[] {
    return this.#tree.join(this.#processes.get(entry.pid), entry, (node) => {
      node.status = entry.exitCode === 0 ? "ok" : "failed";
      node.durationMs = entry.durationMs;
    });
  }

  #fileChanged(entry: EntryOf<"file.changed">): readonly number[] {
    const node = newNode(entry, "file", {
      title: `${entry.change} ${entry.path}`,
      target: entry.path,
    });
    return this.#open(entry, node, (id) => {
      this.#tree.count(id, "files", 1);
      const parent = this.#tree.get(entry.parent);
      if (parent?.kind === "tool" && readers.has(parent.target)) {
        parent.mismatch = `said ${parent.target}, changed ${entry.path}`;
      }
    });
  }

  #requestStarted(entry: EntryOf<"request.started">): readonly number[] {
    const port = entry.port === 443 || entry.port === 80 ? "" : `:${entry.port}`;
    const node = newNode(entry, "request", {
      title: `${entry.method} ${entry.host}${port}${entry.path}`,
      target: entry.host,
      status: "running",
      reversibility: entry.reversibility,
      wayBack: entry.wayBack,
    });
    const collapses = entry.traffic === "model" || entry.traffic === "disclosure";
    if (collapses && entry.parent === undefined) {
      node.parent = this.#collapsedRow(entry);
      return this.#tree.add(node, (id) => this.#registerRequest(id, entry));
    }
    if (collapses) this.#collapsedRow(entry, entry.seq);
    // Seen under its tool call, counted in its host's row: it does not lift the call's class.
    if (collapses) node.reversibility = "reversible";
    return this.#open(entry, node, (id) => this.#registerRequest(id, entry));
  }

  #registerRequest(id: number, entry: EntryOf<"request.started">): void {
    this.#requests.set(entry.request, id);
    this.#tree.count(id, "requests", 1);
  }

  /** The collapsed row of a host, or of the model; made on first use. `member` also adds a request seen elsewhere. */
  #collapsedRow(entry: EntryOf<"request.started">, member?: number): number {
    const model = entry.traffic === "model";
    const key = model ? "model" : `host ${entry.host}`;
    let id = this.#collapsed.get(key);
    if (id === undefined) {
      id = this.#nextCollapsed--;
      this.#collapsed.set(key, id);
      const title = model ? "Model traffic" : `Read requests to ${entry.host}`;
      const row = newNode(entry, model ? "model" : "disclosures", { title, target: entry.host });
      row.id = id;
      row.entries = [];
      row.reversibility = "irreversible";
      this.#tree.add(row);
    }
    const row = this.#tree.get(id);
    if (row !== undefined && member !== undefined) {
      row.entries.push(member);
      row.effects.requests += 1;
    }
    return id;
  }

  #requestFinished(entry: EntryOf<"request.finished">): readonly number[] {
    return this.#tree.join(this.#requests.get(entry.request), entry, (node) => {
      if (node.status === "running") node.status = entry.error === undefined ? "ok" : "failed";
      node.durationMs = entry.durationMs;
    });
  }

  #verdict(entry: EntryOf<"verdict">): readonly number[] {
    return this.#tree.join(this.#requests.get(entry.request), entry, (node) => {
      node.verdict = entry.verdict;
      node.rule = entry.rule;
      if (entry.verdict === "hold") node.status = "held";
      if (entry.verdict === "deny") this.#neverHappened(node);
    });
  }

  #holdOpened(entry: EntryOf<"hold.opened">): readonly number[] {
    const request = this.#requests.get(entry.request);
    const node = newNode(entry, "hold", {
      title: entry.summary,
      status: "held",
      rule: entry.rule,
      verdict: "hold",
      wayBack: entry.wayBack,
      reversibility: entry.reversibility,
      parent: request,
    });
    const open = (id: number): void => {
      this.#holds.set(entry.hold, id);
      this.#tree.count(id, "holds", 1);
    };
    return request === undefined ? this.#open(entry, node, open) : this.#tree.add(node, open);
  }

  #holdDecided(entry: EntryOf<"hold.decided">): readonly number[] {
    const id = this.#holds.get(entry.hold);
    const changed = this.#tree.join(id, entry, (node) => {
      if (node.status === "held") this.#tree.count(node.id, "holds", -1);
      node.status = entry.decision === "approve" ? "ok" : "denied";
      const request = this.#tree.get(node.parent);
      if (entry.decision === "approve") {
        if (request?.status === "held") request.status = "running";
        return;
      }
      node.reversibility = "reversible";
      if (request !== undefined) this.#neverHappened(request);
    });
    return changed;
  }

  /** A denied call has no effect, so it has no class to lift. */
  #neverHappened(node: GrowingNode): void {
    node.status = "denied";
    node.reversibility = "reversible";
    this.#tree.reclass(node.parent);
  }

  /** Opens a node under the entry's parent, or as a root. */
  #open(entry: Entry, node: GrowingNode, register?: (id: number) => void): readonly number[] {
    node.parent = this.#nodeOfEntry(entry.parent);
    return this.#tree.add(node, register);
  }

  #nodeOfEntry(seq: number | undefined): number | undefined {
    return this.#tree.get(seq)?.id;
  }
}

function elapsed(from: string, to: string): number {
  return Math.max(0, Date.parse(to) - Date.parse(from));
}
