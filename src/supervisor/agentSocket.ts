import { connect, createServer } from "node:net";
import { chmodSync } from "node:fs";
import path from "node:path";
import { LineSplitter, parseJson } from "../base/jsonl.ts";
import { withoutDeep } from "../base/nesting.ts";
import { socketPath } from "../node/state/socketPath.ts";
import { listenPrivately } from "./controlServer.ts";

/** Longest line an agent may send, characters: a tool's result with a large file fits. */
const longest = 64 * 1024 * 1024;

/**
 * The agent-facing socket `agent.sock`, the only one of ours that the sandbox sees: JSON Lines, one way. It accepts
 * events and answers nothing, so that nothing inside can ask, decide or read. What was sent before `close` is heard.
 */
export async function listenToAgent(
  door: string,
  onEvent: (raw: unknown) => void,
): Promise<{ close(): Promise<void> }> {
  const server = createServer((socket) => {
    const splitter = new LineSplitter(longest);
    socket.setEncoding("utf8");
    const take = (line: string): void => {
      if (line.trim() === "") return;
      const parsed = withoutDeep(parseJson(line));
      onEvent(parsed ?? { event: "unparsable", text: line.slice(0, 4000) });
    };
    socket.on("data", (text: string) => {
      try {
        splitter.push(text).forEach(take);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        onEvent({ event: "oversized", limit: longest });
        socket.destroy();
      }
    });
    socket.on("end", () => take(splitter.rest));
    socket.on("error", () => socket.destroy());
  });
  await listenPrivately(server, door, "agent.sock");
  // Inside the sandbox the agent may run under another user id of ours.
  chmodSync(path.join(door, "agent.sock"), 0o666);
  return {
    close: async () => {
      await lastInLine(door);
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/**
 * Resolves when a connection of our own has been taken and ended by the server: those that came before it have been taken
 * too. One that nobody has taken yet is cut off when the server closes, and a busy supervisor may be behind.
 */
async function lastInLine(door: string): Promise<void> {
  const where = socketPath(door, "agent.sock");
  try {
    await new Promise<void>((resolve) => {
      const socket = connect(where.path, () => socket.end());
      socket.on("error", () => undefined); // there is no line to stand in
      socket.on("close", () => resolve());
      socket.resume();
    });
  } finally {
    where.close();
  }
}
