import type { Socket } from "node:net";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  ErrorCode,
  JSONRPCMessageSchema,
  type JSONRPCMessage,
} from "@modelcontextprotocol/sdk/types.js";
import { LineSplitter, parseJson } from "../../base/jsonl.ts";
import { deepestNesting, isNestedDeeper } from "../../base/nesting.ts";
import { errorAnswer, isRequest, longestMessage } from "./messages.ts";

/** Milliseconds for the first line, which names the server. */
const greetingMs = 10_000;

/**
 * The agent's side of one connection: messages as JSON Lines over the gateway's socket, after one line that names the
 * server. Whoever connects is inside the sandbox: a line that is no message, or is too long, ends the connection.
 */
export class SocketTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #socket: Socket;
  readonly #splitter = new LineSplitter(longestMessage);
  #waiting: string[] = [];
  #started = false;
  #greet: ((server: string) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => this.#data(text));
    socket.on("error", () => socket.destroy());
  }

  /** Waits for the name of the server; undefined when none comes. */
  static async open(
    socket: Socket,
  ): Promise<{ readonly transport: SocketTransport; readonly server: string } | undefined> {
    const transport = new SocketTransport(socket);
    const server = await new Promise<string | undefined>((resolve) => {
      const timer = setTimeout(() => resolve(undefined), greetingMs);
      const end = (name?: string): void => {
        clearTimeout(timer);
        resolve(name);
      };
      transport.#greet = end;
      socket.once("close", () => end());
      if (socket.destroyed) end();
    });
    transport.#greet = undefined;
    if (server === undefined) {
      socket.destroy();
      return undefined;
    }
    return { transport, server };
  }

  start(): Promise<void> {
    this.#started = true;
    // The agent's end of its input is the end of the session: a server of its own would end then too.
    this.#socket.once("end", () => this.#socket.end());
    this.#socket.once("close", () => this.onclose?.());
    for (const line of this.#waiting.splice(0)) this.#take(line);
    if (this.#socket.destroyed) this.onclose?.();
    return Promise.resolve();
  }

  send(message: JSONRPCMessage): Promise<void> {
    if (this.#socket.destroyed) return Promise.resolve();
    return new Promise((resolve) => {
      if (this.#socket.write(`${JSON.stringify(message)}\n`)) resolve();
      else {
        const go = (): void => {
          this.#socket.removeListener("drain", go);
          this.#socket.removeListener("close", go);
          resolve();
        };
        this.#socket.once("drain", go);
        this.#socket.once("close", go);
      }
    });
  }

  close(): Promise<void> {
    this.#socket.end();
    this.#socket.destroySoon();
    return Promise.resolve();
  }

  #data(text: string): void {
    let lines: string[];
    try {
      lines = this.#splitter.push(text);
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    for (const line of lines) {
      if (this.#greet !== undefined) {
        const greet = this.#greet;
        this.#greet = undefined;
        greet(line.trim());
      } else if (this.#started) this.#take(line);
      else this.#waiting.push(line);
    }
  }

  #take(line: string): void {
    if (line.trim() === "") return;
    const parsed = JSONRPCMessageSchema.safeParse(parseJson(line));
    if (!parsed.success) this.#fail(new Error("a line that is not a message of the protocol"));
    else if (!isNestedDeeper(parsed.data)) this.onmessage?.(parsed.data);
    else this.#refuseDeep(parsed.data);
  }

  /** It could not be looked into, nor sent on. */
  #refuseDeep(message: JSONRPCMessage): void {
    const why = `a message may be nested at most ${deepestNesting} levels deep`;
    if (!isRequest(message)) this.#fail(new Error(why));
    else void this.send(errorAnswer(message.id, ErrorCode.InvalidRequest, why));
  }

  #fail(error: Error): void {
    this.onerror?.(error);
    this.#socket.destroy();
  }
}
