import type { Entry, EntryOf } from "../../core/journal/entry.ts";
import type { HoldCard } from "../../protocol/webview.ts";
import type { LiveTransaction } from "../liveTransaction.ts";
import { holdCard, type HoldContext } from "../timeline/holdCards.ts";
import type { TimelineView } from "../timeline/timelineView.ts";

/** The cards of a transaction's open holds, oldest first. */
export function holdCards(transaction: LiveTransaction): HoldCard[] {
  const { view, status } = transaction;
  return transaction.holds.map((hold) => holdCard(hold, holdContext(view, hold.hold, status.task)));
}

/** What the journal says about the call that a hold stopped. */
export function holdContext(
  view: TimelineView,
  hold: string,
  task: string | undefined,
): HoldContext {
  const opened = newest(view, (entry): entry is EntryOf<"hold.opened"> => {
    return entry.kind === "hold.opened" && entry.hold === hold;
  });
  const started = newest(view, (entry): entry is EntryOf<"request.started"> => {
    return entry.kind === "request.started" && entry.request === opened?.request;
  });
  const port = started === undefined || started.port === 443 ? "" : `:${started.port}`;
  return {
    task,
    method: started?.method ?? "",
    target: started === undefined ? "" : `${started.host}${port}${started.path}`,
    host: started?.host ?? "",
    cause: causeOf(view, started?.seq ?? opened?.parent),
  };
}

/** The title of the tool call above an entry. */
function causeOf(view: TimelineView, seq: number | undefined): string {
  for (let at = seq; at !== undefined; at = view.timeline.node(at)?.parent) {
    const node = view.timeline.node(at);
    if (node?.kind === "tool" || node?.kind === "process") return node.title;
  }
  return "";
}

function newest<T extends Entry>(
  view: TimelineView,
  is: (entry: Entry) => entry is T,
): T | undefined {
  const { entries } = view;
  for (let at = entries.length - 1; at > 0; at--) {
    const entry = entries[at];
    if (entry !== undefined && is(entry)) return entry;
  }
  return undefined;
}
