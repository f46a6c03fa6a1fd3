import {
  type Command,
  forEachChild,
  parse,
  type Pipeline,
  type SyntaxNode,
  type Word,
} from "unbash";

/** One program with its arguments, as the shell would start it. */
export interface SimpleCommand {
  /** Quotes removed, variables that the script itself sets replaced; what is left of `$` is unknown. */
  readonly words: readonly string[];
  /** Text of a here-document or here-string. */
  readonly input?: string;
}

export interface ParsedCommands {
  readonly commands: readonly SimpleCommand[];
  /** True when the text is not a shell script as a whole. */
  readonly broken: boolean;
}

/** Every simple command of a shell script in the order of its text: in pipes, loops, functions and substitutions too. */
export function simpleCommands(script: string): ParsedCommands {
  const commands: SimpleCommand[] = [];
  const variables = new Map<string, string>();
  let broken = false;
  const piped = new Map<SyntaxNode, string>();
  const visit = (node: SyntaxNode): void => {
    if (node.type === "Pipeline") notePiped(node, piped);
    if (node.type === "Script" && node.errors !== undefined && node.errors.length > 0)
      broken = true;
    if (node.type === "Command") {
      const one = commandOf(node, variables, piped.get(node));
      if (one.words.length > 0) commands.push(one);
      remember(node, variables);
    }
    forEachChild(node, visit);
  };
  visit(parse(script));
  return { commands, broken };
}

/** Text that `echo`, `printf` or a here-document sends into the next command of a pipe. */
function notePiped(node: Pipeline, piped: Map<SyntaxNode, string>): void {
  node.commands.forEach((one, at) => {
    const next = node.commands[at + 1];
    if (one.type !== "Command" || next === undefined) return;
    const heredoc = one.redirects.find((redirect) => redirect.type === "HereDoc");
    const says = ["echo", "printf"].includes(one.name?.value ?? "");
    const text = says
      ? one.args.map((word) => (word.type === "Word" ? word.value : word.text)).join(" ")
      : heredoc?.body.text;
    if (text !== undefined) piped.set(next, text);
  });
}

function commandOf(
  node: Command,
  variables: ReadonlyMap<string, string>,
  piped: string | undefined,
): SimpleCommand {
  const written = node.args.map((one) => (one.type === "Word" ? textOf(one, variables) : one.text));
  const name = node.name === undefined ? [] : nameWords(node.name, variables);
  const input = node.redirects
    .map((one) => {
      if (one.type === "HereDoc") return one.body.text;
      return one.type === "HereString" && one.target !== undefined
        ? textOf(one.target, variables)
        : undefined;
    })
    .find((one) => one !== undefined);
  const text = input ?? piped;
  const words = [...name, ...(name.length === 0 ? [] : written)];
  return { words, ...(text === undefined ? {} : { input: text }) };
}

/** A variable in the place of a program is split into words, as the shell does. */
function nameWords(word: Word, variables: ReadonlyMap<string, string>): readonly string[] {
  const text = textOf(word, variables);
  const quoted = /^["']/.test(word.text);
  if (quoted || !word.text.startsWith("$")) return [text];
  return text.split(/\s+/).filter((one) => one !== "");
}

function remember(node: Command, variables: Map<string, string>): void {
  const declares = ["export", "local", "declare", "readonly"].includes(node.name?.value ?? "");
  const assignments = [...node.prefix, ...(declares ? node.args : [])];
  for (const one of assignments) {
    if (one.type !== "Assignment" || one.value.type !== "Word") continue;
    const value = textOf(one.value, variables);
    if (/[$`]/.test(value)) variables.delete(one.name);
    else variables.set(one.name, value);
  }
}

function textOf(word: Word, variables: ReadonlyMap<string, string>): string {
  if (word.parts?.length === 1 && word.parts[0]?.type === "SingleQuoted") return word.value;
  return word.value.replaceAll(
    /\$(?:\{(\w+)\}|(\w+))/g,
    (whole: string, braced: string | undefined, plain: string | undefined) =>
      variables.get(braced ?? plain ?? "") ?? whole,
  );
}
