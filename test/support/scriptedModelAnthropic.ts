import type { ServerResponse } from "node:http";
import { sendEvents, sendJson, type ModelDialect, type ModelTurn } from "./scriptedModelWire.ts";

interface Message {
  readonly role: string;
  readonly content: string | readonly ContentBlock[];
}

interface ContentBlock {
  readonly type: string;
  readonly text?: string;
}

interface ToolUseBlock {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

type AnswerBlock = { readonly type: "text"; readonly text: string } | ToolUseBlock;

/** Anthropic Messages: `POST …/v1/messages`, whole or as a stream of events, and its token counter. */
export const answerAnthropic: ModelDialect = (question, response) => {
  const { pathname } = new URL(question.path, "http://model.invalid");
  if (pathname.endsWith("/messages/count_tokens")) {
    sendJson(response, 200, { input_tokens: 100 });
    return true;
  }
  if (!pathname.endsWith("/messages")) return false;
  const { body } = question;
  const messages = (body["messages"] ?? []) as readonly Message[];
  const blocks = blocksOf(turnFor(messages, body, question.turn), question.newId);
  const message = {
    id: question.newId("msg"),
    type: "message",
    role: "assistant",
    model: body["model"],
    content: blocks,
    stop_reason: blocks.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 100, output_tokens: 20 },
  };
  if (body["stream"] === true) stream(response, message, blocks);
  else sendJson(response, 200, message);
  return true;
};

/** A request without tools is a side question, such as a title for the session: it gets a short text. */
function turnFor(
  messages: readonly Message[],
  body: Readonly<Record<string, unknown>>,
  turn: (firstWords: string, turnsSoFar: number) => ModelTurn,
): ModelTurn {
  const tools = (body["tools"] ?? []) as readonly unknown[];
  if (tools.length === 0) return { text: '{"title":"Scripted session"}' };
  const firstWords = messages.filter(({ role }) => role === "user").slice(0, 2);
  const turnsSoFar = messages.filter(
    ({ role, content }) =>
      role === "assistant" &&
      typeof content !== "string" &&
      content.some(({ type }) => type === "tool_use"),
  );
  return turn(firstWords.map(({ content }) => textOf(content)).join("\n"), turnsSoFar.length);
}

function textOf(content: Message["content"]): string {
  if (typeof content === "string") return content;
  return content.map(({ text = "" }) => text).join("\n");
}

function blocksOf(turn: ModelTurn, newId: (prefix: string) => string): AnswerBlock[] {
  const calls = (turn.calls ?? []).map(({ name, input }) => ({
    type: "tool_use" as const,
    id: newId("toolu"),
    name,
    input,
  }));
  return turn.text === undefined ? calls : [{ type: "text", text: turn.text }, ...calls];
}

function stream(
  response: ServerResponse,
  message: Readonly<Record<string, unknown>>,
  blocks: readonly AnswerBlock[],
): void {
  const events: { name: string; data: object }[] = [];
  const event = (type: string, data: object): void => {
    events.push({ name: type, data: { type, ...data } });
  };
  event("message_start", { message: { ...message, content: [], stop_reason: null } });
  blocks.forEach((block, index) => {
    const [begun, delta] =
      block.type === "text"
        ? [
            { ...block, text: "" },
            { type: "text_delta", text: block.text },
          ]
        : [
            { ...block, input: {} },
            { type: "input_json_delta", partial_json: JSON.stringify(block.input) },
          ];
    event("content_block_start", { index, content_block: begun });
    event("content_block_delta", { index, delta });
    event("content_block_stop", { index });
  });
  event("message_delta", {
    delta: { stop_reason: message["stop_reason"], stop_sequence: null },
    usage: { output_tokens: 20 },
  });
  event("message_stop", {});
  sendEvents(response, events);
}
