import type { ServerResponse } from "node:http";
import {
  sendEvents,
  sendJson,
  type ModelCall,
  type ModelDialect,
  type ModelQuestion,
  type ModelTurn,
} from "./scriptedModelWire.ts";

interface Item {
  readonly type?: string;
  readonly role?: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly unknown[];
}

/** OpenAI Responses and Chat Completions, whole or as a stream of events, and the list of models. */
export const answerOpenAi: ModelDialect = (question, response) => {
  const { pathname } = new URL(question.path, "http://model.invalid");
  if (pathname.endsWith("/responses")) answerResponses(question, response);
  else if (pathname.endsWith("/chat/completions")) answerChat(question, response);
  else if (pathname.endsWith("/models"))
    sendJson(response, 200, { object: "list", data: [{ id: "scripted", object: "model" }] });
  else return false;
  return true;
};

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map(
      (part: { text?: string; encrypted_content?: string }) =>
        part.text ?? part.encrypted_content ?? "",
    )
    .join("\n");
}

/** What people and other agents said to this one. */
function userWords(items: readonly Item[]): string {
  return items
    .filter(({ role = "" }) => !["developer", "system", "assistant"].includes(role))
    .map(({ content }) => textOf(content))
    .join("\n");
}

function turnOf(question: ModelQuestion, items: readonly Item[], turnsSoFar: number): ModelTurn {
  const tools = question.body["tools"];
  if (!Array.isArray(tools) || tools.length === 0) return { text: "Scripted session" };
  return question.turn(userWords(items), turnsSoFar);
}

/** Calls that follow one another without an answer between them were one turn. */
function turnsIn(input: readonly Item[]): number {
  const isCall = ({ type = "" }: Item): boolean => type.endsWith("_call");
  return input.filter((item, index) => {
    const before = input[index - 1];
    return isCall(item) && (before === undefined || !isCall(before));
  }).length;
}

function answerResponses(question: ModelQuestion, response: ServerResponse): void {
  const { body, newId } = question;
  const given = body["input"];
  const input: readonly Item[] = Array.isArray(given)
    ? (given as readonly Item[])
    : [{ role: "user", content: given }];
  const { text, calls = [] } = turnOf(question, input, turnsIn(input));
  const message = {
    type: "message",
    id: newId("msg"),
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: text ?? "", annotations: [] }],
  };
  const output = [
    ...(text === undefined ? [] : [message]),
    ...calls.map((call) => responsesCall(call, newId)),
  ];
  const whole = {
    id: newId("resp"),
    object: "response",
    created_at: 1_800_000_000,
    status: "completed",
    model: body["model"],
    output,
    usage: {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 120,
    },
  };
  if (body["stream"] !== true) {
    sendJson(response, 200, whole);
    return;
  }
  const begun = { ...whole, status: "in_progress", output: [], usage: null };
  const events: { type: string; [member: string]: unknown }[] = [
    { type: "response.created", response: begun },
  ];
  output.forEach((item, index) => {
    events.push(
      { type: "response.output_item.added", output_index: index, item },
      { type: "response.output_item.done", output_index: index, item },
    );
  });
  events.push({ type: "response.completed", response: whole });
  sendEvents(
    response,
    events.map((event, sequence) => ({
      name: event.type,
      data: { ...event, sequence_number: sequence },
    })),
  );
}

function responsesCall(call: ModelCall, newId: (prefix: string) => string): object {
  const { name, namespace, input } = call;
  const group = namespace === undefined ? {} : { namespace };
  const common = { call_id: newId("call"), name, ...group, status: "completed" };
  return typeof input === "string"
    ? { ...common, type: "custom_tool_call", id: newId("ctc"), input }
    : { ...common, type: "function_call", id: newId("fc"), arguments: JSON.stringify(input) };
}

function answerChat(question: ModelQuestion, response: ServerResponse): void {
  const { body, newId } = question;
  const messages = (body["messages"] ?? []) as readonly Item[];
  const turnsSoFar = messages.filter(({ tool_calls: calls }) => (calls ?? []).length > 0).length;
  const { text, calls = [] } = turnOf(question, messages, turnsSoFar);
  const toolCalls = calls.map(({ name, input }, index) => ({
    index,
    id: newId("call"),
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }));
  const message = {
    role: "assistant",
    content: text ?? null,
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
  const finish = toolCalls.length === 0 ? "stop" : "tool_calls";
  const base = { id: newId("chatcmpl"), created: 1_800_000_000, model: body["model"] };
  const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
  if (body["stream"] !== true) {
    const choices = [{ index: 0, message, finish_reason: finish }];
    sendJson(response, 200, { ...base, object: "chat.completion", choices, usage });
    return;
  }
  const chunk = (delta: object, reason: string | null): { data: object } => ({
    data: {
      ...base,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, finish_reason: reason }],
    },
  });
  const last = { ...base, object: "chat.completion.chunk", choices: [], usage };
  sendEvents(response, [
    chunk(message, null),
    chunk({}, finish),
    { data: last },
    { data: "[DONE]" },
  ]);
}
