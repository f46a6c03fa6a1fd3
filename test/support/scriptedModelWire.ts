import type { ServerResponse } from "node:http";

/** One turn of the model: what it says, and the tools it calls. A turn without calls ends the conversation. */
export interface ModelTurn {
  readonly text?: string;
  readonly calls?: readonly ModelCall[];
}

/** `input` is text for the tools that take free text (Codex's `apply_patch`). */
export interface ModelCall {
  readonly name: string;
  /** The group of tools that it belongs to, where the dialect has groups. */
  readonly namespace?: string;
  readonly input: Readonly<Record<string, unknown>> | string;
}

/** What an answering dialect gets: the request, and the turn of the script for its conversation. */
export interface ModelQuestion {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** The turn to play, given the first words of the user and the number of turns with calls so far. */
  readonly turn: (firstWords: string, turnsSoFar: number) => ModelTurn;
  /** A new identifier with this prefix; counts up, so that runs are alike. */
  readonly newId: (prefix: string) => string;
}

/** Answers when the request is in its dialect, and says whether it did. */
export type ModelDialect = (question: ModelQuestion, response: ServerResponse) => boolean;

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

/** Sends server-sent events; `data` that is text goes as it is. */
export function sendEvents(
  response: ServerResponse,
  events: readonly { readonly name?: string; readonly data: unknown }[],
): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for (const { name, data } of events) {
    if (name !== undefined) response.write(`event: ${name}\n`);
    response.write(`data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
  }
  response.end();
}
