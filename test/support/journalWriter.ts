import type { Entry, EntryDraft } from "../../src/core/journal/entry.ts";

const begun = Date.UTC(2026, 10, 29, 9, 30, 0);

/** Collects drafts as entries with a made-up clock; hashes are left out, since only readers of the file check them. */
export class JournalWriter {
  readonly entries: Entry[] = [];
  #ms = begun;

  /** Appends after a pause and gives the `seq`. */
  add(draft: EntryDraft, pauseMs = 40): number {
    this.#ms += pauseMs;
    const seq = this.entries.length + 1;
    this.entries.push({ ...draft, seq, at: new Date(this.#ms).toISOString(), prev: "" });
    return seq;
  }

  tool(
    tool: string,
    toolKind: Extract<EntryDraft, { kind: "tool.started" }>["toolKind"],
    title: string,
    input: Extract<EntryDraft, { kind: "tool.started" }>["input"],
    more: { readonly parent?: number; readonly agent?: string } = {},
  ): number {
    const call = `call-${this.entries.length}`;
    return this.add(
      { kind: "tool.started", source: "hook", call, tool, toolKind, title, input, ...more },
      350,
    );
  }

  finish(
    parent: number,
    output: string,
    status: "ok" | "failed" | "denied" = "ok",
    durationMs = 12,
  ): void {
    const call = `call-${parent - 1}`;
    this.add(
      { kind: "tool.finished", source: "hook", parent, call, status, output, durationMs },
      durationMs,
    );
  }
}

export interface SampleRequest {
  readonly host: string;
  readonly path: string;
  readonly traffic: "model" | "disclosure" | "change";
  readonly method?: string;
  readonly parent?: number;
  readonly reversibility?: "recoverable" | "irreversible";
  readonly wayBack?: string;
  readonly rule?: string;
  readonly reason?: string;
  readonly secret?: string;
  readonly bytes?: number;
}

/** One request with its verdict, secret and answer. */
export function request(journal: JournalWriter, sample: SampleRequest): void {
  const { host, path, traffic, secret, wayBack, bytes = 900 } = sample;
  const id = `r${String(journal.entries.length)}`;
  const reversibility = sample.reversibility ?? "irreversible";
  const started = journal.add({
    kind: "request.started",
    source: "broker",
    ...(sample.parent === undefined ? {} : { parent: sample.parent }),
    request: id,
    protocol: "https",
    method: sample.method ?? (traffic === "model" ? "POST" : "GET"),
    host,
    port: 443,
    path,
    reversibility,
    traffic,
    bytes,
    ...(wayBack === undefined ? {} : { wayBack }),
  });
  const rule = sample.rule ?? "reads";
  const reason = sample.reason ?? "reads from an allowed host";
  journal.add({
    kind: "verdict",
    source: "broker",
    parent: started,
    request: id,
    verdict: "allow",
    reversibility,
    rule,
    reason,
  });
  if (secret !== undefined)
    journal.add({
      kind: "secret.used",
      source: "broker",
      parent: started,
      request: id,
      secret,
      host,
      where: "header authorization",
    });
  journal.add(
    {
      kind: "request.finished",
      source: "broker",
      parent: started,
      request: id,
      status: 200,
      bytesSent: bytes,
      bytesReceived: 2400,
      durationMs: 180,
    },
    180,
  );
}
