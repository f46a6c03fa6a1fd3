/** The timeline webview: composition of its parts and the conversation with the host. */
import "./timeline.css";
import "./header.css";
import "./rows.css";
import "./holds.css";
import "./conversation.css";
import {
  everything,
  webviewVersion,
  type Filter,
  type ToWebview,
  type Totals,
} from "../src/protocol/webview.ts";
import { connectHost } from "./hostLink.ts";
import { element, setText } from "./dom.ts";
import { HeaderPart } from "./headerPart.ts";
import { ConversationPart } from "./conversationPart.ts";
import { HoldsPart } from "./holdsPart.ts";
import { RowList } from "./rowList.ts";
import type { RowMetrics } from "./rowOffsets.ts";
import type { Span } from "./rowView.ts";
import { installToolkit } from "./toolkit.ts";
import { ToolbarPart } from "./toolbarPart.ts";

installToolkit();

const link = connectHost((message) => receive(message));

const header = new HeaderPart(
  (action) => {
    if (action === "showHolds") holds.focus();
    else link.send({ type: "headerAction", action });
  },
  (transaction) => link.send({ type: "select", transaction }),
);
const holds = new HoldsPart({
  decide: ({ hold, payloadSha256 }, answer) =>
    link.send({ type: "decide", hold, payloadSha256, ...answer }),
  showPayload: (hold) => link.send({ type: "showPayload", hold }),
});
const conversation = new ConversationPart({
  prompt: (text) => link.send({ type: "prompt", text }),
  cancel: () => link.send({ type: "cancelPrompt" }),
});
const toolbar = new ToolbarPart(everything, (filter) => link.send({ type: "filter", filter }));
const empty = element("div", { class: "empty", role: "status" });
const heading = element("h1", { class: "spoken" }, "Holdfast");
const main = element(
  "main",
  { class: "timeline" },
  heading,
  header.root,
  holds.root,
  conversation.root,
  toolbar.root,
  empty,
);
document.body.append(main);

const list = new RowList(
  {
    want: (from, count) => link.send({ type: "window", from, count }),
    toggle: (id, expanded) => link.send({ type: "toggle", id, expanded }),
    move: (id, to) => link.send({ type: "move", id, to }),
    act: (id, action) => {
      if (action === "decide") holds.focus();
      else link.send({ type: "rowAction", id, action });
    },
  },
  measure(main),
);
main.append(list.root);

addEventListener("keydown", (event) => {
  const find = event.key === "/" || ((event.ctrlKey || event.metaKey) && event.key === "f");
  const typing =
    event.target instanceof Element &&
    event.target.closest("input, select, textarea, vscode-text-field") !== null;
  if (!find || typing) return;
  event.preventDefault();
  toolbar.focus();
});

let generation = -1;
let shownFilter: Filter = everything;
/** A snapshot is on its way. */
let asked = false;
askForSnapshot();

function askForSnapshot(): void {
  if (asked) return;
  asked = true;
  link.send({ type: "ready", version: webviewVersion });
}

function receive(message: ToWebview): void {
  switch (message.type) {
    case "snapshot":
      asked = false;
      generation = message.layout.generation;
      header.show(message.header);
      holds.show(message.holds);
      conversation.show(message.conversation);
      showFilter(message.filter, message.totals);
      list.setLayout(
        message.layout.total,
        message.layout.tall,
        spanOf(message.filter, message.totals),
      );
      return;
    case "header":
      header.show(message.header);
      return;
    case "holds":
      holds.show(message.holds);
      return;
    case "conversation":
      conversation.show(message.conversation);
      return;
    case "decideFailed":
      holds.failed(message.hold, message.message);
      return;
    case "promptFailed":
      conversation.failed(message.text, message.message);
      return;
    case "layout":
      generation = message.layout.generation;
      showFilter(message.filter, message.totals);
      list.setLayout(
        message.layout.total,
        message.layout.tall,
        spanOf(message.filter, message.totals),
      );
      return;
    case "rows":
      if (message.generation === generation) list.setRows(message.from, message.rows);
      return;
    case "changed":
      if (message.generation !== generation + 1) {
        askForSnapshot();
        return;
      }
      generation = message.generation;
      list.change(message.splices, message.rows, spanOf(shownFilter, message.totals));
      showFilter(shownFilter, message.totals);
      return;
    case "reveal":
      if (message.generation === generation) list.reveal(message.position, message.focus);
      return;
  }
}

function showFilter(filter: Filter, totals: Totals): void {
  shownFilter = filter;
  toolbar.show(filter, totals);
  document.body.classList.toggle("waterfall", filter.waterfall);
  document.body.classList.toggle("grouped", filter.grouping !== "time");
  toolbar.root.hidden = totals.all === 0;
  list.root.hidden = totals.shown === 0;
  empty.hidden = totals.shown !== 0;
  setText(
    empty,
    totals.all === 0 ? "Steps appear here as the agent takes them." : "No step matches the filter.",
  );
}

function spanOf(filter: Filter, totals: Totals): Span {
  return { ms: totals.spanMs, shown: filter.waterfall };
}

/** Heights as the style sheet has them: the list must agree with it to the pixel. */
function measure(within: HTMLElement): RowMetrics {
  const style = getComputedStyle(within);
  const pixels = (name: string): number => Number.parseFloat(style.getPropertyValue(name));
  return {
    row: pixels("--row-height"),
    line: pixels("--line-height"),
    blockPadding: pixels("--block-padding"),
  };
}
