import type { Socket } from "node:net";
import { appendFileSync } from "node:fs";
import type { Sandbox } from "../runtime/ports.ts";
import { encodeFrame, FrameReader, type FrameType } from "./terminalFrames.ts";

/** Output kept for a client that attaches later, bytes. */
const replayBytes = 256 * 1024;
/** A client this far behind (bytes) makes the agent wait. */
const highWater = 1024 * 1024;
/** The output log stops growing here, bytes. */
const logLimit = 64 * 1024 * 1024;

/** Output goes out in frames of this size at most, bytes: what a session says can be a whole file. */
const frameBytes = 256 * 1024;

interface Chunk {
  readonly type: FrameType;
  readonly bytes: Buffer;
}

/** What is shown and typed: the agent's own streams, or those of a session with it. */
type TerminalStreams = Pick<Sandbox, "stdin" | "stdout" | "stderr" | "resize" | "signal">;

/**
 * Carries bytes between the agent's terminal (or pipes) and the client that is attached, if any. Detaching loses nothing
 * of the agent's work: output goes on into a replay buffer and a log. One client is attached at a time; a second one
 * takes over. With `waitForClient` the agent's output is not read before the first client is there. A terminal's input has
 * no end (`endless`): the next client types on when one that was given its input by a pipe is done.
 */
export class TerminalRelay {
  readonly #sandbox: TerminalStreams;
  readonly #endless: boolean;
  readonly #log: string;
  #client: Socket | undefined;
  #replay: Chunk[] = [];
  #replaySize = 0;
  #logged = 0;
  #open = 0;
  #ended: { readonly exitCode: number | null } | undefined;
  readonly #streams: NodeJS.ReadableStream[] = [];
  /** Resolves when the agent's output streams have ended. */
  readonly drained: Promise<void>;
  #resolveDrained: () => void = () => undefined;

  constructor(sandbox: TerminalStreams, log: string, waitForClient: boolean, endless = false) {
    this.#sandbox = sandbox;
    this.#endless = endless;
    this.#log = log;
    this.drained = new Promise((resolve) => {
      this.#resolveDrained = resolve;
    });
    this.#listen("stdout", sandbox.stdout);
    if (sandbox.stderr !== undefined) this.#listen("stderr", sandbox.stderr);
    sandbox.stdin.on("error", () => this.#send("stdinClosed", Buffer.alloc(0)));
    if (waitForClient) for (const stream of this.#streams) stream.pause();
  }

  attach(client: Socket): void {
    this.#client?.end();
    this.#client = client;
    const reader = new FrameReader();
    client.on("data", (bytes: Buffer) => {
      for (const frame of reader.push(bytes)) this.#take(client, frame.type, frame.bytes);
    });
    client.on("drain", () => this.#flow(true));
    client.on("error", () => client.destroy());
    client.on("close", () => this.#detached(client));
    for (const chunk of this.#replay) client.write(encodeFrame(chunk.type, chunk.bytes));
    if (this.#ended !== undefined) this.#sendEnd();
    this.#flow(true);
  }

  /** Lets the output flow although nobody is attached. */
  release(): void {
    if (this.#client === undefined) this.#flow(true);
  }

  /** Tells the client that nothing more comes, and with what exit code the agent ended. */
  end(exitCode: number | null): void {
    this.#ended = { exitCode };
    this.#sendEnd();
  }

  #sendEnd(): void {
    const client = this.#client;
    this.#send("end", Buffer.from(JSON.stringify(this.#ended)));
    client?.end();
  }

  #listen(type: "stdout" | "stderr", stream: NodeJS.ReadableStream): void {
    this.#streams.push(stream);
    this.#open++;
    stream.on("data", (bytes: Buffer) => {
      for (let at = 0; at < bytes.length; at += frameBytes)
        this.#output(type, bytes.subarray(at, at + frameBytes));
    });
    stream.on("error", () => undefined); // its `close` follows
    stream.once("close", () => {
      this.#open--;
      if (this.#open === 0) this.#resolveDrained();
    });
  }

  #output(type: "stdout" | "stderr", bytes: Buffer): void {
    this.#replay.push({ type, bytes });
    this.#replaySize += bytes.length;
    while (this.#replaySize > replayBytes && this.#replay.length > 1) {
      this.#replaySize -= this.#replay.shift()?.bytes.length ?? 0;
    }
    if (this.#logged < logLimit) this.#keep(bytes);
    this.#send(type, bytes);
  }

  #keep(bytes: Buffer): void {
    try {
      appendFileSync(this.#log, bytes, { mode: 0o600 });
      this.#logged += bytes.length;
    } catch {
      // A full disk, or the transaction was discarded: the log ends here, the agent goes on.
      this.#logged = logLimit;
    }
  }

  #send(type: FrameType, bytes: Buffer): void {
    const client = this.#client;
    if (client === undefined || client.destroyed) return;
    client.write(encodeFrame(type, bytes));
    if (client.writableLength > highWater) this.#flow(false);
  }

  #flow(on: boolean): void {
    for (const stream of this.#streams) {
      if (on) stream.resume();
      else stream.pause();
    }
  }

  #detached(client: Socket): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#flow(true);
  }

  #take(client: Socket, type: FrameType, bytes: Buffer): void {
    switch (type) {
      case "stdin": {
        if (this.#sandbox.stdin.write(bytes)) return;
        client.pause();
        this.#sandbox.stdin.once("drain", () => client.resume());
        return;
      }
      case "stdinEnd":
        if (!this.#endless) this.#sandbox.stdin.end();
        return;
      case "resize": {
        const columns = bytes.readUInt16BE(0);
        const rows = bytes.readUInt16BE(2);
        this.#sandbox.resize(columns, rows);
        return;
      }
      case "interrupt":
        this.#sandbox.signal("SIGINT");
        return;
      case "terminate":
        this.#sandbox.signal("SIGTERM");
        return;
      default:
        client.destroy();
    }
  }
}
