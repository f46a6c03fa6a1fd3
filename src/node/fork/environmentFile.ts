import { isHarmless, isPlaceholder, nameOfKey, type SecretSpan } from "./secretSpan.ts";

/**
 * What hides in an environment file: `.env` of any dialect (dotenv, Docker, the shells) and `.envrc`. It is read line by line, and
 * what is not understood hides as a whole line: a dialect that nobody has thought of shows nothing.
 *
 * A value is quoted (over several lines too) or goes to the end of its line, or to a comment. When something stands
 * behind the closing quote, the quote was none, or one of several: then all of the line is value. An assignment in a
 * comment is one that somebody has switched off: its value hides too.
 */
const assignment =
  /^[ \t]*(?:(?:export|declare|typeset|readonly|local|set|SET)[ \t]+(?:-\w+[ \t]+)*)?(?:\$env:)?["']?([\w.[\]/\u0080-\u00ff-]+)["']?[ \t]*(?:[+?:]?=|:(?=[ \t]))[ \t]*/;
const commandWithTwo = /^[ \t]*(?:set[ \t]+(?:-\w+[ \t]+)+|setenv[ \t]+)([\w.-]+)[ \t]+/;
const inComment = /^[ \t]*#[# \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*=[ \t]*/;
const inside = /(?:^|[\s;&|({])([A-Za-z_]\w*)\+?=(?=\S)/;

/** Lines of an `.envrc` that say how to set up, not what. */
const setUp =
  /^[ \t]*(?:(?:source|source_\w+|dotenv|dotenv_\w+|use|layout|PATH_\w+|path_\w+|MANPATH_add|load_prefix|watch_\w+|log_\w+|strict_env|unstrict_env|direnv_\w+|env_vars_required|has|if|then|else|elif|fi|for|do|done|while|case|esac|unset|set|cd|mkdir|eval|test|return|exit|export)\b|[.[{}]|\w+\(\))/;

const byteOrderMark = "\u00ef\u00bb\u00bf";

/** `text` is latin1, one character a byte. `commands`: other lines than assignments may be commands (`.envrc`). */
export function environmentSpans(text: string, commands = false): SecretSpan[] {
  const spans: SecretSpan[] = [];
  const add = (start: number, end: number, key: string): void => {
    const value = text.slice(start, end);
    if (!isHarmless(value) && !isPlaceholder(value))
      spans.push({ start, end, name: nameOfKey(key) });
  };
  for (let at = text.startsWith(byteOrderMark) ? byteOrderMark.length : 0; at < text.length;) {
    const end = endOfLine(text, at);
    const line = text.slice(at, end);
    const set = assignment.exec(line) ?? commandWithTwo.exec(line);
    const off = inComment.exec(line);
    let next = end;
    if (set !== null) {
      const [from, to] = valueAt(text, at + set[0].length);
      add(from, to, set[1] ?? "");
      next = Math.max(end, endOfLine(text, to));
    } else if (off !== null) {
      add(at + off[0].length, at + line.trimEnd().length, off[1] ?? "");
    } else if (!/^[ \t]*(#|\r?$)/.test(line)) {
      const [from, key] = unknownLine(line, commands);
      if (from !== undefined) add(at + from, at + line.trimEnd().length, key);
    }
    at = next + 1;
  }
  return spans;
}

/** Where a line that is no assignment hides, and under what name; nowhere when it is a command without one. */
function unknownLine(line: string, commands: boolean): readonly [number | undefined, string] {
  if (!commands || !setUp.test(line)) return [line.search(/\S/), "VALUE"];
  const found = inside.exec(line);
  return found === null ? [undefined, ""] : [found.index + found[0].length, found[1] ?? ""];
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
}

function valueAt(text: string, start: number): readonly [number, number] {
  const quote = text[start];
  if (quote === '"' || quote === "'" || quote === "`") {
    const close = closingQuote(text, start, quote);
    if (
      close !== undefined &&
      /^[ \t]*(#.*)?\r?$/.test(text.slice(close + 1, endOfLine(text, close)))
    )
      return [start + 1, close];
    // The lines below are looked at for themselves, unless they can only belong to this value.
    if (close !== undefined && !text.slice(start, close).split("\n").slice(1).some(isAssignment))
      return [start + 1, trimmedEnd(text, start, endOfLine(text, close))];
    return [start, trimmedEnd(text, start, endOfLine(text, start))];
  }
  let end = endOfLine(text, start);
  while (/\\\r?$/.test(text.slice(start, end)) && end < text.length) end = endOfLine(text, end + 1);
  const value = text.slice(start, end).replace(/[ \t]+#.*$/, "");
  return [start, start + value.trimEnd().length];
}

function isAssignment(line: string): boolean {
  return assignment.test(line);
}

function closingQuote(text: string, start: number, quote: string): number | undefined {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\" && quote === '"') at++;
    else if (text[at] === quote) return at;
  }
  return undefined;
}

function trimmedEnd(text: string, start: number, end: number): number {
  return start + text.slice(start, end).trimEnd().length;
}
