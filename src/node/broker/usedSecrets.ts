import type { Exchange } from "./exchangeState.ts";

/** The names of the secrets that one call used, journaled before the bytes that carry them leave. */
export class UsedSecrets {
  readonly #one: Exchange;
  readonly #names = new Set<string>();
  readonly #pending: Promise<unknown>[] = [];

  constructor(one: Exchange) {
    this.#one = one;
  }

  /** To be given to the vault. */
  at(where: string): (secret: string) => void {
    return (secret) => {
      if (this.#names.has(`${where} ${secret}`)) return;
      this.#names.add(`${where} ${secret}`);
      const { call, id, parts, parent } = this.#one;
      const host = call.authority.host;
      this.#pending.push(
        parts.host.record({
          kind: "secret.used",
          source: "broker",
          ...parent,
          secret,
          host,
          where,
          request: id,
        }),
      );
    };
  }

  get any(): boolean {
    return this.#names.size > 0;
  }

  /** True while some use is not known to be durable. */
  get isPending(): boolean {
    return this.#pending.length > 0;
  }

  /** Resolves when every use so far is durable. */
  async durable(): Promise<void> {
    await Promise.all(this.#pending.splice(0));
  }
}
