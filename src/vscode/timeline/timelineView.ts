import type { ToolKind } from "../../base/toolKind.ts";
import type { Entry } from "../../core/journal/entry.ts";
import { Timeline } from "../../core/timeline/timeline.ts";
import { shiftWindow, type RowWindow } from "../../protocol/rowWindow.ts";
import {
  everything,
  rowClasses,
  type Filter,
  type Layout,
  type Row,
  type Splice,
  type ToWebview,
  type Totals,
} from "../../protocol/webview.ts";
import { nodeDetails, type NodeDetail } from "./nodeDetails.ts";
import { RootFacts } from "./rootFacts.ts";
import { detailRow, nodeRow } from "./rowContent.ts";
import { RowLayout } from "./rowLayout.ts";
import { insertedBy, joinedSplices } from "./splices.ts";
import { groupRowId, nodeRowId, parseRowId, rowsBelow, type TreeRow } from "./subtree.ts";

type Changed = Extract<ToWebview, { type: "changed" }>;

/** What an agent may do without asking even outside a transaction. */
const quietKinds: ReadonlySet<ToolKind> = new Set<ToolKind>(["read", "search", "think", "agent"]);

/** Opening all siblings of a row stops at as many. */
const openAllLimit = 200;

const groupTitles: Readonly<Record<string, string>> = {
  held: "Held",
  irreversible: "Irreversible",
  recoverable: "Recoverable",
  reversible: "Reversible",
};

/**
 * One transaction's timeline as the webview shows it: the fold, and over it what is open, filtered and in which order. Pure:
 * entries and the webview's wishes go in, messages come out.
 *
 * - The journal is the only truth; everything here can be built again from its entries.
 * - Every change of the layout raises `generation` by one and is told as splices; a filter makes a whole new layout.
 */
export class TimelineView {
  readonly #timeline = new Timeline();
  readonly #entries: Entry[] = [];
  readonly #rank = new Map<number, number>();
  readonly #roots: number[] = [];
  readonly #facts: RootFacts;
  readonly #openNodes = new Set<number>();
  readonly #closedGroups = new Set<string>();
  #layout: RowLayout;
  #filter: Filter = everything;
  #generation = 0;
  #window: RowWindow = { from: 0, to: 0 };
  #begunMs = 0;
  #spanMs = 1;
  #toolCalls = 0;
  #mutations = 0;
  readonly #alerts: string[] = [];

  constructor() {
    this.#facts = new RootFacts(this.#timeline);
    this.#layout = this.#newLayout();
  }

  get filter(): Filter {
    return this.#filter;
  }

  get timeline(): Timeline {
    return this.#timeline;
  }

  /** By `seq`; what has not come yet, and 0, is absent. */
  get entries(): readonly (Entry | undefined)[] {
    return this.#entries;
  }

  layout(): Layout {
    return { generation: this.#generation, total: this.#layout.total, tall: this.#layout.tall() };
  }

  totals(): Totals {
    return {
      ...this.#facts.counts(),
      shown: this.#layout.shownRoots,
      all: this.#roots.length,
      tools: this.#facts.tools(),
      spanMs: this.#spanMs,
    };
  }

  /** Numbers for the header. */
  summary(): { readonly toolCalls: number; readonly mutations: number; readonly alerts: string[] } {
    return { toolCalls: this.#toolCalls, mutations: this.#mutations, alerts: this.#alerts };
  }

  /** Time of the newest entry, milliseconds since 1970. */
  endedMs(): number {
    return this.#begunMs + this.#spanMs;
  }

  /** Begins again with an empty window: the webview was made anew. */
  forgetWindow(): void {
    this.#window = { from: 0, to: 0 };
  }

  /** Takes entries in order; tells what the webview must change, if anything. */
  apply(entries: readonly Entry[]): Changed | undefined {
    const touched = new Set<number>();
    const roots = new Set<number>();
    for (const entry of entries) {
      this.#entries[entry.seq] = entry;
      const at = Date.parse(entry.at);
      if (this.#begunMs === 0) this.#begunMs = at;
      this.#spanMs = Math.max(this.#spanMs, at - this.#begunMs);
      this.#sum(entry);
      const path = this.#timeline.apply(entry);
      for (const id of path) {
        touched.add(id);
        if (this.#timeline.node(id)?.parent === undefined) roots.add(id);
      }
      this.#adoptRoots();
    }
    const splices: Splice[] = [];
    for (const root of roots) this.#place(root, splices);
    if (splices.length === 0 && touched.size === 0) return undefined;
    return this.#changed(splices, touched);
  }

  /** Rows for the webview; they become the window that is kept fresh. */
  rows(from: number, count: number): Extract<ToWebview, { type: "rows" }> {
    const to = Math.min(this.#layout.total, from + count);
    this.#window = { from: Math.min(from, to), to };
    return {
      type: "rows",
      generation: this.#generation,
      from: this.#window.from,
      rows: this.#slice(from, to),
    };
  }

  setFilter(filter: Filter): Extract<ToWebview, { type: "layout" }> {
    this.#filter = filter;
    this.#layout = this.#newLayout();
    for (const root of this.#roots) {
      const key = this.#keyFor(root);
      if (key !== undefined) this.#layout.load(root, key, this.#below(root));
    }
    this.#generation++;
    this.forgetWindow();
    return { type: "layout", layout: this.layout(), filter, totals: this.totals() };
  }

  toggle(id: string, open: boolean): ToWebview | undefined {
    const parsed = parseRowId(id);
    if (parsed?.kind === "group") {
      if (open) this.#closedGroups.delete(parsed.key);
      else this.#closedGroups.add(parsed.key);
      return this.setFilter(this.#filter);
    }
    if (parsed?.kind !== "node") return undefined;
    this.#setOpen(parsed.node, open);
    const root = this.#rootOf(parsed.node);
    const splices = this.#layout.setBelow(root, this.#below(root));
    return this.#changed(splices, new Set([root]));
  }

  /** Where the parent of a row is. */
  parentOf(id: string): ToWebview | undefined {
    const parsed = parseRowId(id);
    if (parsed === undefined || parsed.kind === "group") return undefined;
    const above = parsed.kind === "detail" ? parsed.node : this.#timeline.node(parsed.node)?.parent;
    const position =
      above === undefined
        ? this.#layout.positionOfGroup(this.#layout.groupOf(parsed.node) ?? "")
        : this.#positionOfNode(above);
    return this.#reveal(position);
  }

  /** Opens a row and its siblings. */
  openSiblings(id: string): ToWebview | undefined {
    const parsed = parseRowId(id);
    if (parsed?.kind !== "node") return undefined;
    const parent = this.#timeline.node(parsed.node)?.parent;
    const siblings =
      parent === undefined
        ? this.#layout.rootsAround(parsed.node, openAllLimit)
        : (this.#timeline.node(parent)?.children.slice(0, openAllLimit) ?? []);
    const splices: Splice[] = [];
    const roots = new Set(siblings.map((sibling) => this.#rootOf(sibling)));
    for (const sibling of siblings) this.#setOpen(sibling, true);
    for (const root of roots) splices.push(...this.#layout.setBelow(root, this.#below(root)));
    return this.#changed(splices, roots);
  }

  /** Opens everything above a node and says where it is. */
  revealNode(node: number): readonly ToWebview[] {
    const messages: ToWebview[] = [];
    const root = this.#rootOf(node);
    if (root !== node) {
      for (let at = this.#timeline.node(node)?.parent; at !== undefined;) {
        this.#openNodes.add(at);
        at = this.#timeline.node(at)?.parent;
      }
      messages.push(this.#changed(this.#layout.setBelow(root, this.#below(root)), new Set([root])));
    }
    const reveal = this.#reveal(this.#positionOfNode(node));
    return reveal === undefined ? messages : [...messages, reveal];
  }

  detailOf(id: string): NodeDetail | undefined {
    const parsed = parseRowId(id);
    if (parsed?.kind !== "detail") return undefined;
    return this.#details(parsed.node).find((detail) => detail.key === parsed.key);
  }

  #sum(entry: Entry): void {
    if (entry.kind === "alert") this.#alerts.push(entry.message);
    if (entry.kind !== "tool.started") return;
    this.#toolCalls++;
    if (!quietKinds.has(entry.toolKind)) this.#mutations++;
  }

  #newLayout(): RowLayout {
    const { grouping } = this.#filter;
    return new RowLayout({
      headings: grouping !== "time",
      order: grouping === "class" ? rowClasses : [],
      closed: this.#closedGroups,
      rank: (root) => this.#rank.get(root) ?? 0,
    });
  }

  #adoptRoots(): void {
    const roots = this.#timeline.roots();
    for (let rank = this.#roots.length; rank < roots.length; rank++) {
      const root = roots[rank];
      if (root === undefined) return;
      this.#roots.push(root);
      this.#rank.set(root, rank);
    }
  }

  /** Puts a root where it belongs after it changed. */
  #place(root: number, splices: Splice[]): void {
    this.#facts.update(root);
    const now = this.#layout.groupOf(root);
    const wanted = this.#keyFor(root);
    if (now === wanted) {
      if (this.#openNodes.has(root))
        splices.push(...this.#layout.setBelow(root, this.#below(root)));
      return;
    }
    if (now !== undefined) splices.push(...this.#layout.remove(root));
    if (wanted !== undefined) splices.push(...this.#layout.insert(root, wanted, this.#below(root)));
  }

  /** The group a root is shown in; undefined when the filter leaves it out. */
  #keyFor(root: number): string | undefined {
    if (!this.#facts.matches(root, this.#filter)) return undefined;
    switch (this.#filter.grouping) {
      case "class":
        return this.#timeline.groupOf(root);
      case "time":
        return "";
      case "tool":
        return this.#facts.toolOf(root);
    }
  }

  #setOpen(node: number, open: boolean): void {
    if (open) this.#openNodes.add(node);
    else this.#openNodes.delete(node);
  }

  #below(root: number): readonly TreeRow[] | undefined {
    if (!this.#openNodes.has(root)) return undefined;
    return rowsBelow(
      root,
      this.#rootLevel,
      this.#timeline,
      (node) => this.#details(node),
      (node) => this.#openNodes.has(node),
    );
  }

  get #rootLevel(): number {
    return this.#filter.grouping === "time" ? 1 : 2;
  }

  #details(id: number): readonly NodeDetail[] {
    const node = this.#timeline.node(id);
    if (node === undefined) return [];
    // The entries of a collapsed row are requests seen elsewhere: they are its children or those of a tool call.
    const seqs = id < 0 ? [] : node.entries;
    const entries = seqs.flatMap((seq) => this.#entries[seq] ?? []);
    return nodeDetails(entries, node.mismatch);
  }

  #rootOf(id: number): number {
    let root = id;
    for (let at: number | undefined = id; at !== undefined; at = this.#timeline.node(at)?.parent)
      root = at;
    return root;
  }

  #positionOfNode(id: number): number | undefined {
    const root = this.#rootOf(id);
    const position = this.#layout.positionOf(root);
    if (position === undefined || root === id) return position;
    const index = (this.#layout.below(root) ?? []).findIndex((row) => row.id === nodeRowId(id));
    return index < 0 ? undefined : position + 1 + index;
  }

  #reveal(position: number | undefined): ToWebview | undefined {
    if (position === undefined) return undefined;
    return { type: "reveal", generation: this.#generation, position, focus: true };
  }

  /** `touched` are roots: they are told anew, and what is shown below them. */
  #changed(each: readonly Splice[], touched: ReadonlySet<number>): Changed {
    // Both ends must move the window by the same splices.
    const splices = joinedSplices(each);
    const fresh = insertedBy(splices);
    for (const splice of splices) this.#window = shiftWindow(this.#window, splice);
    this.#generation++;
    const { from, to } = this.#window;
    const rows: [number, Row][] = [];
    this.#layout.slice(from, to).forEach((placed, index) => {
      const position = from + index;
      const isTouched =
        placed.kind === "group" || touched.has(placed.kind === "root" ? placed.id : placed.root);
      if (isTouched || fresh.has(position)) rows.push([position, this.#row(placed)]);
    });
    return {
      type: "changed",
      generation: this.#generation,
      splices,
      rows,
      totals: this.totals(),
    };
  }

  #slice(from: number, to: number): Row[] {
    return this.#layout.slice(from, to).map((placed) => this.#row(placed));
  }

  #row(placed: ReturnType<RowLayout["slice"]>[number]): Row {
    if (placed.kind === "group") return this.#groupRow(placed);
    if (placed.kind === "root") {
      return this.#nodeRow(placed.id, { level: this.#rootLevel });
    }
    const row = this.#layout.below(placed.root)?.[placed.index] as TreeRow;
    const { level, place, siblings } = row;
    return row.detail === undefined
      ? this.#nodeRow(row.node, { level, place, siblings })
      : detailRow(row.id, row.detail, { level, place, siblings });
  }

  #nodeRow(id: number, place: Parameters<typeof nodeRow>[3]): Row {
    const node = this.#timeline.node(id);
    if (node === undefined) throw new Error(`no node ${id}`);
    const opener = this.#entries[node.entries[0] ?? 0];
    const opens = node.children.length > 0 || this.#details(id).length > 0;
    const open = opens ? this.#openNodes.has(id) : undefined;
    return nodeRow(nodeRowId(id), node, opener, place, this.#begunMs, open);
  }

  #groupRow(placed: {
    readonly key: string;
    readonly place: number;
    readonly groups: number;
  }): Row {
    const { key, place, groups } = placed;
    const count = this.#layout.sizeOf(key);
    const known = rowClasses.find((name) => name === key && this.#filter.grouping === "class");
    return {
      id: groupRowId(key),
      role: "group",
      icon: "group",
      ...(known === undefined ? {} : { class: known }),
      status: "none",
      level: 1,
      place,
      siblings: groups,
      expanded: !this.#closedGroups.has(key),
      verb: known === undefined ? key : (groupTitles[known] ?? key),
      title: "",
      detail: "",
      badges: [{ text: count.toLocaleString("en-US"), tone: "plain", label: `${count} steps` }],
      actions: [],
      lines: 0,
    };
  }
}
