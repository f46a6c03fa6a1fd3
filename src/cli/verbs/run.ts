import { visibleLine } from "../../base/visibleText.ts";
import { rmSync } from "node:fs";
import path from "node:path";
import { Failure } from "../../base/errors.ts";
import type { StateName } from "../../core/transaction/transactionState.ts";
import { resourceLimits } from "../../core/transaction/resourceLimits.ts";
import { adapterOf } from "../../node/agents/registry.ts";
import { readCheckSettings } from "../../node/checks/checkSettingsFile.ts";
import { makeTransaction, newTransactionId } from "../../node/state/home.ts";
import { openHome } from "../../node/state/homeDirectory.ts";
import { checkWorkspacePlace } from "../../node/state/workspaceRoot.ts";
import type { StatusView, WireEntry } from "../../protocol/control.ts";
import { connectSupervisor, spawnSupervisor } from "../../supervisor/client.ts";
import { concludes, concludingKinds } from "../../supervisor/conclusion.ts";
import { statusFromJournal } from "../../supervisor/statusView.ts";
import type { StartSpec } from "../../supervisor/startSpec.ts";
import { flag, interruptedFailure, list, printJson, text, workspaceOf } from "../context.ts";
import type { Context, Verb } from "../context.ts";
import { runTerminal } from "../terminal.ts";

const backends = ["auto", "snapshot", "clone", "overlay", "copy"] as const;
const endings = ["review", "commit", "discard"] as const;
const allowances = ["user-namespaces", "ptrace"] as const;

export const runVerb: Verb = {
  usage:
    "holdfast run [--agent NAME] [--task TEXT] [--prompt TEXT] [--backend auto|snapshot|clone|overlay|copy] [--policy FILE] [--limit KEY=VALUE]… [--secret NAME]… [--allow user-namespaces|ptrace]… [--detach] [--on-exit review|commit|discard] [--json] [--] [COMMAND ARG…]",
  summary: "Runs an agent (or any command) in a transaction, to its end, and seals it for review.",
  options: {
    agent: "string",
    task: "string",
    prompt: "string",
    backend: "string",
    policy: "string",
    limit: "list",
    secret: "list",
    detach: "boolean",
    "on-exit": "string",
    "unsafe-no-sandbox": "boolean",
    allow: "list",
  },
  positionals: [0, 0],
  run: async (context) => {
    const spec = specOf(context);
    const home = openHome(context.env);
    checkWorkspacePlace(spec.workspace, home);
    const transaction = newTransactionId(new Date());
    const paths = makeTransaction(home, transaction);
    const tell = (line: string): void => {
      if (!context.json) context.say(`holdfast: ${line}`);
    };
    const abort = new AbortController();
    const interrupt = (): void => abort.abort();
    process.once("SIGINT", interrupt);
    process.once("SIGTERM", interrupt);
    try {
      await spawnSupervisor(paths.root, context.installation, spec, tell, abort.signal);
    } catch (error) {
      rmSync(paths.root, { recursive: true, force: true });
      throw error;
    } finally {
      process.removeListener("SIGINT", interrupt);
      process.removeListener("SIGTERM", interrupt);
    }
    return follow(context, spec, transaction, paths.root);
  },
};

async function follow(
  context: Context,
  spec: StartSpec,
  transaction: string,
  root: string,
): Promise<number> {
  const control = await connectSupervisor(root, "cli");
  if (!context.json) context.say(`holdfast: transaction ${transaction}`);
  if (flag(context, "detach")) {
    const status = await control.caller.call("status", {});
    control.close();
    if (context.json) printJson(context, summaryOf(status));
    return 0;
  }
  const ended = new Promise<WireEntry>((resolve) => {
    control.caller.on("entries", (entries) => {
      for (const entry of entries) {
        if (entry.kind === "hold.opened") announceHold(context, entry);
        if (concludes(entry, spec.onExit)) resolve(entry);
      }
    });
  });
  const kinds = ["hold.opened", ...concludingKinds(spec.onExit)];
  await control.caller.call("subscribe", { after: 0, kinds });
  const how = await runTerminal(root, {
    silent: context.json,
    onInterrupt: () => void control.caller.call("stop", {}).catch(() => undefined),
  });
  if (how === "detached") {
    control.close();
    context.say(`holdfast: detached; \`holdfast attach ${transaction}\` comes back`);
    return 0;
  }
  const last = await Promise.race([ended, control.closed.then(() => undefined)]);
  const status = await finalStatus(control, root);
  control.close();
  if (last?.["code"] === "not-clean") {
    if (context.json) printJson(context, summaryOf(status));
    throw new Failure("failed", "not-clean", String(last["message"]));
  }
  return conclude(context, spec, status, last);
}

async function finalStatus(
  control: Awaited<ReturnType<typeof connectSupervisor>>,
  root: string,
): Promise<StatusView> {
  try {
    return await control.caller.call("status", {});
  } catch {
    // A discarded transaction's supervisor ends at once; the journal has the state. One that ended before has died.
    const status = statusFromJournal(root);
    const unfinished = status.state === "open" || status.state === "publishing";
    return unfinished ? { ...status, state: "interrupted" } : status;
  }
}

function announceHold(context: Context, entry: Readonly<Record<string, unknown>>): void {
  const hold = String(entry["hold"]);
  // While the terminal is the agent's, lines begin where its cursor stands, and a new line goes down only.
  const [begin, end] = process.stdin.isRaw ? ["\r\n\u001b[K", "\r"] : ["", ""];
  const summary = visibleLine(`held: ${String(entry["summary"])} — ${String(entry["reason"])}`);
  context.say(`${begin}holdfast: ${summary}${end}`);
  context.say(`holdfast:   \`holdfast approve ${hold}\` or \`holdfast deny ${hold}\`${end}`);
}

function conclude(
  context: Context,
  spec: StartSpec,
  status: StatusView,
  last: WireEntry | undefined,
): number {
  if (context.json) printJson(context, summaryOf(status));
  else explain(context, status);
  if (status.state === "interrupted") {
    throw interruptedFailure(status.transaction);
  }
  if (status.holds.open > 0) return 5;
  const wanted: Readonly<Record<StartSpec["onExit"], readonly StateName[]>> = {
    review: ["sealed"],
    commit: ["committed"],
    discard: ["discarded"],
  };
  if (!wanted[spec.onExit].includes(status.state)) {
    const told = last?.["message"];
    const note = typeof told === "string" ? told : (status.notes.at(-1) ?? "see the timeline");
    if (status.state === "sealed") {
      throw new Failure(
        last?.["code"] === "conflicts" ? "conflict" : "failed",
        "not-concluded",
        note,
        `holdfast diff ${status.transaction}, then holdfast commit or discard`,
      );
    }
    throw new Failure("failed", "not-finished", `the transaction is ${status.state}: ${note}`);
  }
  const code = status.exitCode ?? null;
  if (code === 0 && status.limit === undefined) return 0;
  const ended = code === null ? "was ended by a signal" : `exited with code ${code}`;
  const how = status.limit === undefined ? ended : `was ended by a limit: ${status.limit}`;
  context.say(`holdfast: the agent ${how}; what it changed is kept for review`);
  return 1;
}

function explain(context: Context, status: StatusView): void {
  const { added, modified, deleted } = status.changes;
  const { transaction } = status;
  context.say(
    `holdfast: ${status.state}: ${added} added, ${modified} modified, ${deleted} deleted`,
  );
  if (status.state !== "sealed") return;
  context.say(`holdfast: review: holdfast diff ${transaction}`);
  context.say(
    `holdfast: then:   holdfast commit ${transaction}  or  holdfast discard ${transaction}`,
  );
}

/** The JSON form of DESIGN §11. */
function summaryOf(status: StatusView): object {
  return {
    transaction: status.transaction,
    state: status.state,
    exitCode: status.exitCode ?? null,
    backend: status.backend ?? null,
    forkMs: status.forkMs ?? null,
    files: status.files ?? null,
    changes: status.changes,
    holds: status.holds,
  };
}

function specOf(context: Context): StartSpec {
  const agent = text(context, "agent") ?? "command";
  const workspace = workspaceOf(context);
  const adapter = adapterOf(agent, context.env, workspace);
  if (adapter.takesCommand === true && context.command.length === 0) {
    throw new Failure("usage", "no-command", "nothing to run", `usage: ${runVerb.usage}`);
  }
  if (agent === "acp" && text(context, "prompt") === undefined && !flag(context, "detach")) {
    const fix = "give --prompt TEXT, or --detach and then `holdfast prompt latest TEXT`";
    throw new Failure("usage", "no-prompt", "an ACP agent does nothing without a prompt", fix);
  }
  const inside = context.cwd === workspace || context.cwd.startsWith(`${workspace}/`);
  const given = text(context, "workspace") !== undefined;
  const policyFile = text(context, "policy");
  const task = text(context, "task");
  const prompt = text(context, "prompt");
  const { stdout, stdin } = process;
  const interactive = !context.json && !flag(context, "detach") && stdout.isTTY && stdin.isTTY;
  return {
    workspace,
    agent,
    command: [...context.command],
    ...(task === undefined ? {} : { task }),
    ...(prompt === undefined ? {} : { prompt }),
    backend: oneOf(context, "backend", backends, "auto"),
    ...(policyFile === undefined ? {} : { policyFile: path.resolve(context.cwd, policyFile) }),
    limits: limitsOf(list(context, "limit")),
    secrets: [...list(context, "secret")],
    onExit: oneOf(context, "on-exit", endings, "review"),
    cwd: inside && !given ? context.cwd : workspace,
    ...(interactive ? { terminal: { columns: stdout.columns, rows: stdout.rows } } : {}),
    ...(flag(context, "detach") ? { keepSession: true } : {}),
    waitForClient: !flag(context, "detach"),
    unsafeNoSandbox: flag(context, "unsafe-no-sandbox"),
    checks: readCheckSettings(context.env),
    allow: list(context, "allow").map((name) => known("allow", name, allowances)),
  };
}

function oneOf<T extends string>(
  context: Context,
  name: string,
  values: readonly T[],
  otherwise: T,
): T {
  const given = text(context, name);
  return given === undefined ? otherwise : known(name, given, values);
}

function known<T extends string>(name: string, given: string, values: readonly T[]): T {
  const found = values.find((value) => value === given);
  if (found !== undefined) return found;
  throw new Failure(
    "usage",
    "bad-arguments",
    `--${name} ${JSON.stringify(given)} is not known`,
    `one of: ${values.join(", ")}`,
  );
}

function limitsOf(given: readonly string[]): Record<string, string> {
  const limits = Object.fromEntries(
    given.map((limit) => {
      const at = limit.indexOf("=");
      if (at < 1) {
        throw new Failure(
          "usage",
          "bad-limit",
          `--limit ${JSON.stringify(limit)} is not KEY=VALUE`,
          "for example --limit records=50",
        );
      }
      return [limit.slice(0, at), limit.slice(at + 1)] as const;
    }),
  );
  resourceLimits(limits);
  return limits;
}
