import type { Socket } from "node:net";
import { ByteReader } from "./byteReader.ts";
import { endWith } from "./endWith.ts";
import { parseAuthority, type Authority } from "./names.ts";

/** The client's half of a SOCKS5 handshake (RFC 1928), without authentication. Answers it up to the point where the
 * tunnel stands, and gives where it leads; `undefined` when it was refused (and the socket ended). */
export async function acceptSocks(socket: Socket): Promise<Authority | undefined> {
  const reader = new ByteReader(socket);
  const [, methods = 0] = await reader.take(2);
  const offered = await reader.take(methods);
  if (!offered.includes(0)) {
    endWith(socket, Buffer.from([5, 0xff]));
    return;
  }
  socket.write(Buffer.from([5, 0]));
  const [version, command, , type] = await reader.take(4);
  const host = await hostOf(reader, type ?? 0);
  const port = (await reader.take(2)).readUInt16BE();
  if (version !== 5 || command !== 1) {
    endWith(socket, Buffer.from([5, 7, 0, 1, 0, 0, 0, 0, 0, 0]));
    return;
  }
  const authority = host === undefined ? undefined : parseAuthority(`${host}:${String(port)}`);
  if (authority === undefined) {
    endWith(socket, Buffer.from([5, 8, 0, 1, 0, 0, 0, 0, 0, 0]));
    return;
  }
  socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
  return authority;
}

async function hostOf(reader: ByteReader, type: number): Promise<string | undefined> {
  if (type === 1) return [...(await reader.take(4))].join(".");
  if (type === 3) {
    const [length = 0] = await reader.take(1);
    return (await reader.take(length)).toString("latin1");
  }
  if (type !== 4) return undefined;
  const groups = [...(await reader.take(16)).toString("hex").matchAll(/.{4}/g)].map(([one]) => one);
  return `[${groups.join(":")}]`;
}
