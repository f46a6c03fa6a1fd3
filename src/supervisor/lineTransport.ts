import type { Socket } from "node:net";
import { LineSplitter, parseJson } from "../base/jsonl.ts";
import type { Transport } from "../protocol/endpoint.ts";

/** Longest message on the control socket, characters. */
const longest = 256 * 1024 * 1024;

/** JSON Lines over a socket: `send` writes one line, `listen` gives every whole line parsed. A line that is no JSON or
 * too long ends the connection. */
export function lineTransport(socket: Socket): Transport {
  return {
    send: (message) => {
      if (!socket.destroyed) socket.write(`${JSON.stringify(message)}\n`);
    },
  };
}

/** Calls `listener` for every message that comes in. */
export function listenLines(socket: Socket, listener: (message: unknown) => void): void {
  const splitter = new LineSplitter(longest);
  socket.setEncoding("utf8");
  socket.on("data", (text: string) => {
    try {
      for (const line of splitter.push(text)) {
        const message = parseJson(line);
        if (typeof message !== "object" || message === null) throw new RangeError("not a message");
        listener(message);
      }
    } catch (error) {
      socket.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  });
}
