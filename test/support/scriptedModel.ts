import http from "node:http";
import type { AddressInfo } from "node:net";
import { answerAnthropic } from "./scriptedModelAnthropic.ts";
import { answerGemini } from "./scriptedModelGemini.ts";
import { answerOpenAi } from "./scriptedModelOpenAi.ts";
import {
  sendJson,
  type ModelDialect,
  type ModelQuestion,
  type ModelTurn,
} from "./scriptedModelWire.ts";

/** What the model plays. `sub` is played to a sub-agent: a conversation whose first message contains `SUBTASK`. */
export interface ModelScript {
  readonly main: readonly ModelTurn[];
  readonly sub?: readonly ModelTurn[];
}

/** A request as it arrived; `credential` is the value of its key header, whatever it is called. */
export interface ModelRequest {
  readonly method: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly credential: string | undefined;
}

export interface ScriptedModel {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly port: number;
  /** Everything that was asked so far. */
  readonly requests: readonly ModelRequest[];
  close(): Promise<void>;
}

const dialects: readonly ModelDialect[] = [answerAnthropic, answerOpenAi, answerGemini];

/**
 * Starts a model server on loopback that plays `script`. It keeps no state between requests: the turn is counted from
 * the conversation that each request carries, so retries and parallel sub-agents get the right answer. A function is asked
 * for the script anew on each request.
 */
export async function startScriptedModel(
  script: ModelScript | (() => ModelScript),
): Promise<ScriptedModel> {
  const requests: ModelRequest[] = [];
  let ids = 0;
  const server = http.createServer((request, response) => {
    void readBody(request).then((body) => {
      const path = request.url ?? "/";
      const { headers, method = "" } = request;
      const key = headers["x-api-key"] ?? headers["x-goog-api-key"] ?? headers.authorization;
      requests.push({ method, path, body, credential: key?.toString() });
      const question: ModelQuestion = {
        path,
        body,
        turn: (firstWords, turnsSoFar) =>
          pick(typeof script === "function" ? script() : script, firstWords, turnsSoFar),
        newId: (prefix) => `${prefix}_${String(++ids).padStart(6, "0")}`,
      };
      if (dialects.some((answer) => answer(question, response))) return;
      // Agents probe for models, features and updates; "nothing here" lets them go on.
      sendJson(response, request.method === "HEAD" ? 200 : 404, {});
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function pick(script: ModelScript, firstWords: string, turnsSoFar: number): ModelTurn {
  const sub = firstWords.includes("SUBTASK") ? script.sub : undefined;
  const turns = sub ?? script.main;
  return turns[Math.min(turnsSoFar, turns.length - 1)] ?? { text: "Done." };
}

async function readBody(request: http.IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  try {
    return JSON.parse(text === "" ? "{}" : text) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof SyntaxError) return { unparsed: text };
    throw error;
  }
}
