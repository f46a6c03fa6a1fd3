import fs from "node:fs";
import path from "node:path";
import { StringDecoder } from "node:string_decoder";
import { stripVTControlCharacters } from "node:util";
import type { Ending } from "../../base/lifecycle.ts";

/** What an agent wrote to its standard streams or its terminal, in the state directory of its transaction; as bytes. */
export function outputLogOf(state: string): string {
  return path.join(state, "output.log");
}

/** Of what was written before anybody looked, only so much is read, bytes. */
const tailBytes = 256 * 1024;
/** Bytes read in one go. */
const pieceBytes = 64 * 1024;
/** No control sequence is longer than this, characters. */
const longestSequence = 256;
/** Writes that come close after each other are read together. */
const gatherMs = 80;

/**
 * Follows the output log of a transaction and gives it as plain text, without the control sequences of terminals. It only
 * reads: the agent's terminal may have another person at it.
 */
export class OutputFollower implements Ending {
  readonly #file: string;
  readonly #onText: (text: string) => void;
  readonly #onError: (error: unknown) => void;
  readonly #decoder = new StringDecoder("utf8");
  readonly #watcher: fs.FSWatcher | undefined;
  #at: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reading = false;
  #disposed = false;
  /** A control sequence of which only the beginning has come. */
  #begun = "";

  /** `onText` gets each new piece, the first time from the last 256 KiB on; `onError` why nothing can be read. */
  constructor(
    state: string,
    onText: (text: string) => void,
    onError: (error: unknown) => void = () => undefined,
  ) {
    this.#onError = onError;
    this.#file = outputLogOf(state);
    this.#onText = onText;
    this.#watcher = watch(state, (name) => {
      if (name === null || name === path.basename(this.#file)) this.#soon(gatherMs);
    });
    this.#soon(0);
  }

  dispose(): void {
    this.#disposed = true;
    clearTimeout(this.#timer);
    this.#watcher?.close();
  }

  #soon(delayMs: number): void {
    if (this.#disposed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#read();
    }, delayMs);
  }

  async #read(): Promise<void> {
    if (this.#reading) {
      this.#soon(gatherMs);
      return;
    }
    this.#reading = true;
    try {
      await this.#readOn();
    } catch (error) {
      // Not begun yet, or put away with its transaction.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.#onError(error);
    } finally {
      this.#reading = false;
    }
  }

  async #readOn(): Promise<void> {
    const file = await fs.promises.open(
      this.#file,
      fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW,
    );
    try {
      this.#at ??= Math.max(0, (await file.stat()).size - tailBytes);
      const piece = Buffer.alloc(pieceBytes);
      while (!this.#disposed) {
        const { bytesRead } = await file.read(piece, 0, pieceBytes, this.#at);
        if (bytesRead === 0) return;
        this.#at += bytesRead;
        this.#tell(this.#decoder.write(piece.subarray(0, bytesRead)));
      }
    } finally {
      await file.close();
    }
  }

  #tell(text: string): void {
    const all = this.#begun + text;
    const escape = all.lastIndexOf("\u001b");
    const isWhole = escape < 0 || !plainOutput(all.slice(escape)).startsWith("\u001b");
    const end = isWhole || all.length - escape > longestSequence ? all.length : escape;
    this.#begun = all.slice(end);
    const plain = plainOutput(all.slice(0, end));
    if (plain !== "" && !this.#disposed) this.#onText(plain);
  }
}

/** Text as an editor shows it: no colours, no cursor movements, no other control characters. */
function plainOutput(text: string): string {
  return stripVTControlCharacters(text).replaceAll("\r\n", "\n");
}

function watch(folder: string, onEvent: (name: string | null) => void): fs.FSWatcher | undefined {
  try {
    const watcher = fs.watch(folder, (_event, name) => onEvent(name));
    // The transaction was discarded: nothing more comes.
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    return undefined; // it is gone already
  }
}
