import { Failure } from "../../base/errors.ts";
import {
  alteredBlobs,
  brokenChain,
  readJournal,
  readJournalBytes,
} from "../../node/journal/journalFile.ts";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { maskedSecrets } from "../../node/fork/secretMasks.ts";
import { Vault } from "../../node/secrets/vault.ts";
import { traceDocument } from "../../node/telemetry/traceDocument.ts";
import { version } from "../../supervisor/installationPaths.ts";
import { printJson, text, transactionOf, type Context, type Verb } from "../context.ts";

export const journalVerifyVerb: Verb = {
  usage: "holdfast journal verify TXN [--json]",
  summary:
    "Proves the journal: every line, its place in the chain, every blob. Also takes an exported JSONL file.",
  options: {},
  positionals: [1, 1],
  run: (context) => {
    const name = context.positionals[0] ?? "";
    const file = path.resolve(context.cwd, name);
    const exported = name.includes("/") || name.endsWith(".jsonl");
    if (exported && !existsSync(file))
      throw new Failure("failed", "no-file", `${name} does not exist`);
    const root = exported ? path.dirname(file) : transactionOf(context).paths.root;
    const reading = exported ? readJournalBytes(readFileSync(file)) : readJournal(root);
    const badBlobs = exported ? [] : alteredBlobs(root);
    const ok = reading.broken === undefined && badBlobs.length === 0;
    if (context.json) {
      printJson(context, {
        ok,
        entries: reading.entries.length,
        head: reading.head,
        tornBytes: reading.torn,
        ...(reading.broken === undefined ? {} : { broken: reading.broken }),
        alteredBlobs: badBlobs,
      });
    }
    if (reading.broken !== undefined) throw brokenChain(root, reading.broken);
    if (!ok) throw new Failure("failed", "blob-altered", `altered blobs: ${badBlobs.join(", ")}`);
    if (!context.json)
      context.print(`${reading.entries.length} entries, chain holds, head ${reading.head}\n`);
    return Promise.resolve(0);
  },
};

export const journalExportVerb: Verb = {
  usage: "holdfast journal export TXN --format jsonl|otlp",
  summary: "Prints the journal: JSONL as it is on disk, or OpenTelemetry traces.",
  options: { format: "string" },
  positionals: [1, 1],
  run: (context) => {
    const format = text(context, "format") ?? "jsonl";
    const { root } = transactionOf(context).paths;
    if (format === "jsonl") return exportLines(context, root);
    if (format !== "otlp") {
      throw new Failure(
        "usage",
        "bad-arguments",
        `--format ${JSON.stringify(format)} is not known`,
        "one of: jsonl, otlp",
      );
    }
    return exportTraces(context, root);
  },
};

/** The part of the journal that holds, as traces; a broken chain is told after it, as with JSONL. */
async function exportTraces(context: Context, root: string): Promise<number> {
  const reading = readJournal(root);
  const state = path.join(root, "state");
  const masked = existsSync(state) ? maskedSecrets(state) : [];
  const vault = new Vault(masked.map((secret) => ({ ...secret, bindings: [] })));
  const origin = { transaction: path.basename(root), version };
  context.print(`${await traceDocument(reading.entries, origin, vault)}\n`);
  if (reading.broken !== undefined) throw brokenChain(root, reading.broken);
  return 0;
}

function exportLines(context: Context, root: string): Promise<number> {
  const reading = readJournal(root);
  const bytes = readFileSync(path.join(root, "journal.jsonl"));
  context.print(bytes.subarray(0, reading.length).toString("utf8"));
  if (reading.broken !== undefined) throw brokenChain(root, reading.broken);
  return Promise.resolve(0);
}
