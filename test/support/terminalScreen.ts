const escape = "\u001b";
const bell = "\u0007";

/** The control sequence with which the text begins; undefined where it begins with none, or with a part of one. */
function sequenceOf(text: string): string | undefined {
  if (!text.startsWith(escape)) return undefined;
  const kind = text[1] ?? "";
  if (kind !== "" && "]P_^X".includes(kind)) {
    const ends = [`${escape}\\`, bell].flatMap((end) => {
      const at = text.indexOf(end, 2);
      return at < 0 ? [] : [at + end.length];
    });
    return ends.length === 0 ? undefined : text.slice(0, Math.min(...ends));
  }
  const rest = text.slice(1);
  const found = kind === "[" ? /^\[[0-?]*[ -/]*[@-~]/.exec(rest) : /^[ -/]*[0-~]/.exec(rest);
  return found === null ? undefined : `${escape}${found[0]}`;
}

/**
 * What a terminal would show, and what it would answer: enough of one for the interfaces of agents. It keeps a grid of
 * characters (no colours), follows the cursor, and answers the questions that programs ask before they draw.
 */
export class TerminalScreen {
  readonly #columns: number;
  readonly #rows: number;
  readonly #answer: (bytes: string) => void;
  #grid: string[][];
  #row = 0;
  #column = 0;
  #top = 0;
  #bottom: number;
  #saved: readonly [number, number] = [0, 0];
  #rest = "";

  constructor(columns: number, rows: number, answer: (bytes: string) => void) {
    this.#columns = columns;
    this.#rows = rows;
    this.#answer = answer;
    this.#bottom = rows - 1;
    this.#grid = Array.from({ length: rows }, () => this.#blank());
  }

  /** The lines as they stand, without spaces at their ends. */
  get text(): string {
    return this.#grid.map((line) => line.join("").trimEnd()).join("\n");
  }

  /** Takes a piece of output; a sequence that is cut in two waits for its rest. */
  write(output: string): void {
    let left = this.#rest + output;
    this.#rest = "";
    while (left !== "") {
      const sequence = sequenceOf(left);
      if (sequence !== undefined) {
        this.#control(sequence);
        left = left.slice(sequence.length);
      } else if (left.startsWith(escape)) {
        this.#rest = left;
        return;
      } else {
        const [one = ""] = left;
        this.#character(one);
        left = left.slice(one.length);
      }
    }
  }

  #blank(): string[] {
    return Array.from({ length: this.#columns }, () => " ");
  }

  #character(one: string): void {
    switch (one) {
      case "\r":
        this.#column = 0;
        return;
      case "\n":
        this.#down();
        return;
      case "\b":
        this.#column = Math.max(0, this.#column - 1);
        return;
      case "\t":
        this.#column = Math.min(this.#columns - 1, (Math.floor(this.#column / 8) + 1) * 8);
        return;
    }
    if (one < " ") return;
    if (this.#column >= this.#columns) {
      this.#column = 0;
      this.#down();
    }
    this.#line(this.#row)[this.#column] = one;
    this.#column++;
  }

  #line(row: number): string[] {
    const line = this.#grid[row];
    if (line === undefined) throw new Error(`no line ${row}`);
    return line;
  }

  #down(): void {
    if (this.#row === this.#bottom) this.#scroll(1);
    else this.#row = Math.min(this.#rows - 1, this.#row + 1);
  }

  /** Moves the region's lines up, or down where it is negative. */
  #scroll(by: number): void {
    for (let turn = 0; turn < Math.abs(by); turn++) {
      const [from, to] = by > 0 ? [this.#top, this.#bottom] : [this.#bottom, this.#top];
      this.#grid.splice(from, 1);
      this.#grid.splice(to, 0, this.#blank());
    }
  }

  #control(sequence: string): void {
    const csi = /^\[([<=>?]?)([\d;:]*)([ -/]*)([@-~])$/.exec(sequence.slice(1));
    if (csi === null) {
      this.#other(sequence);
      return;
    }
    const [, mark = "", words = "", between = "", final = ""] = csi;
    const numbers = words.split(";").map((word) => (word === "" ? NaN : Number(word)));
    const nth = (at: number, otherwise: number): number => {
      const value = numbers[at] ?? NaN;
      return Number.isNaN(value) ? otherwise : value;
    };
    if (mark !== "" || between !== "") this.#question(mark, nth(0, 0), between, final);
    else if (!this.#asked(final, nth(0, 0))) this.#move(final, nth);
  }

  /** What a plain terminal answers: it is one, it has no special keys, it knows no modes. */
  #question(mark: string, value: number, between: string, final: string): void {
    if (mark === "?" && final === "u") this.#answer(`${escape}[?0u`);
    else if (mark === "?" && between === "$" && final === "p")
      this.#answer(`${escape}[?${value};0$y`);
    else if (mark === ">" && final === "c") this.#answer(`${escape}[>0;10;0c`);
    else if (mark === "?" && final === "n") this.#answer(`${escape}[?${this.#place()}R`);
    else if (mark === "?" && (value === 1049 || value === 47) && /[hl]/.test(final)) {
      this.#grid = this.#grid.map(() => this.#blank());
    }
  }

  #place(): string {
    return `${this.#row + 1};${Math.min(this.#column, this.#columns - 1) + 1}`;
  }

  #asked(final: string, value: number): boolean {
    if (final === "c") this.#answer(`${escape}[?62;22c`);
    else if (final === "n" && value === 6) this.#answer(`${escape}[${this.#place()}R`);
    else if (final === "n" && value === 5) this.#answer(`${escape}[0n`);
    else if (final === "t" && value === 18)
      this.#answer(`${escape}[8;${this.#rows};${this.#columns}t`);
    else return false;
    return true;
  }

  #move(final: string, nth: (at: number, otherwise: number) => number): void {
    const by = nth(0, 1) === 0 ? 1 : nth(0, 1);
    switch (final) {
      case "A": {
        this.#to(this.#row - by, this.#column);
        return;
      }
      case "B":
      case "e": {
        this.#to(this.#row + by, this.#column);
        return;
      }
      case "C": {
        this.#to(this.#row, this.#column + by);
        return;
      }
      case "D": {
        this.#to(this.#row, this.#column - by);
        return;
      }
      case "E": {
        this.#to(this.#row + by, 0);
        return;
      }
      case "F": {
        this.#to(this.#row - by, 0);
        return;
      }
      case "G":
      case "`": {
        this.#to(this.#row, by - 1);
        return;
      }
      case "d": {
        this.#to(by - 1, this.#column);
        return;
      }
      case "H":
      case "f": {
        this.#to(nth(0, 1) - 1, nth(1, 1) - 1);
        return;
      }
      case "J": {
        this.#eraseScreen(nth(0, 0));
        return;
      }
      case "K": {
        this.#eraseLine(this.#row, nth(0, 0));
        return;
      }
      case "L": {
        this.#shift(-by);
        return;
      }
      case "M": {
        this.#shift(by);
        return;
      }
      case "S": {
        this.#scroll(by);
        return;
      }
      case "T": {
        this.#scroll(-by);
        return;
      }
      case "X":
        return void this.#line(this.#row).fill(" ", this.#column, this.#column + by);
      case "P": {
        this.#deleteCharacters(by);
        return;
      }
      case "r":
        this.#top = nth(0, 1) - 1;
        this.#bottom = Math.min(this.#rows, nth(1, this.#rows)) - 1;
        {
          this.#to(0, 0);
          return;
        }
      case "s":
        this.#saved = [this.#row, this.#column];
        return;
      case "u": {
        this.#to(...this.#saved);
        return;
      }
    }
  }

  #to(row: number, column: number): void {
    this.#row = Math.max(0, Math.min(this.#rows - 1, row));
    this.#column = Math.max(0, Math.min(this.#columns - 1, column));
  }

  /** Takes lines out at the cursor (the ones below move up), or puts empty ones in where it is negative. */
  #shift(by: number): void {
    const top = this.#top;
    this.#top = this.#row;
    this.#scroll(by);
    this.#top = top;
  }

  #deleteCharacters(count: number): void {
    const line = this.#line(this.#row);
    line.splice(this.#column, count);
    while (line.length < this.#columns) line.push(" ");
  }

  #eraseLine(row: number, which: number): void {
    const from = which === 0 ? this.#column : 0;
    const to = which === 1 ? this.#column + 1 : this.#columns;
    this.#line(row).fill(" ", from, to);
  }

  #eraseScreen(which: number): void {
    if (which === 0 || which === 1) this.#eraseLine(this.#row, which);
    for (let row = 0; row < this.#rows; row++) {
      const isErased = which >= 2 || (which === 0 ? row > this.#row : row < this.#row);
      if (isErased) this.#line(row).fill(" ");
    }
  }

  #other(sequence: string): void {
    const colour = /^\](1[01]);\?/.exec(sequence.slice(1))?.[1];
    if (colour !== undefined) {
      const value = colour === "10" ? "ffff/ffff/ffff" : "0000/0000/0000";
      this.#answer(`${escape}]${colour};rgb:${value}${escape}\\`);
    } else if (sequence === `${escape}7`) this.#saved = [this.#row, this.#column];
    else if (sequence === `${escape}8`) this.#to(...this.#saved);
    else if (sequence === `${escape}D`) this.#down();
    else if (sequence === `${escape}M`) {
      if (this.#row === this.#top) this.#scroll(-1);
      else this.#to(this.#row - 1, this.#column);
    }
  }
}
