import { plural } from "../../base/words.ts";
import { stepTitle, stepWords } from "../check/stepWords.ts";
import type { Entry } from "../journal/entry.ts";

/** One line of text for an entry: place, time, what happened. Control characters are made visible. */
export function describeEntry(entry: Entry): string {
  const parent = entry.parent === undefined ? "" : ` ↳${entry.parent}`;
  const words = visible(`${entry.kind}${parent}  ${wordsOf(entry)}`);
  return `${String(entry.seq).padStart(5)} ${entry.at.slice(11, 23)} ${words}`;
}

/** Makes control, bidirectional and zero-width characters visible as escapes. */
export function visible(text: string): string {
  return text.replaceAll(
    /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function ofSpare(refreshed: number | undefined): string {
  return refreshed === undefined ? "" : `, from the spare, ${refreshed} of them refreshed`;
}

function wordsOf(entry: Entry): string {
  switch (entry.kind) {
    case "transaction.begun":
      return `${entry.agent} in ${entry.workspace}${weaker(entry.allow)}`;
    case "transaction.forked":
      return `${entry.backend}, ${plural(entry.files, "file")}, ${entry.forkMs} ms${ofSpare(entry.refreshed)}`;
    case "transaction.started":
      return entry.sandbox;
    case "transaction.exited":
      return entry.limit === undefined
        ? `exit code ${entry.exitCode ?? entry.signal ?? "unknown"}`
        : `ended by a limit: ${entry.limit}`;
    case "transaction.sealed": {
      const { added, modified, deleted } = entry.counts;
      return `${added} added, ${modified} modified, ${deleted} deleted`;
    }
    case "tool.started":
      return `${entry.tool}: ${entry.title}`;
    case "tool.finished":
      return `${entry.status}${entry.durationMs === undefined ? "" : ` in ${Math.round(entry.durationMs)} ms`}`;
    case "process.exec":
      return `${entry.pid} ${entry.argv.join(" ")}`;
    case "process.exit":
      return `${entry.pid} exit code ${entry.exitCode ?? entry.signal ?? "unknown"}`;
    case "file.changed":
      return `${entry.change} ${entry.from === undefined ? "" : `${entry.from} → `}${entry.path}`;
    case "request.started":
      return `${entry.method} ${entry.host}:${entry.port}${entry.path} (${entry.reversibility})`;
    case "request.finished":
      return entry.error ?? `status ${entry.status ?? "none"}, ${entry.bytesReceived} bytes`;
    case "verdict":
      return `${entry.verdict} by ${entry.rule}: ${entry.reason}`;
    case "hold.opened":
      return `${entry.hold}: ${entry.summary} — ${entry.reason}`;
    case "hold.decided":
      return `${entry.hold}: ${entry.decision} (${entry.scope})`;
    default:
      return wordsOfReview(entry);
  }
}

function wordsOfReview(entry: Entry): string {
  switch (entry.kind) {
    case "secret.used":
      return `${entry.secret} for ${entry.host} in ${entry.where}`;
    case "alert":
      return entry.message;
    case "agent.event":
      return entry.event;
    case "check.started":
      return entry.check;
    case "check.finished":
      return `${entry.check}: ${entry.status}, ${entry.introduced.length} introduced, ${entry.resolved.length} resolved`;
    case "check.provisional":
      return `${entry.check}: ${stepWords(entry) || "nothing new"} in the edited files, provisional`;
    case "check.step":
      return stepTitle(entry);
    case "savepoint.taken":
      return entry.name ?? entry.savepoint;
    case "savepoint.restored":
      return `to ${entry.to}`;
    case "commit.intended":
      return plural(entry.paths.length, "file");
    case "commit.published":
      return `${entry.published} published, ${entry.merged} merged`;
    case "commits.intended":
      return `${entry.head.slice(0, 12)} to ${entry.ref}`;
    case "commits.brought":
      return `${entry.count} under ${entry.ref}`;
    case "commit.abandoned":
    case "commits.abandoned":
    case "transaction.interrupted":
      return entry.reason;
    case "commit.undone":
      return `${plural(entry.files, "file")} restored`;
    case "transaction.failed":
      return entry.message;
    default:
      return "";
  }
}

function weaker(allow: readonly string[] = []): string {
  return allow.length === 0 ? "" : `, weaker sandbox: ${allow.join(" and ")} allowed`;
}
