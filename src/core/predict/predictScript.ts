import { cloudTable } from "./cloudTable.ts";
import { type Invocation, invocation, lookUp } from "./commandTable.ts";
import {
  discloses,
  irreversible,
  local,
  type Prediction,
  strictest,
  unparsable,
} from "./effect.ts";
import { forgeTable, versionControlTable } from "./forgeTable.ts";
import { packageTable } from "./packageTable.ts";
import { predictAws } from "./predictAws.ts";
import { predictCode } from "./predictCode.ts";
import { predictGhApi } from "./predictGhApi.ts";
import { type BranchKind, checkedOut, predictGit } from "./predictGit.ts";
import {
  predictCopy,
  predictCurl,
  predictDatabase,
  predictHttpie,
  predictWget,
} from "./predictTransfer.ts";
import { onlyReads } from "./readOnlyCommands.ts";
import { type SimpleCommand, simpleCommands } from "./simpleCommands.ts";
import { unwrap } from "./wrappers.ts";

/** Where a script stands: the branch that is checked out, and how deep scripts are nested in it. */
export interface ScriptContext {
  readonly branch: BranchKind;
  readonly depth: number;
}

/** A script in a script in a script: deeper than this it is not looked at and counts as asking. */
const deepest = 6;

const shells = new Set(["bash", "sh", "zsh", "dash", "ksh", "fish", "ash"]);
const interpreters =
  /^(?:python|python2|python3|node|bun|deno|ruby|perl|php|tsx|ts-node|pwsh|powershell|osascript|lua|Rscript)(?:\d[\d.]*)?$/;
const databases = new Set([
  "psql",
  "mysql",
  "mariadb",
  "mongosh",
  "mongo",
  "redis-cli",
  "pg_dump",
  "pg_restore",
  "mysqldump",
  "cqlsh",
  "clickhouse-client",
  "sqlcmd",
  "createdb",
  "dropdb",
]);

/** What a shell script would do outside the machine: the strictest of its commands. */
export function predictScript(script: string, context: ScriptContext): Prediction {
  if (context.depth > deepest) return unparsable("scripts nested too deep");
  const { commands, broken } = simpleCommands(script);
  let branch = context.branch;
  const found: Prediction[] = [];
  for (const command of commands) {
    found.push(predictCommand(command, { ...context, branch }));
    branch = checkedOut(invocation(command.words)) ?? branch;
  }
  if (broken) found.push(unparsable("the command cannot be read as a shell script"));
  return strictest(found);
}

/** What one command would do, wrappers looked through. */
export function predictCommand(command: SimpleCommand, context: ScriptContext): Prediction {
  if (context.depth > deepest) return unparsable("commands nested too deep");
  const nested = { ...context, depth: context.depth + 1 };
  const inner = unwrap(command.words);
  if (inner.kind === "script") return predictScript(inner.script, nested);
  const call = invocation(command.words);
  if (inner.kind === "itself") return predictProgram(call, command.input, context);
  const fetched = lookUp(packageTable, call) ?? local();
  if (inner.words.length === 0) return fetched;
  const again = { ...command, words: inner.words };
  return strictest([fetched, predictCommand(again, nested)]);
}

function predictProgram(
  call: Invocation,
  input: string | undefined,
  context: ScriptContext,
): Prediction {
  const { program } = call;
  if (program.includes("$")) return unknownProgram(call, context);
  if (program === "git") return predictGit(call, context.branch);
  if (program === "gh" && call.operands[0] === "api") return predictGhApi(call);
  if (["gh", "glab"].includes(program) && call.operands.length === 0) return local();
  if (program === "curl" || program === "curlie") return predictCurl(call);
  if (program === "wget" || program === "wget2") return predictWget(call);
  if (["http", "https", "xh", "xhs"].includes(program)) return predictHttpie(call);
  if (program === "scp" || program === "rsync") return predictCopy(call);
  if (program === "ssh" || program === "autossh" || program === "mosh") {
    return predictSsh(call, input, context);
  }
  if (["aws", "gcloud", "az"].includes(program)) return predictAws(call);
  if (databases.has(program)) return predictDatabase(call, input);
  if (shells.has(program)) {
    return input === undefined
      ? local("runs a script")
      : predictScript(input, { ...context, depth: context.depth + 1 });
  }
  const coded = interpreters.test(program) ? predictInterpreter(call, input) : undefined;
  const known = coded ?? byTables(call) ?? byName(call);
  return strictest([known ?? local(), embedded(call, context)]);
}

/** Programs that take other programs' names as mere text. */
const inert = new Set(
  (
    "echo printf grep egrep fgrep rg ag ack which whereis type man whatis apropos cat less head tail ls cd test [ [[ sed awk cut sort tr jq yq tee touch mkdir rm cp mv ln chmod " +
    "diff wc basename dirname realpath export local declare readonly unset alias hash help info return exit read set shift source . true false : let pkill pgrep killall kill ps tree stat file"
  ).split(" "),
);

/** What a program that is not known starts, when a program that reaches out stands among its arguments. */
function embedded(call: Invocation, context: ScriptContext): Prediction {
  if (inert.has(call.program) || call.program === "git" || call.operands.length < 2) return local();
  const at = call.args.findIndex((one) => reaching.has(one));
  if (at < 0 || at === call.args.length - 1) return local();
  return predictCommand({ words: call.args.slice(at) }, { ...context, depth: context.depth + 1 });
}

const reaching = new Set(
  "git gh glab curl wget ssh scp rsync bash sh zsh npm pnpm yarn twine cargo kubectl aws".split(
    " ",
  ),
);

function byTables(call: Invocation): Prediction | undefined {
  return (
    lookUp(forgeTable, call) ??
    lookUp(versionControlTable, call) ??
    lookUp(packageTable, call) ??
    lookUp(cloudTable, call)
  );
}

/** Runners of project scripts: what a target is called is all that its command line tells. */
function byName(call: Invocation): Prediction | undefined {
  const runs = ["npm", "pnpm", "yarn", "bun"].includes(call.program)
    ? call.operands.slice(["run", "run-script"].includes(call.operands[0] ?? "") ? 1 : 0)
    : [
          "make",
          "gmake",
          "just",
          "task",
          "rake",
          "invoke",
          "inv",
          "nox",
          "mage",
          "turbo",
          "nx",
          "moon",
        ].includes(call.program)
      ? call.operands
      : call.program === "mise" && ["run", "r"].includes(call.operands[0] ?? "")
        ? call.operands.slice(1)
        : /\.(?:sh|bash|zsh)$/.test(call.program)
          ? [call.program.replace(/\.\w+$/, "")]
          : [];
  const dry = ["--dry-run", "-n", "--dry", "--check", "--help"].some((one) => call.flags.has(one));
  const target = runs.find((one) =>
    /^(?:deploy|publish|release)(?:[:_-](?!dry|check|test|notes|build|local).*)?$/.test(one),
  );
  return target === undefined || dry
    ? undefined
    : irreversible(`runs the project's own "${target}"`);
}

/** The program stands in a variable: its arguments tell what it may be. */
function unknownProgram(call: Invocation, context: ScriptContext): Prediction {
  const [first = "", second = ""] = call.operands;
  if (first === "push") return predictGit({ ...call, program: "git" }, context.branch);
  const likely = ["gh", "npm", "docker", "kubectl", "glab"].map((program) =>
    byTables({ ...call, program }),
  );
  const known =
    /^(?:pr|issue|publish|release)$/.test(first) || first === "apply" || second === "create";
  return known ? strictest(likely.filter((one) => one !== undefined)) : local();
}

function predictInterpreter(call: Invocation, input: string | undefined): Prediction | undefined {
  const at = call.args.findIndex((one) =>
    /^-{1,2}(?:[a-zA-Z]*[ce]|eval|print|p|pe|Command|EncodedCommand)$/.test(one),
  );
  const code = at >= 0 ? call.args[at + 1] : input;
  if (code === undefined) return undefined;
  const said = predictCode(code);
  return said.effect === "none" ? undefined : said;
}

/** A command on another machine: a disclosure when it only reads there. */
function predictSsh(
  call: Invocation,
  input: string | undefined,
  context: ScriptContext,
): Prediction {
  if (call.flags.has("-V")) return local();
  const tunnels = ["-L", "-R", "-D", "-W"].some((one) => call.flags.has(one));
  if (tunnels) return irreversible("opens a tunnel to another machine");
  const [host = "", ...words] = call.operands;
  if (/^(?:[^@]+@)?(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org)$/.test(host)) {
    return discloses("asks a code host who the key belongs to");
  }
  const remote = input ?? words.join(" ");
  if (remote.trim() === "") {
    return call.flags.has("-N") || call.flags.has("-G") || call.flags.has("-O")
      ? discloses("opens a connection")
      : irreversible("works on another machine");
  }
  const { commands, broken } = simpleCommands(remote);
  if (broken || !commands.every(onlyReads)) return irreversible("runs commands on another machine");
  const also = predictScript(remote, { ...context, depth: context.depth + 1 });
  return strictest([discloses("reads on another machine"), also]);
}
