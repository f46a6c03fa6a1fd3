import { Failure } from "../../base/errors.ts";
import { visible } from "../../core/timeline/describeEntry.ts";
import { listTransactions, type FoundTransaction } from "../../node/state/home.ts";
import { openHome } from "../../node/state/homeDirectory.ts";
import { openTransactionControl } from "../../supervisor/client.ts";
import { printJson, text, transactionOf, type Context, type Verb } from "../context.ts";

/** The open holds of some transactions, straight from their journals: no supervisor need live. */
function openHolds(
  found: readonly FoundTransaction[],
): readonly (object & { hold: string; root: string; payloadSha256: string })[] {
  return found.flatMap((one) =>
    (one.state?.openHolds ?? []).map((hold) => ({
      hold: hold.hold,
      transaction: one.transaction,
      openedAt: hold.openedAt,
      reversibility: hold.reversibility,
      rule: hold.rule,
      reason: hold.reason,
      summary: hold.summary,
      ...(hold.blastRadius === undefined ? {} : { blastRadius: hold.blastRadius }),
      payloadSha256: hold.payloadSha256,
      root: one.paths.root,
    })),
  );
}

export const holdsVerb: Verb = {
  usage: "holdfast holds [TXN] [--json]",
  summary: "Lists the calls that wait for a person.",
  options: {},
  positionals: [0, 1],
  run: (context) => {
    const found =
      context.positionals.length === 0
        ? listTransactions(openHome(context.env))
        : [transactionOf(context)];
    const holds = openHolds(found);
    if (context.json)
      printJson(
        context,
        holds.map(({ root: _, payloadSha256: __, ...hold }) => hold),
      );
    for (const hold of context.json ? [] : holds) {
      const row = hold as unknown as Record<string, string>;
      context.print(
        `${hold.hold}  ${row["reversibility"] ?? ""}  ${visible(row["summary"] ?? "")}\n`,
      );
      context.print(`    ${visible(row["reason"] ?? "")} (rule ${row["rule"] ?? ""})\n`);
    }
    return Promise.resolve(0);
  },
};

const scopes = ["call", "transaction", "rule"] as const;

async function decide(
  context: Context,
  decision: "approve" | "deny",
  scope: (typeof scopes)[number],
  reason: string | undefined,
): Promise<number> {
  const name = context.positionals[0] ?? "";
  const hold = openHolds(listTransactions(openHome(context.env))).find((one) => one.hold === name);
  if (hold === undefined) {
    throw new Failure(
      "failed",
      "no-hold",
      `there is no open hold ${JSON.stringify(name)}`,
      "`holdfast holds` lists the open ones",
    );
  }
  const control = await openTransactionControl(hold.root, context.installation, "cli");
  try {
    await control.caller.call("decide", {
      hold: name,
      decision,
      scope,
      payloadSha256: hold.payloadSha256,
      ...(reason === undefined ? {} : { reason }),
    });
  } finally {
    control.close();
  }
  const done = decision === "approve" ? "approved" : "denied";
  if (context.json) printJson(context, { hold: name, decision, scope });
  else context.say(`holdfast: ${name} ${done}`);
  return 0;
}

export const approveVerb: Verb = {
  usage: "holdfast approve HOLD [--for call|transaction|rule]",
  summary: "Lets a held call go: this one, its like for this transaction, or as a rule.",
  options: { for: "string" },
  positionals: [1, 1],
  run: (context) => {
    const wanted = text(context, "for") ?? "call";
    const scope = scopes.find((one) => one === wanted);
    if (scope === undefined) {
      throw new Failure(
        "usage",
        "bad-arguments",
        `--for ${JSON.stringify(wanted)} is not known`,
        "one of: call, transaction, rule",
      );
    }
    return decide(context, "approve", scope, undefined);
  },
};

export const denyVerb: Verb = {
  usage: "holdfast deny HOLD [--reason TEXT]",
  summary: "Refuses a held call; the agent sees the reason.",
  options: { reason: "string" },
  positionals: [1, 1],
  run: (context) => decide(context, "deny", "call", text(context, "reason")),
};
