import { ftruncateSync, writeSync } from "node:fs";

/** What a hole is made of; smaller runs of zeros are written. */
const block = 64 * 1024;
const zeros = Buffer.alloc(block);

/**
 * Writes content from the start of an empty file. Runs of zeros become holes: a file that is mostly hole, a disk image say,
 * takes no more of the disk than it did where it was made. `seen` is given each piece before it is written. Throws the
 * system's error.
 */
export async function writeSparsely(
  fd: number,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  seen: (piece: Uint8Array) => void,
): Promise<void> {
  let end = 0;
  for await (const piece of pieces) {
    seen(piece);
    for (let at = 0; at < piece.length; at += block) {
      const part = piece.subarray(at, at + block);
      if (zeros.compare(part, 0, part.length, 0, part.length) !== 0) writeAll(fd, part, end + at);
    }
    end += piece.length;
  }
  ftruncateSync(fd, end);
}

function writeAll(fd: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length;)
    done += writeSync(fd, bytes, done, bytes.length - done, position + done);
}
