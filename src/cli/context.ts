import { realpathSync } from "node:fs";
import path from "node:path";
import { Failure } from "../base/errors.ts";
import { resolveTransaction, type FoundTransaction } from "../node/state/home.ts";
import { openHome } from "../node/state/homeDirectory.ts";
import { workspaceRoot } from "../node/state/workspaceRoot.ts";
import { openTransactionControl, type Connection } from "../supervisor/client.ts";
import type { Installation } from "../supervisor/supervisorProcess.ts";
import { liveSupervisor } from "../node/state/supervisorLock.ts";

/** Values of a verb's options: strings, flags, or lists. */
export type OptionValues = Readonly<
  Record<string, string | boolean | readonly string[] | undefined>
>;

/** What a verb works with. */
export interface Context {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly installation: Installation;
  readonly options: OptionValues;
  readonly positionals: readonly string[];
  /** For `run`: the command after the options. */
  readonly command: readonly string[];
  readonly json: boolean;
  /** Writes to standard output. */
  print(text: string): void;
  /** Writes one line to standard error. */
  say(line: string): void;
}

/** One verb of the command line. */
export interface Verb {
  readonly usage: string;
  readonly summary: string;
  readonly options: Readonly<Record<string, "string" | "boolean" | "list">>;
  /** Fewest and most positional arguments. */
  readonly positionals: readonly [number, number];
  /** Returns the exit code. */
  run(context: Context): Promise<number>;
}

export function text(context: Context, name: string): string | undefined {
  const value = context.options[name];
  return typeof value === "string" ? value : undefined;
}

export function flag(context: Context, name: string): boolean {
  return context.options[name] === true;
}

export function list(context: Context, name: string): readonly string[] {
  const value = context.options[name];
  return Array.isArray(value) ? (value as readonly string[]) : [];
}

export function printJson(context: Context, value: unknown): void {
  context.print(`${JSON.stringify(value)}\n`);
}

export function workspaceOf(context: Context): string {
  return workspaceRoot(text(context, "workspace"), context.cwd);
}

/** The workspace that commands about existing transactions mean: it may have been moved or deleted since. */
function workspaceNamed(context: Context): string {
  const given = text(context, "workspace");
  if (given === undefined) return workspaceRoot(undefined, context.cwd);
  const whole = path.resolve(context.cwd, given);
  try {
    return realpathSync(whole);
  } catch {
    return whole; // gone: its transactions are still known by this name
  }
}

/** The transaction that the first positional argument names. */
export function transactionOf(context: Context): FoundTransaction {
  const name = context.positionals[0] ?? "latest";
  return resolveTransaction(openHome(context.env), name, workspaceNamed(context));
}

/** The name of a transaction's state as seen from outside: one whose supervisor died is interrupted. */
export function stateNameOf(found: FoundTransaction): string {
  const name = found.state?.state ?? "broken";
  const unfinished = name === "open" || name === "publishing";
  return unfinished && liveSupervisor(found.paths.root) === undefined ? "interrupted" : name;
}

/** Told to whoever watched an agent whose supervisor died. */
export function interruptedFailure(transaction: string): Failure {
  const message = `${transaction} was interrupted: its supervisor died, and the agent with it; what it did is kept`;
  return new Failure("failed", "interrupted", message, `holdfast resume ${transaction}`);
}

/** A found transaction whose journal could be read. Throws a Failure otherwise. */
export function readable(found: FoundTransaction): FoundTransaction & {
  readonly state: NonNullable<FoundTransaction["state"]>;
} {
  const { state } = found;
  if (state === undefined) {
    const fix = `\`holdfast journal verify ${found.transaction}\` tells where`;
    throw new Failure(
      "failed",
      "journal-unreadable",
      `${found.transaction}: ${found.problem ?? "unreadable"}`,
      fix,
    );
  }
  return { ...found, state };
}

/** Connects to the transaction's supervisor; starts one for review when none lives. */
export async function controlOf(
  context: Context,
): Promise<Connection & { found: FoundTransaction }> {
  const found = readable(transactionOf(context));
  const state = stateNameOf(found);
  if (state === "interrupted") {
    const fix = `holdfast resume ${found.transaction}`;
    throw new Failure("failed", "interrupted", `${found.transaction} was interrupted`, fix);
  }
  if (state === "discarded" || state === "failed") {
    throw new Failure(
      "failed",
      state,
      `${found.transaction} is ${state}: there is nothing left to act on`,
    );
  }
  const connection = await openTransactionControl(found.paths.root, context.installation, "cli");
  return { ...connection, found };
}

/** Runs something over a connection and closes it, whatever happens. */
export async function withControl<T>(
  context: Context,
  work: (control: Connection & { found: FoundTransaction }) => Promise<T>,
): Promise<T> {
  const control = await controlOf(context);
  try {
    return await work(control);
  } finally {
    control.close();
  }
}
