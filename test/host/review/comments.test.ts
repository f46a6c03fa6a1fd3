import path from "node:path";
import * as vscode from "vscode";
import { newestEntries } from "../journals.ts";
import {
  clear,
  notification,
  startRun,
  until,
  workspaceFolder,
  writeText,
} from "../scriptedRun.ts";
import { openHostWindow, type HostWindow } from "../window.ts";

/** Speaks the Agent Client Protocol and appends a line to notes.txt at every prompt. */
const agent = `
const fs = require("node:fs");
let rest = "";
process.stdin.setEncoding("utf8").on("data", (text) => {
  const lines = (rest + text).split("\\n");
  rest = lines.pop();
  for (const line of lines.filter(Boolean)) {
    const { id, method } = JSON.parse(line);
    if (id === undefined) continue;
    if (method === "session/prompt") fs.appendFileSync("notes.txt", "by the agent\\n");
    const result = {
      initialize: { protocolVersion: 1, agentCapabilities: {} },
      "session/new": { sessionId: "s1" },
      "session/prompt": { stopReason: "end_turn" },
    }[method] ?? {};
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
  }
});
`;

const events = (event: string): readonly unknown[] =>
  newestEntries().flatMap((entry) =>
    entry.kind === "agent.event" && entry.event === event ? [entry.data] : [],
  );

describe("comments on a change", () => {
  let window: HostWindow;
  const widget = ".review-widget:visible";
  /** There only when something is written. */
  const addComment = `${widget} .monaco-button:not(.disabled)`;

  before(async () => {
    window = await openHostWindow();
    await window.call("resize", { width: 1360, height: 900 });
    await writeText("notes.txt", "one\ntwo\n");
    await writeText("agent.cjs", agent);
    const program = path.join(workspaceFolder().fsPath, "agent.cjs");
    const command = [process.execPath, program];
    const request = { agent: "acp", command, prompt: "Take a note", task: "Take notes" };
    await startRun(window, request, "running");
    await until("the first turn is over", () => events("turn.ended").length === 1);
    await vscode.commands.executeCommand("holdfast.changes.focus");
    const tree = ".tree-explorer-viewlet-tree-view .monaco-list-row";
    await window.call("wait", { selector: tree, text: "notes.txt" });
    await vscode.commands.executeCommand("holdfast.openChange", "notes.txt");
    await window.call("wait", { selector: ".editor.modified .view-line", text: "by the agent" });
  });
  after(async () => {
    await vscode.commands.executeCommand("holdfast.stop");
    // The editor has opened its list of comments; other suites want the room.
    await vscode.commands.executeCommand("workbench.action.closePanel");
    await clear(window);
    window.close();
  });

  /** Comments on the line with this text as a person does from the keyboard. */
  async function comment(line: string, text: string): Promise<void> {
    await window.call("click", { selector: ".editor.modified .view-line", text: line });
    await window.call("palette", { title: "Comments: Add Comment on Current Selection" });
    await window.call("wait", { selector: `${widget} .comment-form .monaco-editor.focused` });
    await window.call("type", { text });
    await window.call("click", { selector: addComment, text: "Add Comment" });
    await window.call("wait", { selector: `${widget} .comment-body`, text });
  }

  it("are written to its lines, and taken back", async () => {
    await comment("by the agent", "Say who, and when.");
    await comment("two", "Not this one.");
    await window.call("screenshot", { name: "review-comments" });
    const own = `.review-comment:has(.comment-body:has-text("Not this one."))`;
    await window.call("hover", { selector: own });
    await window.call("click", { selector: `${own} .codicon-trash` });
    await until("it is gone", async () => {
      const texts = await window.call("texts", { selector: `${widget} .comment-body` });
      return texts.join() === "Say who, and when.";
    });
  });

  it("go to the agent as one prompt, and are marked", async () => {
    await window.call("palette", { title: "Holdfast: Send Comments to Agent" });
    const prompt = [
      "Please look at 1 review comment on your changes.",
      "1. notes.txt, line 3:\n   > by the agent\n   Say who, and when.",
    ].join("\n\n");
    await until("the agent has them", () =>
      events("prompt").some((data) => (data as { text: string }).text === prompt),
    );
    await window.call("wait", { selector: `${widget} .review-comment`, text: "sent to the agent" });
    await until("it has answered", () => events("turn.ended").length === 2);
    // Nothing is sent twice.
    await window.call("palette", { title: "Holdfast: Send Comments to Agent" });
    await notification(window, "no comments that were not sent yet");
  });
});
