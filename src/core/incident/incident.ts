import type { Entry, EntryOf, Reversibility } from "../journal/entry.ts";
import { splitQuery } from "../trace/span.ts";
import { foldTransaction, type OpenHold } from "../transaction/transactionState.ts";

/** What one host got from one transaction. */
export interface HostUse {
  readonly host: string;
  /** Calls that left the machine. */
  readonly calls: number;
  readonly bytesSent: number;
  /** The agent's own model. */
  readonly model: boolean;
  readonly first: string;
  readonly last: string;
}

/** Where one secret went. */
export interface SecretUse {
  readonly secret: string;
  readonly hosts: readonly string[];
  readonly times: number;
  readonly last: string;
}

/** One call that left and changed something, or may have. */
export interface Crossing {
  readonly at: string;
  readonly method: string;
  readonly host: string;
  /** Without the values of its query. */
  readonly path: string;
  readonly reversibility: Reversibility;
  readonly wayBack?: string;
  /** `unknown`: it was on its way and no answer came. */
  readonly outcome: "answered" | "failed" | "unknown";
  readonly status?: number;
}

/** What one transaction did to the world outside, read from its journal. */
export interface Incident {
  readonly transaction: string;
  readonly workspace: string;
  readonly agent: string;
  readonly task?: string;
  readonly begunAt: string;
  readonly hosts: readonly HostUse[];
  readonly secrets: readonly SecretUse[];
  readonly crossings: readonly Crossing[];
  /** Held and undecided: nothing of them was sent. */
  readonly held: readonly OpenHold[];
}

/** What a transaction did outside, and what is still held. */
export function incidentOf(entries: readonly Entry[]): Incident {
  const state = foldTransaction(entries);
  const left = requestsThatLeft(entries);
  const finished = new Map<string, EntryOf<"request.finished">>();
  for (const entry of entries) {
    if (entry.kind === "request.finished") finished.set(entry.request, entry);
  }
  const sent = entries.filter(
    (entry): entry is EntryOf<"request.started"> =>
      entry.kind === "request.started" && left.has(entry.request),
  );
  const crossings = sent.filter((one) => one.traffic === "change" || one.traffic === "opaque");
  return {
    transaction: state.transaction,
    workspace: state.workspace,
    agent: state.agent,
    ...(state.task === undefined ? {} : { task: state.task }),
    begunAt: state.begunAt,
    hosts: hostsOf(sent, finished),
    secrets: secretsOf(entries),
    crossings: crossings.map((one) => crossingOf(one, finished.get(one.request))),
    held: state.openHolds,
  };
}

/**
 * The requests that left the machine, or may have: those whose verdict lets them pass, those that used up an approval, and
 * those that an approval for the whole transaction covers. All of it is durable before the first byte leaves, so nothing
 * that left is missing.
 */
function requestsThatLeft(entries: readonly Entry[]): ReadonlySet<string> {
  const left = new Set<string>();
  const holds = new Map<string, EntryOf<"hold.opened">>();
  const held = new Set<string>();
  const lasting = new Set<string>();
  const covered = new Set<string>();
  for (const entry of entries) {
    if (entry.kind === "verdict") {
      if (entry.verdict === "allow") left.add(entry.request);
      else left.delete(entry.request);
      if (entry.verdict === "hold" && lasting.has(entry.rule)) covered.add(entry.request);
    } else if (entry.kind === "hold.opened") {
      holds.set(entry.hold, entry);
      held.add(entry.request);
    } else if (entry.kind === "hold.decided") {
      const rule = holds.get(entry.hold)?.rule;
      const lasts = entry.decision === "approve" && entry.scope !== "call";
      if (lasts && rule !== undefined) lasting.add(rule);
    } else if (entry.kind === "hold.spent") {
      left.add(entry.by);
    } else if (entry.kind === "request.finished") {
      // Only what was sent has a status; what was refused has an error.
      if (entry.status !== undefined) left.add(entry.request);
      else covered.delete(entry.request);
    }
  }
  for (const request of covered) if (!held.has(request)) left.add(request);
  return left;
}

function hostsOf(
  sent: readonly EntryOf<"request.started">[],
  finished: ReadonlyMap<string, EntryOf<"request.finished">>,
): readonly HostUse[] {
  const hosts = new Map<string, HostUse>();
  for (const { host, at, request, traffic, bytes } of sent) {
    const before = hosts.get(host);
    hosts.set(host, {
      host,
      calls: (before?.calls ?? 0) + 1,
      bytesSent: (before?.bytesSent ?? 0) + (finished.get(request)?.bytesSent ?? bytes ?? 0),
      model: (before?.model ?? true) && traffic === "model",
      first: before?.first ?? at,
      last: at,
    });
  }
  return [...hosts.values()].sort((a, b) => (a.host < b.host ? -1 : 1));
}

function secretsOf(entries: readonly Entry[]): readonly SecretUse[] {
  const secrets = new Map<string, SecretUse>();
  for (const entry of entries) {
    if (entry.kind !== "secret.used") continue;
    const before = secrets.get(entry.secret);
    secrets.set(entry.secret, {
      secret: entry.secret,
      hosts: [...new Set([...(before?.hosts ?? []), entry.host])],
      times: (before?.times ?? 0) + 1,
      last: entry.at,
    });
  }
  return [...secrets.values()];
}

function crossingOf(
  started: EntryOf<"request.started">,
  finished: EntryOf<"request.finished"> | undefined,
): Crossing {
  const { at, method, host, reversibility, wayBack } = started;
  const { path, query } = splitQuery(started.path);
  const status = finished?.status;
  return {
    at,
    method,
    host,
    path: query === undefined ? path : `${path}?${query}`,
    reversibility,
    ...(wayBack === undefined ? {} : { wayBack }),
    outcome: outcomeOf(finished),
    ...(status === undefined ? {} : { status }),
  };
}

/** A call that broke off without an answer may have had its effect. */
function outcomeOf(finished: EntryOf<"request.finished"> | undefined): Crossing["outcome"] {
  if (finished?.status === undefined) return "unknown";
  return finished.status >= 400 ? "failed" : "answered";
}
