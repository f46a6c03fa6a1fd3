import type { z } from "zod";
import { Failure, messageOf, type FailureKind } from "../base/errors.ts";
import { Emitter, type Ending } from "../base/lifecycle.ts";

/** A method: what it takes and what it gives. */
export interface Method {
  readonly params: z.ZodType;
  readonly result: z.ZodType;
}

export type Methods = Readonly<Record<string, Method>>;
export type Notifications = Readonly<Record<string, z.ZodType>>;

/** One message each way; a transport carries them whole and in order. */
export interface Transport {
  send(message: unknown): void;
}

/** Handlers of every method of a protocol: a missing one does not compile. */
export type Handlers<M extends Methods> = {
  [K in keyof M]: (
    params: z.output<M[K]["params"]>,
  ) => Promise<z.input<M[K]["result"]>> | z.input<M[K]["result"]>;
};

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface WireError {
  readonly kind: FailureKind;
  readonly code: string;
  readonly message: string;
  readonly fix?: string;
}

interface Wire {
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: WireError;
}

/**
 * Calls methods of the other side. JSON-RPC 2.0 in shape; what comes back is validated, and a failure of the other side
 * arrives as the same {@link Failure}.
 */
export class Caller<M extends Methods, N extends Notifications> {
  readonly #methods: M;
  readonly #notifications: N;
  readonly #transport: Transport;
  readonly #pending = new Map<number, Pending>();
  readonly #emitter = new Emitter<{ readonly name: keyof N; readonly value: unknown }>();
  #next = 1;
  #ended: Error | undefined;

  constructor(methods: M, notifications: N, transport: Transport) {
    this.#methods = methods;
    this.#notifications = notifications;
    this.#transport = transport;
  }

  call<K extends keyof M & string>(
    method: K,
    params: z.input<M[K]["params"]>,
  ): Promise<z.output<M[K]["result"]>> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, {
        resolve: (value) => {
          const parsed = this.#methods[method]?.result.safeParse(value);
          if (parsed?.success === true) resolve(parsed.data as z.output<M[K]["result"]>);
          else
            reject(
              new Error(
                `${method}: the answer has the wrong shape: ${parsed?.error.message ?? ""}`,
              ),
            );
        },
        reject,
      });
      this.#transport.send({ jsonrpc: "2.0", id, method, params });
    });
  }

  on<K extends keyof N>(name: K, listener: (value: z.output<N[K]>) => void): Ending & Disposable {
    return this.#emitter.event((event) => {
      if (event.name === name) listener(event.value as z.output<N[K]>);
    });
  }

  /** Takes one message from the other side; what is not for a caller is ignored. */
  receive(message: unknown): void {
    const wire = message as Wire;
    if (wire.id === undefined) {
      const schema = wire.method === undefined ? undefined : this.#notifications[wire.method];
      const parsed = schema?.safeParse(wire.params);
      if (parsed?.success === true)
        this.#emitter.fire({ name: wire.method ?? "", value: parsed.data });
      return;
    }
    const pending = this.#pending.get(wire.id);
    if (pending === undefined) return;
    this.#pending.delete(wire.id);
    if (wire.error === undefined) pending.resolve(wire.result);
    else pending.reject(failureOf(wire.error));
  }

  /** The transport is gone: every open call fails, later ones at once. */
  end(reason: Error): void {
    this.#ended = reason;
    for (const pending of this.#pending.values()) pending.reject(reason);
    this.#pending.clear();
    this.#emitter.dispose();
  }
}

function failureOf(error: WireError): Failure {
  return new Failure(error.kind, error.code, error.message, error.fix);
}

/** Answers methods for one connection. */
export class Responder<M extends Methods, N extends Notifications> {
  readonly #methods: M;
  readonly #handlers: Handlers<M>;
  readonly #transport: Transport;

  constructor(methods: M, handlers: Handlers<M>, transport: Transport) {
    this.#methods = methods;
    this.#handlers = handlers;
    this.#transport = transport;
  }

  notify<K extends keyof N & string>(name: K, value: z.input<N[K]>): void {
    this.#transport.send({ jsonrpc: "2.0", method: name, params: value });
  }

  /** Takes one request and sends its answer; resolves when the answer is on its way. */
  async receive(message: unknown): Promise<void> {
    const wire = message as Wire;
    if (wire.id === undefined || typeof wire.method !== "string") return;
    const send = (rest: object): void =>
      this.#transport.send({ jsonrpc: "2.0", id: wire.id, ...rest });
    try {
      send({ result: (await this.#answer(wire.method, wire.params)) ?? null });
    } catch (error) {
      send({ error: wireErrorOf(error) });
    }
  }

  async #answer(method: string, params: unknown): Promise<unknown> {
    const declared = Object.hasOwn(this.#methods, method) ? this.#methods[method] : undefined;
    if (declared === undefined) throw new Failure("usage", "unknown-method", `no method ${method}`);
    const parsed = declared.params.safeParse(params);
    if (!parsed.success) {
      throw new Failure("usage", "bad-parameters", `${method}: ${parsed.error.message}`);
    }
    return this.#handlers[method]?.(parsed.data as never);
  }
}

function wireErrorOf(error: unknown): WireError {
  if (error instanceof Failure) {
    const { kind, code, message, fix } = error;
    return fix === undefined ? { kind, code, message } : { kind, code, message, fix };
  }
  return { kind: "failed", code: "internal", message: `internal error: ${messageOf(error)}` };
}
