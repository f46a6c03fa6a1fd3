import { randomUUID } from "node:crypto";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  ErrorCode,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type RequestId,
} from "@modelcontextprotocol/sdk/types.js";
import { messageOf } from "../../base/errors.ts";
import { isNestedDeeper } from "../../base/nesting.ts";
import type { Vault } from "../secrets/vault.ts";
import type { CallEnd, Gate } from "./gate.ts";
import type { McpServer } from "./mcpSettings.ts";
import {
  cancelledId,
  errorAnswer,
  isAnswer,
  isNotification,
  isRequest,
  planOf,
  protocolVersion,
  refusal,
  toolCallIds,
  withInput,
} from "./messages.ts";
import { ToolSet, toolsIn } from "./toolSet.ts";
import type { Upstream } from "./upstream.ts";

/** While a call waits for a person, clients that asked for progress hear of it this often, milliseconds. */
const sayWaitingMs = 10_000;

export interface SessionParts {
  readonly server: McpServer;
  readonly definition: string;
  readonly gate: Gate;
  readonly vault: Vault;
  /** The agent's side. */
  readonly inside: Transport;
  readonly upstream: Upstream;
  /** The server could not be started or has failed: journaled. */
  readonly onFailure: (message: string) => void;
}

/** A request of the agent's that has gone to the server. */
interface Sent {
  readonly method: string;
  readonly finish?: (end: CallEnd) => Promise<void>;
}

/**
 * One session of an agent with one server: messages go through as they are, both ways, but for these.
 *
 * - Tool calls and reads are decided on by the {@link Gate} first. Requests of unknown kinds are refused.
 * - Known values of secrets never go to the server, and are replaced in what comes back.
 * - What the server says of its tools is noted, and asked for by ourselves before it is trusted.
 */
export class McpSession {
  readonly #parts: SessionParts;
  readonly #tools = new ToolSet();
  readonly #deciding = new Map<RequestId, AbortController>();
  readonly #sent = new Map<RequestId, Sent>();
  readonly #own = new Map<RequestId, (message: JSONRPCMessage | undefined) => void>();
  /** Of requests of our own: no id that the agent could have thought of. */
  readonly #ownPrefix = `holdfast-${randomUUID()}-`;
  #ownCount = 0;
  #listing: Promise<void> | undefined;
  #closing = false;
  #closed: Promise<void> = Promise.resolve();

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  /** Starts the server and lets messages through. */
  async start(): Promise<void> {
    const { inside, upstream } = this.#parts;
    const { transport } = upstream;
    inside.onclose = () => void this.close();
    transport.onclose = () => this.#serverEnded();
    transport.onerror = () => undefined; // what matters fails its request, or closes
    transport.onmessage = (message: JSONRPCMessage) => this.#fromServer(message);
    let failed: string | undefined;
    try {
      await transport.start();
    } catch (error) {
      failed = this.#failureText(messageOf(error));
      this.#parts.onFailure(failed);
    }
    const why = failed;
    inside.onmessage = (message) => {
      if (why === undefined) this.#fromAgent(message);
      else if (isRequest(message)) {
        void inside.send(errorAnswer(message.id, ErrorCode.InternalError, why));
      }
    };
    await inside.start();
  }

  /** Ends both sides; held calls stay held. */
  close(): Promise<void> {
    // Marked first: a transport may tell of its end while it is being closed.
    if (!this.#closing) {
      this.#closing = true;
      this.#closed = this.#close();
    }
    return this.#closed;
  }

  async #close(): Promise<void> {
    for (const abort of this.#deciding.values()) abort.abort(new Error("the agent is gone"));
    for (const answer of this.#own.values()) answer(undefined);
    // Not waited for: a program is given time to end by itself, and nothing goes to it any more.
    void this.#parts.upstream.transport.close().catch(() => undefined);
    await this.#parts.inside.close();
    await this.#finishAll("the session ended");
  }

  #serverEnded(): void {
    if (this.#closing) return;
    const failure = this.#failureText("the server ended");
    this.#parts.onFailure(failure);
    for (const id of this.#sent.keys()) {
      void this.#parts.inside.send(errorAnswer(id, ErrorCode.ConnectionClosed, failure));
    }
    void this.close();
  }

  async #finishAll(error: string): Promise<void> {
    const open = [...this.#sent.values()];
    this.#sent.clear();
    for (const { finish } of open) await finish?.({ error, bytes: 0 });
  }

  #failureText(what: string): string {
    const said = this.#parts.upstream.errors();
    const tail = said === "" ? "" : `: ${said.split("\n").slice(-3).join(" ")}`;
    return this.#parts.vault.scrub(
      `the MCP server ${this.#parts.server.name} failed: ${what}${tail}`,
    );
  }

  #fromAgent(message: JSONRPCMessage): void {
    if (isAnswer(message)) this.#toServer(message);
    else if (!isRequest(message)) this.#notified(message);
    else if (this.#sent.has(message.id) || this.#deciding.has(message.id)) {
      // One answer would end both, and the journal would tell the wrong one.
      const why = "a request with this id is under way";
      void this.#parts.inside.send(errorAnswer(message.id, ErrorCode.InvalidRequest, why));
    } else {
      const plan = planOf(message);
      if (plan.kind === "gate") void this.#gated(message, plan.target, plan.input);
      else if (plan.kind === "pass") this.#pass(message);
      else {
        const why = `Method not found: ${message.method} is not passed on`;
        void this.#parts.inside.send(errorAnswer(message.id, ErrorCode.MethodNotFound, why));
      }
    }
  }

  #notified(message: JSONRPCNotification): void {
    const cancelled = cancelledId(message);
    const deciding = cancelled === undefined ? undefined : this.#deciding.get(cancelled);
    if (deciding !== undefined) deciding.abort(new Error("the agent gave the call up"));
    else this.#toServer(message);
  }

  #pass(request: JSONRPCRequest): void {
    this.#sent.set(request.id, { method: request.method });
    this.#toServer(request);
  }

  async #gated(request: JSONRPCRequest, target: string, input: unknown): Promise<void> {
    const { gate, server, inside, definition } = this.#parts;
    const abort = new AbortController();
    this.#deciding.set(request.id, abort);
    const waiting = this.#sayWaiting(request);
    try {
      await this.#ensureTools();
      const outcome = await gate.decide({
        server,
        method: request.method,
        target,
        input,
        ids: toolCallIds(request),
        pin: this.#tools.pin(definition),
        destructive: this.#tools.isDestructive(target),
        signal: abort.signal,
      });
      if (outcome.kind === "refused") await inside.send(refusal(request, outcome.message));
      else if (this.#closing) await outcome.finish({ error: "not sent", bytes: 0 });
      else {
        this.#sent.set(request.id, { method: request.method, finish: outcome.finish });
        this.#toServer(withInput(request, outcome.input));
      }
    } catch (error) {
      // Given up by the agent: it waits for no answer. The hold stays, and the same call made again joins it.
      if (!abort.signal.aborted) {
        await inside.send(errorAnswer(request.id, ErrorCode.InternalError, messageOf(error)));
      }
    } finally {
      clearInterval(waiting);
      this.#deciding.delete(request.id);
    }
  }

  /** Some clients end a call that says nothing for a while, and wait on where it makes progress. */
  #sayWaiting(request: JSONRPCRequest): NodeJS.Timeout | undefined {
    const progressToken = request.params?._meta?.progressToken;
    if (progressToken === undefined) return undefined;
    let said = 0;
    return setInterval(() => {
      // Progress must grow with each message; the server's own begins at zero.
      const progress = -1 / ++said;
      const message = "waiting for a person's decision";
      const params = { progressToken, progress, message };
      void this.#parts.inside.send({ jsonrpc: "2.0", method: "notifications/progress", params });
    }, sayWaitingMs);
  }

  /** What goes to the server: never a known value of a secret. */
  #toServer(message: JSONRPCMessage): void {
    const { vault, upstream } = this.#parts;
    const leaked = vault.empty ? undefined : vault.leakIn(JSON.stringify(message));
    if (leaked !== undefined) {
      const why = `the value of the secret ${leaked} was about to leave`;
      this.#parts.onFailure(why);
      if (isRequest(message)) void this.#failed(message.id, why);
      return;
    }
    upstream.transport.send(message).catch((error: unknown) => {
      const why = this.#failureText(messageOf(error));
      if (isRequest(message)) void this.#failed(message.id, why);
    });
  }

  async #failed(id: RequestId, why: string): Promise<void> {
    const own = this.#own.get(id);
    if (own !== undefined) {
      own(undefined);
      return;
    }
    const sent = this.#sent.get(id);
    this.#sent.delete(id);
    await sent?.finish?.({ error: why, bytes: 0 });
    await this.#parts.inside.send(errorAnswer(id, ErrorCode.InternalError, why));
  }

  #fromServer(message: JSONRPCMessage): void {
    if (isNestedDeeper(message)) {
      this.#tooDeep(message);
      return;
    }
    if (isAnswer(message) && message.id !== undefined) {
      const own = this.#own.get(message.id);
      if (own !== undefined) {
        own(message);
        return;
      }
    }
    if (isNotification(message) && message.method === "notifications/tools/list_changed") {
      this.#tools.outdate();
    }
    const { vault, inside } = this.#parts;
    const text = JSON.stringify(message);
    const clean = vault.scrub(text);
    const shown = clean === text ? message : (JSON.parse(clean) as JSONRPCMessage);
    if (isAnswer(shown)) this.#answered(shown, Buffer.byteLength(text));
    void inside.send(shown);
  }

  /** It could not be looked into for secrets. Who waits for it is told; what nobody waits for is dropped. */
  #tooDeep(message: JSONRPCMessage): void {
    const why = this.#failureText("a message is nested too deep");
    this.#parts.onFailure(why);
    if (isAnswer(message) && message.id !== undefined) void this.#failed(message.id, why);
    else if (isRequest(message)) {
      const answer = errorAnswer(message.id, ErrorCode.InvalidRequest, why);
      this.#parts.upstream.transport.send(answer).catch(() => undefined);
    }
  }

  #answered(message: JSONRPCMessage, bytes: number): void {
    if (!isAnswer(message) || message.id === undefined) return;
    const sent = this.#sent.get(message.id);
    if (sent === undefined) return;
    this.#sent.delete(message.id);
    const result = "result" in message ? message.result : undefined;
    if (sent.method === "initialize") {
      const version = protocolVersion(result);
      if (version !== undefined) this.#parts.upstream.transport.setProtocolVersion?.(version);
    }
    if (sent.method === "tools/list") this.#tools.show(toolsIn(result)?.tools ?? []);
    const end =
      "error" in message ? { error: message.error.message, bytes } : { output: result, bytes };
    void sent.finish?.(end);
  }

  /** Asks for the whole tool set ourselves where what is known of it may be out of date. */
  async #ensureTools(): Promise<void> {
    for (let turn = 0; turn < 3 && !this.#tools.current; turn++) {
      this.#listing ??= this.#list().finally(() => (this.#listing = undefined));
      await this.#listing;
    }
  }

  async #list(): Promise<void> {
    const tools = [];
    let cursor: string | undefined;
    // A server that pages without end is not waited for: what is not listed is not trusted.
    for (let page = 0; page < 1000; page++) {
      const answer = await this.#ask("tools/list", cursor === undefined ? {} : { cursor });
      const found = toolsIn(answer);
      if (found === undefined) break;
      tools.push(...found.tools);
      cursor = found.nextCursor;
      if (cursor === undefined) break;
    }
    this.#tools.replace(tools);
  }

  /** A request of our own; undefined when it fails. */
  #ask(method: string, params: Record<string, unknown>): Promise<unknown> {
    const id = `${this.#ownPrefix}${++this.#ownCount}`;
    return new Promise((resolve) => {
      this.#own.set(id, (message) => {
        this.#own.delete(id);
        resolve(message !== undefined && "result" in message ? message.result : undefined);
      });
      this.#toServer({ jsonrpc: "2.0", id, method, params });
    });
  }
}
