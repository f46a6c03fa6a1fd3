import { mkdir } from "node:fs/promises";
import path from "node:path";
import type { Entry } from "../../core/journal/entry.ts";
import type { BrokerHost, Decision, HoldRequest } from "../../runtime/ports.ts";
import type { SpoolRoom } from "./bodyIntake.ts";
import { doorLimits, SharedBytes, type DoorLimits } from "./doorLimits.ts";
import { dropBody, dropHold, dropOrphans, savedHolds, saveHold } from "./heldFiles.ts";
import { payloadHash, sameCallKey, shownPayload, type HeldPayload } from "./heldPayload.ts";

type HeldLimits = Pick<DoorLimits, "heldBytes" | "allHeldBytes">;

/** One held call and what became of it. */
interface Held {
  readonly request: string;
  readonly payload: HeldPayload;
  readonly sha256: Promise<string>;
  readonly likeness: string;
  readonly decision: Promise<Decision>;
  spent: boolean;
}

/** What is told to the person when a hold is opened. */
export type Opening = Omit<HoldRequest, "payload" | "payloadSha256"> & {
  /** Which later calls an approval for the transaction covers. */
  readonly likeness: string;
};

/** What a waiter gets: a refusal, or the approved payload, which only one waiter ever gets. `done` removes it. */
export type Outcome =
  | {
      readonly kind: "approved";
      readonly payload: HeldPayload;
      readonly scope: Decision["scope"];
      readonly done: () => Promise<void>;
    }
  | { readonly kind: "refused"; readonly decision: Decision }
  | { readonly kind: "spent" };

/**
 * Calls that wait for a person, by what they would do.
 *
 * - A client that goes away leaves its hold open. The same call made again (same method, URL, media type and body) joins
 *   the hold instead of opening another, and sends what was approved.
 * - A hold survives this process: it is written down before it is opened, and found again from the journal.
 * - One approval sends once: the first waiter to claim it gets the payload, and `hold.spent` is durable before.
 * - What is sent is what was approved: the payload is kept here or in a 0600 file and its hash compared at the end.
 */
export class HeldCalls {
  readonly #host: BrokerHost;
  readonly #directory: string;
  readonly #source: "broker" | "mcp";
  readonly #held = new Map<string, Held>();
  /** Likenesses of calls that a person approved for the transaction. */
  readonly #approved = new Set<string>();
  readonly #shut = new AbortController();
  /** Of bodies that are too large to stay in memory. */
  readonly room: SpoolRoom;

  private constructor(
    host: BrokerHost,
    directory: string,
    source: "broker" | "mcp",
    limits: HeldLimits,
  ) {
    this.room = { mostOfOne: limits.heldBytes, shared: new SharedBytes(limits.allHeldBytes) };
    this.#host = host;
    this.#directory = directory;
    this.#source = source;
  }

  /** Opens the private directory of held calls, and takes up those of an earlier process. */
  static async open(
    host: BrokerHost,
    stateDir: string,
    source: "broker" | "mcp" = "broker",
    limits: HeldLimits = doorLimits,
  ): Promise<HeldCalls> {
    const directory = path.join(stateDir, "held");
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const calls = new HeldCalls(host, directory, source, limits);
    await calls.#takeUp();
    return calls;
  }

  /** Where a call may spool its body. */
  spoolFile(request: string): string {
    return path.join(this.#directory, `${request}.body`);
  }

  /** True when a person approved such calls for the transaction. */
  isApproved(likeness: string): boolean {
    return this.#approved.has(likeness);
  }

  /** Waits for the decision on a call. Rejects with the signal's reason when the client is gone; the hold stays. */
  async decide(
    payload: HeldPayload,
    opening: Opening,
    by: string,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const key = sameCallKey(payload);
    const known = this.#held.get(key);
    const joins = known?.spent === false;
    const held = joins ? known : this.#open(key, payload, opening);
    if (joins) await this.#dropBody(payload);
    const decision = await abortable(held.decision, AbortSignal.any([signal, this.#shut.signal]));
    if (held.spent) return { kind: "spent" };
    if (decision.decision !== "approve") {
      await this.#forget(key, held);
      return { kind: "refused", decision };
    }
    held.spent = true;
    this.#held.delete(key);
    if ((await payloadHash(held.payload)) !== (await held.sha256)) {
      throw new Error("the held payload is not what was approved");
    }
    await this.#host.record({
      kind: "hold.spent",
      source: this.#source,
      request: held.request,
      by,
    });
    const done = async (): Promise<void> => await this.#drop(held.request, held.payload);
    return { kind: "approved", payload: held.payload, scope: decision.scope, done };
  }

  /** The door is shut: nothing that waits goes on, whatever is decided from now on. The holds stay. */
  close(): void {
    this.#shut.abort(new Error("the door is shut"));
  }

  /** In the map at once, so that a second attempt that arrives meanwhile joins. */
  #open(key: string, payload: HeldPayload, opening: Opening): Held {
    const { likeness, ...request } = opening;
    const sha256 = payloadHash(payload);
    const decision = sha256.then(async (hash) => {
      const saved = { request: request.request, likeness, sha256: hash, payload };
      await saveHold(this.#directory, saved);
      const shown = this.#host.keep(await shownPayload(payload));
      // The hold outlives this client, this connection and this signal.
      return await this.#host.hold({ ...request, payload: shown, payloadSha256: hash }, never());
    });
    return this.#add(key, { request: request.request, payload, sha256, likeness, decision });
  }

  #add(key: string, call: Omit<Held, "spent">): Held {
    const held: Held = { ...call, spent: false };
    this.#held.set(key, held);
    call.decision.then(
      ({ decision, scope }) => {
        if (decision === "approve" && scope !== "call") this.#approved.add(call.likeness);
      },
      () => this.#held.delete(key),
    );
    return held;
  }

  async #forget(key: string, held: Held): Promise<void> {
    if (this.#held.get(key) === held) this.#held.delete(key);
    await this.#drop(held.request, held.payload);
  }

  /** Removes what a decided hold left on the disk. */
  async #drop(request: string, payload: HeldPayload): Promise<void> {
    await dropHold(this.#directory, request);
    await this.#dropBody(payload);
  }

  async #dropBody({ body }: HeldPayload): Promise<void> {
    if (body.file === undefined) return;
    await dropBody(body.file);
    this.room.shared.give(body.bytes);
  }

  async #takeUp(): Promise<void> {
    const earlier = earlierHolds(this.#host.earlier?.() ?? []);
    const written = await savedHolds(this.#directory);
    await dropOrphans(this.#directory, written);
    for (const saved of written) {
      const past = earlier.get(saved.request);
      const decision = past === undefined || past.spent ? undefined : this.#decisionOn(past);
      if (saved.payload.body.file !== undefined) this.room.shared.take(saved.payload.body.bytes);
      if (decision === undefined) await this.#drop(saved.request, saved.payload);
      else
        this.#add(sameCallKey(saved.payload), {
          ...saved,
          sha256: Promise.resolve(saved.sha256),
          decision,
        });
    }
  }

  /** Undefined when nothing can come of the hold any more. */
  #decisionOn(past: PastHold): Promise<Decision> | undefined {
    if (past.decision === undefined) return this.#host.rejoin?.(past.hold, never());
    return past.decision.decision === "approve" ? Promise.resolve(past.decision) : undefined;
  }
}

interface PastHold {
  readonly hold: string;
  readonly decision?: Decision;
  readonly spent: boolean;
}

/** What the journal tells of each hold, by the request that opened it. */
function earlierHolds(entries: readonly Entry[]): ReadonlyMap<string, PastHold> {
  const byRequest = new Map<string, PastHold>();
  const requestOf = new Map<string, string>();
  const change = (request: string | undefined, part: Partial<PastHold>): void => {
    const past = request === undefined ? undefined : byRequest.get(request);
    if (request !== undefined && past !== undefined) byRequest.set(request, { ...past, ...part });
  };
  for (const entry of entries) {
    if (entry.kind === "hold.opened") {
      requestOf.set(entry.hold, entry.request);
      byRequest.set(entry.request, { hold: entry.hold, spent: false });
    } else if (entry.kind === "hold.decided") {
      const { decision, scope } = entry;
      change(requestOf.get(entry.hold), { decision: { decision, scope } });
    } else if (entry.kind === "hold.spent") {
      change(entry.request, { spent: true });
    }
  }
  return byRequest;
}

function never(): AbortSignal {
  return new AbortController().signal;
}

/** The promise, or the signal's reason when that comes first. */
async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw signal.reason;
  return await new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(
      (value) => {
        signal.removeEventListener("abort", onAbort);
        resolve(value);
      },
      (error: unknown) => {
        signal.removeEventListener("abort", onAbort);
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}
