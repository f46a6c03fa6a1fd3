import { createInterface } from "node:readline/promises";
import { Failure } from "../base/errors.ts";
import { plural } from "../base/words.ts";
import { errorLines, uncleannessOf } from "../core/check/cleanness.ts";
import { readCheckSettings } from "../node/checks/checkSettingsFile.ts";
import { readJournal } from "../node/journal/journalFile.ts";
import type { CheckView } from "../protocol/control.ts";
import type { Connection } from "../supervisor/client.ts";
import { flag, type Context } from "./context.ts";

/** How long a person is kept waiting for checks that still run, milliseconds. */
const patienceMs = 5000;

/**
 * What a commit does about errors that the checks found.
 *
 * - `--allow-errors`: nothing.
 * - The setting `commitOnlyWhenClean`: the supervisor is asked to refuse (`onlyWhenClean`).
 * - Else, at a terminal, asks once for a state of the change set, and a no ends the commit.
 * - Else goes on; what the checks have said so far is told on standard error.
 *
 * @throws Failure `errors-declined` when the person says no.
 */
export async function settleErrors(
  context: Context,
  control: Connection,
  root: string,
): Promise<{ readonly onlyWhenClean?: true }> {
  if (flag(context, "allow-errors")) return {};
  if (readCheckSettings(context.env).commitOnlyWhenClean === true) return { onlyWhenClean: true };
  if (askedAlready(root)) return {};
  const atTerminal = !context.json && process.stdin.isTTY && process.stderr.isTTY;
  const view = atTerminal
    ? await answerInTime(context, control)
    : await control.caller.call("check", { wait: false });
  const { errors } = uncleannessOf(view.checks);
  if (errors.length === 0) return {};
  context.say(`holdfast: the change set introduces ${plural(errors.length, "error")}:`);
  for (const line of errorLines(errors)) context.say(`holdfast:   ${line}`);
  if (atTerminal && !(await confirmed("commit all the same? [y/N] "))) {
    throw new Failure(
      "failed",
      "errors-declined",
      "not committed",
      "nothing was written; `--allow-errors` does not ask",
    );
  }
  return {};
}

/** A part was committed after the newest answer of the checks: the question was put then. */
function askedAlready(root: string): boolean {
  const entries = readJournal(root).entries;
  const last = entries.findLast(
    ({ kind }) => kind === "commit.published" || kind === "check.finished",
  );
  return last?.kind === "commit.published";
}

async function answerInTime(context: Context, control: Connection): Promise<CheckView> {
  const late = new Promise<undefined>((resolve) => {
    setTimeout(() => resolve(undefined), patienceMs).unref();
  });
  const view = await Promise.race([control.caller.call("check", {}), late]);
  if (view !== undefined) return view;
  context.say("holdfast: the checks have not answered yet; committing without them");
  return { checks: [] };
}

async function confirmed(question: string): Promise<boolean> {
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(?:es)?$/i.test((await asking.question(question)).trim());
  } finally {
    asking.close();
  }
}
