import { text as readAll } from "node:stream/consumers";
import { Failure } from "../../base/errors.ts";
import { openHome } from "../../node/state/homeDirectory.ts";
import { listSecrets, removeSecret, setSecret } from "../../node/secrets/secretStore.ts";
import { flag, list, printJson, text, type Context, type Verb } from "../context.ts";

export const secretSetVerb: Verb = {
  usage: "holdfast secret set NAME --host HOST… [--from-env VAR] [--keyring]",
  summary:
    "Keeps a secret for the named hosts; the value comes on standard input, or from a variable each time.",
  options: { host: "list", "from-env": "string", keyring: "boolean" },
  positionals: [1, 1],
  run: async (context) => {
    const name = context.positionals[0] ?? "";
    const variable = text(context, "from-env");
    const keep = flag(context, "keyring") ? ("keyring" as const) : ("file" as const);
    const origin =
      variable === undefined ? { keep, value: await valueFromInput(context, name) } : { variable };
    const summary = await setSecret(openHome(context.env), name, list(context, "host"), origin);
    if (context.json) printJson(context, summary);
    else context.say(`holdfast: ${summary.name} may go to ${summary.hosts.join(", ")}`);
    return 0;
  },
};

async function valueFromInput(context: Context, name: string): Promise<string> {
  if (process.stdin.isTTY) {
    const fix = `for example: printf %s "$VALUE" | holdfast secret set ${name} --host HOST`;
    throw new Failure(
      "usage",
      "value-on-terminal",
      "the value is read from a pipe, not from the terminal",
      fix,
    );
  }
  if (!context.json) context.say("holdfast: reading the value from standard input");
  return (await readAll(process.stdin)).replace(/\r?\n$/, "");
}

export const secretListVerb: Verb = {
  usage: "holdfast secret list",
  summary: "Lists the secrets' names and hosts, never values.",
  options: {},
  positionals: [0, 0],
  run: async (context) => {
    const secrets = await listSecrets(openHome(context.env));
    if (context.json) printJson(context, secrets);
    for (const { name, hosts, from } of context.json ? [] : secrets) {
      context.print(`${name}  ${hosts.join(", ")}  (${from})\n`);
    }
    return 0;
  },
};

export const secretRemoveVerb: Verb = {
  usage: "holdfast secret remove NAME",
  summary: "Removes a secret and its value.",
  options: {},
  positionals: [1, 1],
  run: async (context) => {
    const { name, from } = await removeSecret(openHome(context.env), context.positionals[0] ?? "");
    const later =
      from === "editor" ? "; the editor forgets its value when an agent next starts there" : "";
    if (!context.json) context.say(`holdfast: ${name} removed${later}`);
    return 0;
  },
};
