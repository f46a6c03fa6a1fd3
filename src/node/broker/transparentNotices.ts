import type { ExchangeParts } from "./exchangeState.ts";
import { newRequestId, recordFinished } from "./exchangeState.ts";
import { parseAuthority, type Authority } from "./names.ts";

/** Names under one parent, and characters of one name, from which on they look like a message. */
const manyNames = 50;
const longName = 100;

/**
 * What the sandbox's bridge tells besides connections. Nothing of it left the sandbox: names get made-up addresses and are
 * looked up by nobody, datagrams are refused by the kernel. It is journaled so that neither fails in silence.
 */
export class TransparentNotices {
  readonly #parts: ExchangeParts;
  readonly #under = new Map<string, number>();
  readonly #told = new Set<string>();

  constructor(parts: ExchangeParts) {
    this.#parts = parts;
  }

  async take(line: string): Promise<void> {
    const [kind = "", host = "", port = ""] = line.split(" ");
    if (kind === "name") await this.#name(host);
    else if (kind === "full") await this.#once("more names were asked for than a program needs");
    else if (kind === "udp") {
      const authority = parseAuthority(`${host}:${port}`);
      if (authority !== undefined) await this.#refuseDatagrams(authority);
    }
  }

  async #name(name: string): Promise<void> {
    if (name.length >= longName) await this.#once(`a name of ${name.length} characters: ${name}`);
    const parent = name.split(".").slice(-2).join(".");
    const count = (this.#under.get(parent) ?? 0) + 1;
    this.#under.set(parent, count);
    if (count === manyNames) await this.#once(`${manyNames} names under ${parent}`);
  }

  /** At most a few of them: a program that sends a message this way sends many. */
  async #once(what: string): Promise<void> {
    if (this.#told.size >= 20 || this.#told.has(what)) return;
    this.#told.add(what);
    const message = `${what}: asked for inside, looked up nowhere; nothing left the sandbox`;
    await this.#parts.host.record({ kind: "alert", source: "broker", code: "names", message });
  }

  async #refuseDatagrams(authority: Authority): Promise<void> {
    const { host } = this.#parts;
    const tool = host.currentToolCall();
    const parent = tool === undefined ? {} : { parent: tool };
    const id = newRequestId();
    const startedMs = performance.now();
    const common = { source: "broker", ...parent, request: id } as const;
    await Promise.all([
      host.record({
        kind: "request.started",
        ...common,
        protocol: "UDP",
        method: "SEND",
        host: authority.host,
        port: authority.port,
        path: "",
        reversibility: "irreversible",
        traffic: "opaque",
      }),
      host.record({
        kind: "verdict",
        ...common,
        verdict: "deny",
        reversibility: "irreversible",
        rule: "floor.datagram",
        reason: "datagrams do not leave the sandbox; most programs go on over TCP",
      }),
    ]);
    const one = { id, parts: this.#parts, parent, startedMs, counted: { sent: 0, received: 0 } };
    await recordFinished(one, { error: "denied" });
  }
}
