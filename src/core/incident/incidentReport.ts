import { visible } from "../timeline/describeEntry.ts";
import type { Crossing, Incident } from "./incident.ts";
import { platformOf, type Platform } from "./platforms.ts";

/** How one transaction ended at the stop. */
export interface StopOutcome {
  readonly transaction: string;
  /** `sealed`: ended and sealed; `killed`: its supervisor did not answer and was killed, and its sandbox with it; `ended`: it
   * was over before; `running`: it could not be stopped. */
  readonly outcome: "sealed" | "killed" | "ended" | "running";
  readonly detail?: string;
}

export interface ReportRequest {
  /** ISO 8601. */
  readonly at: string;
  readonly outcomes: readonly StopOutcome[];
  readonly incidents: readonly Incident[];
  /** Where the evidence lies. */
  readonly directory: string;
}

const outcomeWords: Readonly<Record<StopOutcome["outcome"], string>> = {
  sealed: "stopped and sealed",
  killed: "killed: its supervisor did not answer",
  ended: "was over already",
  running: "**still runs**",
};

/** Crossings in one table at most; the journal has all. */
const mostRows = 200;

/** What a person needs after an emergency stop, as Markdown: what was stopped, what to revoke, what may be undone. */
export function incidentReport(request: ReportRequest): string {
  const { at, outcomes, incidents, directory } = request;
  const crossings = incidents.flatMap((one) => one.crossings);
  const held = incidents.flatMap((one) => one.held);
  return [
    "# Emergency stop",
    `${at.slice(0, 19).replace("T", " ")} UTC. Nothing of these runs any more, and nothing more can be sent.`,
    ...stopped(outcomes, incidents),
    "## 1. Revoke what was used",
    ...secretLines(incidents),
    "## 2. Undo what left this machine",
    ...crossingLines(crossings),
    "## 3. Held calls",
    held.length === 0
      ? "None was waiting."
      : list(held.map((one) => `${code(one.hold)} ${text(one.summary)}: **not sent**, undecided.`)),
    "## 4. Hosts that were reached",
    ...hostLines(incidents),
    "## 5. The work in your copies",
    "Your workspaces were not touched by the stop. What the agents wrote can be reviewed (`holdfast changes TXN`), committed or thrown away (`holdfast discard TXN`); one that was killed is reopened with `holdfast resume TXN`.",
    "## Evidence",
    `${code(directory)} holds this report, and for each transaction its journal (\`journal.jsonl\`), the large values that it names (\`blobs\`), and the proof of its chain (\`verify.json\`). Check it again, on any machine, with \`holdfast journal verify FILE\`. Its secrets are placeholders.`,
    "",
  ].join("\n\n");
}

function stopped(
  outcomes: readonly StopOutcome[],
  incidents: readonly Incident[],
): readonly string[] {
  if (outcomes.length === 0) return ["No agent was running."];
  const rows = outcomes.map(({ transaction, outcome, detail }) => {
    const incident = incidents.find((one) => one.transaction === transaction);
    const more = detail === undefined ? "" : ` (${text(detail)})`;
    const task = text(incident?.task ?? "");
    return [
      code(transaction),
      text(incident?.agent ?? "?"),
      task,
      `${outcomeWords[outcome]}${more}`,
    ];
  });
  return [table(["transaction", "agent", "task", "now"], rows)];
}

function secretLines(incidents: readonly Incident[]): readonly string[] {
  const hosts = new Map<string, Set<string>>();
  for (const { secret, hosts: reached } of incidents.flatMap((one) => one.secrets)) {
    const known = hosts.get(secret) ?? new Set<string>();
    for (const host of reached) known.add(host);
    hosts.set(secret, known);
  }
  if (hosts.size === 0) {
    return ["No secret was used. Agents never see values, only placeholders."];
  }
  const lines = [...hosts].map(([secret, reached]) => {
    const places = [...new Set([...reached].map((host) => platformOf(host)))];
    const links = places.flatMap((place) => (place === undefined ? [] : revokeLinks(place)));
    const where =
      links.length === 0 ? "revoke it where it was made" : `revoke it: ${links.join(" · ")}`;
    return `**${text(secret)}**, sent to ${[...reached].map(text).join(", ")} — ${where}`;
  });
  return [
    list(lines),
    "The agents had placeholders only: whoever got a value got it from the hosts above. Afterwards `holdfast secret set NAME --host HOST` takes the new value.",
  ];
}

function revokeLinks({ name, revoke }: Platform): readonly string[] {
  return revoke.map(({ what, url }) => `[${name}: ${what}](${url})`);
}

function crossingLines(crossings: readonly Crossing[]): readonly string[] {
  if (crossings.length === 0) return ["Nothing left that changes anything elsewhere."];
  const rows = crossings
    .slice(0, mostRows)
    .map((one) => [
      one.at.slice(0, 19).replace("T", " "),
      code(`${one.method} ${one.host}${one.path}`),
      one.outcome === "unknown" ? "no answer: it may have arrived" : `answered ${one.status ?? ""}`,
      one.reversibility,
      one.wayBack ?? "",
    ]);
  const rest = crossings.length - rows.length;
  const reached = new Set(crossings.flatMap(({ host }) => platformOf(host) ?? []));
  return [
    table(["when (UTC)", "what", "outcome", "class", "way back"], rows),
    ...(rest > 0 ? [`… and ${rest} more in the journals.`] : []),
    ...[...reached].map(undoLines),
  ];
}

function undoLines({ name, undo, audit, sources }: Platform): string {
  const windows = undo.map(({ what, until }) => `${what}: ${until}`);
  const look = audit === undefined ? [] : [`what was done in your name: ${audit}`];
  return `**${name}**\n\n${list([...windows, ...look, `from: ${sources.join(" , ")}`])}`;
}

function hostLines(incidents: readonly Incident[]): readonly string[] {
  const rows = incidents.flatMap(({ transaction, hosts }) =>
    hosts.map((one) => [
      text(one.host),
      one.model ? "the agent's model" : (platformOf(one.host)?.name ?? ""),
      String(one.calls),
      String(one.bytesSent),
      code(transaction),
    ]),
  );
  return rows.length === 0
    ? ["None."]
    : [table(["host", "platform", "calls", "bytes sent", "transaction"], rows)];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows.map((row) => row.map(cell))];
  return lines.map((row) => `| ${row.join(" | ")} |`).join("\n");
}

function cell(value: string): string {
  return visible(value).replaceAll("|", "\\|");
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}

/** What an agent or a server named: shown as it is, without making Markdown of it. */
function text(value: string): string {
  return visible(value).replaceAll(/[\\`*_{}[\]()#+!<>]/g, (mark) => `\\${mark}`);
}

function code(value: string): string {
  return `\`${visible(value).replaceAll("`", "'")}\``;
}
