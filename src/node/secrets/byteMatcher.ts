/** One byte string to look for. `wordEnd`: only when no `[A-Za-z0-9_]` follows. */
export interface BytePattern {
  readonly bytes: Uint8Array;
  readonly wordEnd: boolean;
}

/** Called for each match; returns what takes its place, or throws to stop. */
export type OnMatch = (pattern: number) => Uint8Array;

/**
 * Finds many byte strings in one pass over a stream (Aho–Corasick over byte classes). The automaton is built once and
 * shared; each stream has its own {@link ByteReplacer}. Most bytes belong to no match: `begin` skips them by the pairs of
 * bytes that end where a match could (Wu–Manber), so that the automaton runs only where one may begin.
 */
export class ByteMatcher {
  readonly classes: Uint8Array;
  readonly width: number;
  /** `next[state * width + class]`. */
  readonly next: Int32Array;
  /** Length of the longest pattern prefix that the state stands for: what must be held back. */
  readonly depth: Int32Array;
  /** Index of the pattern that ends in the state, plus one; 0 for none. */
  readonly match: Int32Array;
  readonly patterns: readonly BytePattern[];
  /** Length of the longest pattern. */
  readonly longest: number;
  /** Length of the shortest pattern: the window that slides over the text. */
  readonly #window: number;
  /** Per pair of bytes at the end of the window: how far it may slide without missing a match; 0 where one may be. */
  readonly #slide: Uint8Array;

  constructor(patterns: readonly BytePattern[]) {
    this.patterns = patterns;
    const lengths = patterns.map((pattern) => pattern.bytes.length);
    this.longest = lengths.reduce((most, one) => Math.max(most, one), 0);
    this.#window = lengths.reduce((least, one) => Math.min(least, one), 256);
    this.#slide = slides(patterns, this.#window);
    this.classes = new Uint8Array(256);
    let width = 1;
    for (const byte of new Set(patterns.flatMap((pattern) => [...pattern.bytes]))) {
      // Class 0 is every byte that no pattern has; 256 distinct bytes still fit, because class 0 is then unused.
      this.classes[byte] = width % 256;
      width += 1;
    }
    this.width = width;
    const states = 1 + patterns.reduce((sum, pattern) => sum + pattern.bytes.length, 0);
    this.next = new Int32Array(states * width);
    this.depth = new Int32Array(states);
    this.match = new Int32Array(states);
    this.#link(this.#plant());
  }

  /** The first place from `from` on where a whole match may begin; none begins before it. -1: none does before `length`. */
  begin(bytes: Uint8Array, from: number, length = bytes.length): number {
    const slide = this.#slide;
    const window = this.#window;
    if (this.patterns.length === 0) return -1;
    if (window < 2) return from < length ? from : -1;
    let end = from + window - 1;
    while (end < length) {
      const step = slide[((bytes[end - 1] ?? 0) << 8) | (bytes[end] ?? 0)] ?? 0;
      if (step === 0) return end - window + 1;
      end += step;
    }
    return -1;
  }

  /** Index of the first pattern that stands in a text, -1 when none does. */
  find(bytes: Uint8Array): number {
    if (this.begin(bytes, 0) < 0) return -1;
    let found = -1;
    const replacer = new ByteReplacer(this, (pattern) => {
      if (found < 0) found = pattern;
      return nothing;
    });
    replacer.write(bytes);
    replacer.end();
    return found;
  }

  /** The trie; returns its number of states. */
  #plant(): number {
    let count = 1;
    for (const [index, pattern] of this.patterns.entries()) {
      let state = 0;
      for (const byte of pattern.bytes) {
        const slot = state * this.width + (this.classes[byte] ?? 0);
        if (this.next[slot] === 0) {
          this.depth[count] = (this.depth[state] ?? 0) + 1;
          this.next[slot] = count++;
        }
        state = this.next[slot] ?? 0;
      }
      if (state !== 0) this.match[state] = index + 1;
    }
    return count;
  }

  /** Turns the trie into a complete automaton, breadth first. */
  #link(count: number): void {
    const fail = new Int32Array(count);
    const queue = [...new Set(this.next.subarray(0, this.width))].filter((state) => state !== 0);
    for (let head = 0; head < queue.length; head += 1) {
      const state = queue[head] ?? 0;
      const fallback = fail[state] ?? 0;
      if (this.match[state] === 0) this.match[state] = this.match[fallback] ?? 0;
      for (let one = 0; one < this.width; one += 1) {
        const slot = state * this.width + one;
        const viaFail = this.next[fallback * this.width + one] ?? 0;
        const child = this.next[slot] ?? 0;
        if (child === 0) this.next[slot] = viaFail;
        else {
          fail[child] = viaFail;
          queue.push(child);
        }
      }
    }
  }
}

const nothing = new Uint8Array(0);

function slides(patterns: readonly BytePattern[], window: number): Uint8Array {
  const slide = new Uint8Array(patterns.length === 0 ? 0 : 1 << 16).fill(Math.max(1, window - 1));
  for (const { bytes } of patterns) {
    for (let end = 1; end < window; end += 1) {
      const pair = ((bytes[end - 1] ?? 0) << 8) | (bytes[end] ?? 0);
      slide[pair] = Math.min(slide[pair] ?? 0, window - 1 - end);
    }
  }
  return slide;
}

/** One stream's pass through a {@link ByteMatcher}: bytes in, bytes out, matches replaced, nothing let out that may
 * still turn out to be the beginning of a match. */
export class ByteReplacer {
  readonly #matcher: ByteMatcher;
  readonly #onMatch: OnMatch;
  #state = 0;
  #tail: Uint8Array = nothing;

  constructor(matcher: ByteMatcher, onMatch: OnMatch) {
    this.#matcher = matcher;
    this.#onMatch = onMatch;
  }

  /** Whether the last bytes may be the beginning of a match. */
  get holds(): boolean {
    return this.#tail.length > 0;
  }

  /** The bytes that may go on now. */
  write(chunk: Uint8Array): Buffer {
    return this.#run(chunk, false);
  }

  /** The bytes that were held back. */
  end(): Buffer {
    return this.#run(nothing, true);
  }

  #run(chunk: Uint8Array, last: boolean): Buffer {
    const { classes, width, next, match, depth, patterns, longest } = this.#matcher;
    const held = this.#tail.length;
    const bytes = held === 0 ? chunk : Buffer.concat([this.#tail, chunk]);
    const out: Uint8Array[] = [];
    let flushed = 0;
    let state = this.#state;
    let pending = this.#pendingIn(state);
    const commit = (pattern: number, end: number): void => {
      const start = end - (patterns[pattern - 1]?.bytes.length ?? 0);
      out.push(bytes.subarray(flushed, start), this.#onMatch(pattern - 1));
      flushed = end;
      state = 0;
      pending = 0;
    };
    let skips = true;
    for (let at = held; at < bytes.length; at += 1) {
      if (skips && pending === 0) {
        // What may be a match by now has begun here; where none does, the bytes up to the next beginning are passed over.
        const from = at - (depth[state] ?? 0);
        const begin = this.#matcher.begin(bytes, from);
        skips = begin >= 0;
        // No match ends in this chunk; one that goes on in the next has begun within its last bytes.
        const onward = skips ? begin : last ? bytes.length : bytes.length - longest + 1;
        if (onward > at) {
          at = onward;
          state = 0;
          if (at >= bytes.length) break;
        }
      }
      const byte = bytes[at] ?? 0;
      if (pending !== 0 && !isWordByte(byte)) commit(pending, at);
      state = next[state * width + (classes[byte] ?? 0)] ?? 0;
      const found = match[state] ?? 0;
      if (found === 0) {
        pending = 0;
        continue;
      }
      if (patterns[found - 1]?.wordEnd === true) pending = found;
      else commit(found, at + 1);
    }
    if (last && pending !== 0) commit(pending, bytes.length);
    const keep = last ? 0 : (depth[state] ?? 0);
    out.push(bytes.subarray(flushed, bytes.length - keep));
    // A copy: the chunk's memory belongs to the stream.
    this.#tail = keep === 0 ? nothing : Uint8Array.from(bytes.subarray(bytes.length - keep));
    this.#state = last ? 0 : state;
    return out.length === 1 ? asBuffer(out[0]) : Buffer.concat(out);
  }

  #pendingIn(state: number): number {
    const found = this.#matcher.match[state] ?? 0;
    return found !== 0 && this.#matcher.patterns[found - 1]?.wordEnd === true ? found : 0;
  }
}

function asBuffer(bytes: Uint8Array | undefined): Buffer {
  return bytes === undefined
    ? Buffer.alloc(0)
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function isWordByte(byte: number): boolean {
  return (
    (byte >= 48 && byte <= 57) ||
    (byte >= 65 && byte <= 90) ||
    (byte >= 97 && byte <= 122) ||
    byte === 95
  );
}
