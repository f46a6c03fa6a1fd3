import type { Duplex } from "node:stream";

/** Sends the last bytes and closes both ways. A socket that nobody reads any more would not see its client go, and stay
 * for ever. */
export function endWith(socket: Duplex, last?: string | Uint8Array): void {
  socket.once("finish", () => socket.destroy());
  if (last === undefined) socket.end();
  else socket.end(last);
}
