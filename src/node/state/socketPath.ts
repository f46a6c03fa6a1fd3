import { closeSync, constants, lstatSync, openSync } from "node:fs";
import path from "node:path";
import { Failure, messageOf } from "../../base/errors.ts";

/** The kernel's limit for the path of a unix socket is 108 bytes with its terminator. */
const longest = 107;

/** A path for `bind` or `connect` that is short enough whatever the directory is; `close` when the socket is made. */
export interface SocketPath {
  readonly path: string;
  close(): void;
}

/** Names a socket in a directory; through an open descriptor of the directory when the path would be too long. */
export function socketPath(directory: string, name: string): SocketPath {
  const whole = path.join(directory, name);
  if (Buffer.byteLength(whole) <= longest) return { path: whole, close: () => undefined };
  const fd = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  return { path: `/proc/self/fd/${fd}/${name}`, close: () => closeSync(fd) };
}

/** Refuses a socket that is not ours or that others may open: its directory and itself must be private to this user. */
export function checkSocketOwner(directory: string, name: string): void {
  const uid = process.getuid?.();
  for (const one of [directory, path.join(directory, name)]) {
    let found;
    try {
      found = lstatSync(one);
    } catch (error) {
      throw new Failure("failed", "no-socket", `${one}: ${messageOf(error)}`);
    }
    if (uid !== undefined && found.uid !== uid) {
      throw new Failure("refused", "socket-not-ours", `${one} belongs to somebody else`);
    }
    if ((found.mode & 0o077) !== 0) {
      throw new Failure("refused", "socket-open", `others can open ${one}`, `chmod go-rwx ${one}`);
    }
  }
}
