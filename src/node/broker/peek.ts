import type { Socket } from "node:net";

/** Reads from a socket until `enough` says so, the peer ends, or `timeoutMs` pass, and puts everything back in front.
 * Rejects when the socket is closed before a byte came. */
export async function peek(
  socket: Socket,
  enough: (bytes: Buffer) => boolean,
  timeoutMs: number,
): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  return await new Promise((resolve, reject) => {
    const done = (): void => {
      clearTimeout(timer);
      socket.off("readable", onReadable).off("end", finish).off("close", onClose);
    };
    const finish = (): void => {
      done();
      if (bytes.length > 0) socket.unshift(bytes);
      resolve(bytes);
    };
    const onReadable = (): void => {
      for (let chunk = read(socket); chunk !== null; chunk = read(socket)) {
        bytes = Buffer.concat([bytes, chunk]);
      }
      if (bytes.length > 0 && enough(bytes)) finish();
    };
    const onClose = (): void => {
      done();
      reject(new Error("the client broke off"));
    };
    const timer = setTimeout(finish, timeoutMs);
    socket.on("readable", onReadable).on("end", finish).on("close", onClose);
  });
}

function read(socket: Socket): Buffer | null {
  return socket.read() as Buffer | null;
}
