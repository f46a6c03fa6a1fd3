import { parseArgs } from "node:util";
import { Failure, messageOf } from "../base/errors.ts";
import type { OptionValues, Verb } from "./context.ts";

/** Options that every verb takes. */
export const commonOptions: Verb["options"] = {
  workspace: "string",
  json: "boolean",
  help: "boolean",
};

export interface ParsedArguments {
  readonly options: OptionValues;
  readonly positionals: readonly string[];
  readonly command: readonly string[];
}

/**
 * Parses a verb's arguments. With `takesCommand` the first word that is no option, or what follows `--`, begins the
 * command and everything after it is left as it is. Throws a Failure of kind `usage`.
 */
export function parseArguments(
  args: readonly string[],
  verb: Verb,
  takesCommand: boolean,
): ParsedArguments {
  const declared = { ...commonOptions, ...verb.options };
  const [own, command] = takesCommand ? splitCommand(args, declared) : [args, []];
  let parsed;
  try {
    parsed = parseArgs({
      args: [...own],
      allowPositionals: true,
      strict: true,
      options: Object.fromEntries(
        Object.entries(declared).map(([name, type]) => [
          name,
          {
            type: type === "boolean" ? ("boolean" as const) : ("string" as const),
            multiple: type === "list",
          },
        ]),
      ),
    });
  } catch (error) {
    const message = messageOf(error).split(". ")[0] ?? "";
    throw new Failure("usage", "bad-arguments", message, `usage: ${verb.usage}`);
  }
  const [fewest, most] = verb.positionals;
  const count = parsed.positionals.length;
  const helped = parsed.values["help"] === true;
  if (!helped && (count < fewest || count > most)) {
    const what =
      count < fewest
        ? "an argument is missing"
        : `too many arguments: ${parsed.positionals.at(-1) ?? ""}`;
    throw new Failure("usage", "bad-arguments", what, `usage: ${verb.usage}`);
  }
  return { options: parsed.values as OptionValues, positionals: parsed.positionals, command };
}

function splitCommand(
  args: readonly string[],
  declared: Verb["options"],
): readonly [readonly string[], readonly string[]] {
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (word === "--") return [args.slice(0, at), args.slice(at + 1)];
    if (!word.startsWith("-") || word === "-") return [args.slice(0, at), args.slice(at)];
    const type = word.startsWith("--") && !word.includes("=") ? declared[word.slice(2)] : undefined;
    if (type === "string" || type === "list") at++;
  }
  return [args, []];
}
