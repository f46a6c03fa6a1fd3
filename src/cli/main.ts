import { realpathSync } from "node:fs";
import path from "node:path";
import { exitCodeOf, Failure } from "../base/errors.ts";
import { parseArguments } from "./arguments.ts";
import type { Context, Verb } from "./context.ts";
import { version } from "../supervisor/installationPaths.ts";
import { usage } from "./usage.ts";
import { verbs } from "./verbs.ts";

/** Finds the verb at the head of the arguments: one word (`run`) or two (`journal verify`). */
function findVerb(args: readonly string[]): readonly [Verb, string, readonly string[]] {
  const two = args.slice(0, 2).join(" ");
  const one = args[0] ?? "";
  for (const name of [two, one]) {
    const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
    if (verb !== undefined) return [verb, name, args.slice(name.split(" ").length)];
  }
  const family = Object.keys(verbs).filter((name) => name.startsWith(`${one} `));
  const fix =
    family.length > 0 ? `one of: ${family.join(", ")}` : "`holdfast --help` lists the verbs";
  throw new Failure(
    "usage",
    "unknown-verb",
    `unknown verb ${JSON.stringify(args.join(" ").slice(0, 80))}`,
    fix,
  );
}

async function main(args: readonly string[]): Promise<number> {
  const first = args[0];
  if (first === undefined || first === "--help" || first === "-h" || first === "help") {
    process.stdout.write(usage(verbs));
    return first === undefined ? 2 : 0;
  }
  if (first === "--version" || first === "-V") {
    process.stdout.write(`${version}\n`);
    return 0;
  }
  const [verb, name, rest] = findVerb(args);
  const parsed = parseArguments(rest, verb, name === "run");
  if (parsed.options["help"] === true) {
    process.stdout.write(`usage: ${verb.usage}\n\n${verb.summary}\n`);
    return 0;
  }
  const dist = path.dirname(
    process.argv[1] === undefined ? process.cwd() : realFile(process.argv[1]),
  );
  const context: Context = {
    env: process.env,
    cwd: process.cwd(),
    installation: { dist, node: process.execPath },
    ...parsed,
    json: parsed.options["json"] === true,
    print: (text) => void process.stdout.write(text),
    say: (line) => void process.stderr.write(`${line}\n`),
  };
  return verb.run(context);
}

/** The file behind the symbolic link that `bin` makes. */
function realFile(file: string): string {
  return realpathSync(file);
}

function report(error: unknown): number {
  if (error instanceof Failure) {
    process.stderr.write(`holdfast: ${error.line}\n`);
    return exitCodeOf(error.kind);
  }
  process.stderr.write(
    `holdfast: internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  return 1;
}

// A reader that closes early (`holdfast timeline latest | head`) is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? 0 : 1);
});

/** Ends this process once what was printed is on its way; open connections do not keep it. */
function end(code: number): void {
  process.stdout.write("", () => process.exit(code));
}

main(process.argv.slice(2)).then(end, (error: unknown) => end(report(error)));
