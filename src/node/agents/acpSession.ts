import { Readable, Writable } from "node:stream";
import {
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
  type AnyMessage,
  type ClientConnection,
  type NewSessionRequest,
  type PromptRequest,
  type RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import * as z from "zod";
import { Failure, messageOf } from "../../base/errors.ts";
import { withoutDeep } from "../../base/nesting.ts";
import { visibleLine } from "../../base/visibleText.ts";
import type { AgentEvent, AgentSession, SessionRequest } from "../../runtime/agent.ts";
import { acpMcp } from "../mcp/mcpConfiguration.ts";
import { AcpTranslator } from "./acpEvents.ts";

/** The largest message of an agent, bytes: a tool's result with a large file fits. */
const longest = 64 * 1024 * 1024;

/** How long an answer may take before the person is told that it does not come, milliseconds. Slow agents go on all the same. */
const patienceMs = 20_000;

/** The error of the protocol that asks to authenticate first. */
const authRequired = -32000;

/** Methods of authenticating that need nobody: the agent takes the key from its environment. */
const keyMethod = /api[-_ ]?key/i;

/** What an agent wants to be allowed. The SDK's own schema refuses the whole question for one option of a kind that it does
 * not know; here a member of a wrong type counts as left out. */
const permissionAsked = z.object({
  toolCall: z.unknown(),
  options: z.array(z.unknown()).catch([]),
});
const permissionOption = z.object({ optionId: z.string(), kind: z.string() });

const turnEnded = z.object({ stopReason: z.string() });
const greeting = z.object({
  protocolVersion: z.unknown().optional(),
  agentInfo: z.unknown().optional(),
  authMethods: z.array(z.unknown()).catch([]),
});
const authMethod = z.object({ id: z.string(), name: z.string().catch("") });
const sessionMade = z.object({ sessionId: z.string().min(1) });

/**
 * One session with an agent that speaks the Agent Client Protocol over its standard streams. The agent runs inside the
 * sandbox and does everything there by itself: neither files nor terminals are offered to it, and whatever it asks
 * permission for is granted once, because the transaction is what asks the person.
 */
export class AcpSession implements AgentSession {
  readonly #connection: ClientConnection;
  readonly #request: SessionRequest;
  readonly #translator = new AcpTranslator();
  #session: string | undefined;
  #cancelling: NodeJS.Timeout | undefined;

  private constructor(request: SessionRequest) {
    this.#request = request;
    const stream = ndJsonStream(writableOf(request.stdin), readableOf(request.stdout), {
      maxMessageBytes: longest,
    });
    // Updates are taken out of the stream as they are: the SDK drops those that its version does not know.
    const rest = stream.readable.pipeThrough(
      new TransformStream<AnyMessage, AnyMessage>({
        transform: (said, controller) => {
          const message = withoutDeep(said) as AnyMessage;
          if (!this.#isUpdate(message)) controller.enqueue(message);
        },
      }),
    );
    this.#connection = client({ name: "holdfast" })
      .onRequest(methods.client.session.requestPermission, permissionAsked, ({ params }) =>
        this.#permit(params),
      )
      .onNotification("*", ({ method, params }) => {
        this.#tell([{ type: "other", event: method, data: params }]);
      })
      .connect({ readable: rest, writable: stream.writable });
  }

  #isUpdate(message: AnyMessage): boolean {
    if (!("method" in message) || message.method !== methods.client.session.update) return false;
    const { update } = (message.params ?? {}) as { readonly update?: unknown };
    this.#tell(this.#translator.translate(update));
    return true;
  }

  /** Shakes hands and makes a session at the workspace's path. Throws a Failure `acp-failed` that says what went wrong. */
  static async open(request: SessionRequest): Promise<AcpSession> {
    const session = new AcpSession(request);
    try {
      await session.#begin();
    } catch (error) {
      session.close();
      const said = describe(error);
      const fix = "check that the command speaks the Agent Client Protocol, and its own log";
      throw new Failure("failed", "acp-failed", `the agent's session did not begin: ${said}`, fix);
    }
    return session;
  }

  async prompt(text: string): Promise<string> {
    const sessionId = this.#session ?? "";
    try {
      const asked: PromptRequest = { sessionId, prompt: [{ type: "text", text }] };
      const { agent } = this.#connection;
      const answer: unknown = await agent.request(methods.agent.session.prompt, asked);
      // It did end, though it does not say why.
      return turnEnded.safeParse(answer).data?.stopReason ?? "unknown";
    } catch (error) {
      const said = describe(error);
      throw new Failure("failed", "prompt-failed", `the agent ended its turn in error: ${said}`);
    } finally {
      clearTimeout(this.#cancelling);
      this.#tell(this.#translator.endTurn());
    }
  }

  async cancel(): Promise<void> {
    const sessionId = this.#session;
    if (sessionId === undefined) return;
    this.#translator.cancelling();
    clearTimeout(this.#cancelling);
    this.#cancelling = this.#waitFor(methods.agent.session.cancel);
    await this.#connection.agent.notify(methods.agent.session.cancel, { sessionId });
  }

  close(): void {
    clearTimeout(this.#cancelling);
    this.#connection.close();
  }

  /** Says once that nothing was heard of what was asked, unless the timer is cleared before. */
  #waitFor(asked: string): NodeJS.Timeout {
    return setTimeout(() => this.#request.onUnanswered(asked, patienceMs / 1000), patienceMs);
  }

  async #ask(method: string, params: object): Promise<unknown> {
    const waiting = this.#waitFor(method);
    try {
      return await this.#connection.agent.request<unknown, object>(method, params);
    } finally {
      clearTimeout(waiting);
    }
  }

  async #begin(): Promise<void> {
    const answer = await this.#ask(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: "holdfast", title: "Holdfast", version: this.#request.version },
    });
    const met = greeting.safeParse(answer).data;
    if (met === undefined) throw new Error("its answer to initialize is no object");
    checkVersion(met.protocolVersion);
    this.#tell([{ type: "session", data: { agentInfo: met.agentInfo ?? null } }]);
    this.#session = await this.#newSession(met.authMethods);
  }

  async #newSession(authMethods: readonly unknown[]): Promise<string> {
    const { cwd, mcpServers } = this.#request;
    const wanted: NewSessionRequest = { cwd, mcpServers: acpMcp(mcpServers) };
    try {
      return sessionIn(await this.#ask(methods.agent.session.new, wanted));
    } catch (error) {
      if (!(error instanceof RequestError) || error.code !== authRequired) throw error;
      const offered = authMethods.flatMap((one) => authMethod.safeParse(one).data ?? []);
      const known = offered.find(({ id, name }) => keyMethod.test(`${id} ${name}`));
      if (known === undefined) throw error;
      await this.#ask(methods.agent.authenticate, { methodId: known.id });
      return sessionIn(await this.#ask(methods.agent.session.new, wanted));
    }
  }

  /** Once rather than always: what an agent remembers it writes into the project. After a cancel nothing more is granted. */
  #permit(asked: z.output<typeof permissionAsked>): RequestPermissionResponse {
    const offered = asked.options.flatMap((one) => permissionOption.safeParse(one).data ?? []);
    const option = this.#translator.isCancelled
      ? undefined
      : (offered.find(({ kind }) => kind === "allow_once") ??
        offered.find(({ kind }) => kind.startsWith("allow")));
    const told = this.#translator.permission(asked.toolCall, option !== undefined);
    this.#tell(told);
    const answer = option === undefined ? "cancelled" : option.kind;
    const { toolCallId } = (asked.toolCall ?? {}) as { readonly toolCallId?: unknown };
    const call = typeof toolCallId === "string" ? { call: toolCallId } : { asked };
    this.#tell([{ type: "other", event: "permission", data: { ...call, answer } }]);
    if (option === undefined) return { outcome: { outcome: "cancelled" } };
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  }

  #tell(events: readonly AgentEvent[]): void {
    for (const event of events) this.#request.onEvent(event);
  }
}

/** The sandbox's streams are Node's own: only their types say less. */
function writableOf(stream: unknown): WritableStream<Uint8Array> {
  if (!(stream instanceof Writable)) throw new TypeError("not a stream of Node's");
  return Writable.toWeb(stream) as WritableStream<Uint8Array>;
}

function readableOf(stream: unknown): ReadableStream<Uint8Array> {
  if (!(stream instanceof Readable)) throw new TypeError("not a stream of Node's");
  return Readable.toWeb(stream) as ReadableStream<Uint8Array>;
}

/** What is no version at all counts as one that is not spoken here. */
function checkVersion(spoken: unknown): void {
  if (spoken === PROTOCOL_VERSION) return;
  const said =
    spoken === undefined
      ? "its answer to initialize has no protocolVersion"
      : `it speaks version ${JSON.stringify(spoken).slice(0, 100)} of the protocol`;
  throw new Error(`${said}, Holdfast speaks version ${PROTOCOL_VERSION}`);
}

function sessionIn(answer: unknown): string {
  const made = sessionMade.safeParse(answer).data;
  if (made === undefined) throw new Error("its answer to session/new names no session");
  return made.sessionId;
}

/** One line that cannot steer the terminal which shows it: the agent chose the words. */
function describe(error: unknown): string {
  const data = error instanceof RequestError ? error.data : undefined;
  const more = data === undefined ? "" : ` ${JSON.stringify(data).slice(0, 500)}`;
  return visibleLine(`${messageOf(error)}${more}`);
}
