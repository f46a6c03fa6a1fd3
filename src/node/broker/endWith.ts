import type { Socket } from "node:net";

/** Sends the last bytes and closes both ways. A socket that nobody reads any more would not see its client go, and stay
 * for ever. */
export function endWith(socket: Socket, last?: string | Uint8Array): void {
  socket.once("finish", () => socket.destroy());
  if (last === undefined) socket.end();
  else socket.end(last);
}
