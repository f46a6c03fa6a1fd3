import type { Entry } from "../../src/core/journal/entry.ts";
import type { StatusView } from "../../src/protocol/control.ts";
import type {
  Conversation,
  FromWebview,
  Header,
  HoldCard,
  ToWebview,
} from "../../src/protocol/webview.ts";
import { webviewVersion, type ShownState } from "../../src/protocol/webview.ts";
import { emptyHeader, transactionHeader } from "../../src/vscode/timeline/headerModel.ts";
import { holdCard } from "../../src/vscode/timeline/holdCards.ts";
import { TimelineView } from "../../src/vscode/timeline/timelineView.ts";
import { sampleJournal } from "./sampleJournal.ts";

const slice = 1500;

/** A made-up host: a real view over made-up entries, answering the webview as the extension does. */
export interface SampleHost {
  readonly view: TimelineView;
  readonly header: Header;
  readonly holds: HoldCard[];
  readonly answer: (message: FromWebview, send: (message: ToWebview) => Promise<void>) => void;
}

const wireStates: Readonly<Partial<Record<ShownState, StatusView["state"]>>> = {
  sealed: "sealed",
  conflict: "sealed",
  publishing: "publishing",
  interrupted: "interrupted",
  committed: "committed",
  discarded: "discarded",
  undone: "undone",
  failed: "failed",
};

export function sampleHost(
  state: ShownState,
  entries: readonly Entry[] = entriesFor(state),
  conversation?: Conversation,
): SampleHost {
  const view = new TimelineView();
  // As the extension does: a slice at a time.
  for (let at = 0; at < entries.length; at += slice) view.apply(entries.slice(at, at + slice));
  const header = sampleHeader(state);
  const holds = state === "waiting" ? [sampleHold(view)] : [];
  return {
    view,
    header,
    holds,
    answer: (message, send) => {
      for (const reply of replies(view, header, holds, message)) {
        const told = reply.type === "snapshot" && conversation !== undefined;
        void send(told ? { ...reply, conversation } : reply);
      }
    },
  };
}

function replies(
  view: TimelineView,
  header: Header,
  holds: HoldCard[],
  message: FromWebview,
): ToWebview[] {
  const one = (reply: ToWebview | undefined): ToWebview[] => (reply === undefined ? [] : [reply]);
  switch (message.type) {
    case "ready":
      view.forgetWindow();
      return [
        {
          type: "snapshot",
          version: webviewVersion,
          header,
          holds,
          filter: view.filter,
          totals: view.totals(),
          layout: view.layout(),
        },
      ];
    case "window":
      return [view.rows(message.from, message.count)];
    case "toggle":
      return one(view.toggle(message.id, message.expanded));
    case "move":
      return one(
        message.to === "parent" ? view.parentOf(message.id) : view.openSiblings(message.id),
      );
    case "filter":
      return [view.setFilter(message.filter)];
    default:
      return [];
  }
}

function entriesFor(state: ShownState): readonly Entry[] {
  switch (state) {
    case "none":
    case "starting":
    case "failed":
      return [];
    case "running":
    case "interrupted":
      return sampleJournal("running");
    case "waiting":
      return sampleJournal("waiting");
    case "committed":
      return sampleJournal("committed");
    default:
      return sampleJournal("sealed");
  }
}

function sampleHeader(state: ShownState): Header {
  if (state === "none") return emptyHeader(undefined, []);
  const begun = state !== "starting" && state !== "failed";
  const ended = begun && state !== "running" && state !== "waiting";
  const status: StatusView = {
    transaction: "7f3a91c2",
    workspace: "/home/mara/shop",
    state: wireStates[state] ?? "open",
    agent: "claude-code",
    task: "Round prices to cents and archive the stale deals",
    begunAt: "2026-11-29T09:30:00.000Z",
    ...(begun
      ? { backend: "clone", forkMs: 214, files: 12_340, sandbox: "bubblewrap, Landlock, seccomp" }
      : {}),
    unsafe: false,
    running: begun && !ended,
    changes: begun ? { added: 1, modified: 4, deleted: 0 } : { added: 0, modified: 0, deleted: 0 },
    holds: { open: state === "waiting" ? 1 : 0, decided: ended ? 1 : 0 },
    coverage: "full",
    notes: [],
  };
  return transactionHeader(
    {
      status,
      busy: state === "starting" || state === "publishing" ? state : undefined,
      conflicts: state === "conflict" ? 2 : 0,
      toolCalls: 12,
      promptsAvoided: begun ? 9 : 0,
      check: begun
        ? { status: ended ? "failed" : "running", introduced: 1, resolved: 1, text: "typescript" }
        : undefined,
      elapsedMs: 42_000,
      alerts: [],
    },
    [],
  );
}

function sampleHold(view: TimelineView): HoldCard {
  const opened = view.entries.find((entry) => entry?.kind === "hold.opened");
  if (opened?.kind !== "hold.opened") throw new Error("the sample has no hold");
  const { hold, at, reversibility, rule, reason, summary, blastRadius, payload, payloadSha256 } =
    opened;
  return holdCard(
    {
      hold,
      transaction: "7f3a91c2",
      openedAt: at,
      reversibility,
      rule,
      reason,
      summary,
      ...(blastRadius === undefined ? {} : { blastRadius: { ...blastRadius } }),
      payload,
      payloadSha256,
    },
    {
      task: "Round prices to cents and archive the stale deals",
      method: "POST",
      target: "api.hubapi.com/crm/v3/objects/deals/batch/archive",
      host: "api.hubapi.com",
      cause: "crm_archive 214 deals",
    },
  );
}
