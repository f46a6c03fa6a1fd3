/** Cuts a stream of text into lines. `push` returns the lines that are now whole, without their newline. */
export class LineSplitter {
  #rest: string[] = [];
  #length = 0;
  readonly #limit: number;

  /** `limit`: characters that one unfinished line may have before `push` throws a RangeError. */
  constructor(limit = 512 * 1024 * 1024) {
    this.#limit = limit;
  }

  push(text: string): string[] {
    const parts = text.split("\n");
    const last = parts.pop() ?? "";
    if (parts.length > 0) {
      parts[0] = this.#rest.join("") + (parts[0] ?? "");
      this.#rest = [];
      this.#length = 0;
    }
    if (last !== "") {
      this.#rest.push(last);
      this.#length += last.length;
      if (this.#length > this.#limit) throw new RangeError(`a line is longer than ${this.#limit}`);
    }
    return parts;
  }

  /** What came after the last newline. */
  get rest(): string {
    return this.#rest.join("");
  }
}

/** Parses JSON; a value that does not parse is `undefined`, never an exception. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
