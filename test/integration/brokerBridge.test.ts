import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { nativeBridge } from "../support/nativeBridge.ts";

/** As in native/src/bridge.c. */
const most = 2048;

describe("broker: bounds of the native bridge", function () {
  this.timeout(60_000);
  let directory: string;
  let door: Server;
  const behind = new Set<Socket>();
  let bridge: Awaited<ReturnType<typeof nativeBridge>>;
  /** What the door does with a connection. */
  let take: (socket: Socket) => void = (socket) => void socket.resume();

  before(async () => {
    directory = mkdtempSync(path.join(tmpdir(), "holdfast-bridge-"));
    door = createServer({ allowHalfOpen: true }, (socket) => {
      behind.add(socket);
      socket.on("error", () => undefined).once("close", () => behind.delete(socket));
      socket.once("end", () => socket.end());
      take(socket);
    });
    const socket = path.join(directory, "door.sock");
    await new Promise<void>((resolve) => door.listen(socket, 511, resolve));
    bridge = await nativeBridge(socket);
  });
  after(() => {
    bridge.child.kill();
    for (const socket of behind) socket.destroy();
    door.close();
    rmSync(directory, { recursive: true });
  });

  function open(): Socket {
    return connect(bridge.port, "127.0.0.1").on("error", () => undefined);
  }
  const kilobytes = (): number =>
    Number(
      /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${bridge.child.pid ?? 0}/status`, "utf8"))?.[1],
    );
  /** Waits for something that nobody tells. */
  async function until(holds: () => boolean): Promise<void> {
    while (!holds()) await wait(5);
  }

  it("takes from a client no more than the door takes, and loses nothing of it", async () => {
    await until(() => behind.size === 0);
    const before = kilobytes();
    let socket: Socket | undefined;
    take = (one) => (socket = one);
    const bytes = 64 * 1024 * 1024;
    const client = open();
    client.end(Buffer.alloc(bytes, "x"));
    let sent = -1;
    while (sent < client.bytesWritten - client.writableLength) {
      sent = client.bytesWritten - client.writableLength;
      await wait(300);
    }
    assert.ok(client.writableLength > 0, "all of it went into the bridge");
    assert.ok(kilobytes() - before < 1024, `${kilobytes() - before} KiB more`);
    let received = 0;
    socket?.on("data", (chunk: Buffer) => (received += chunk.length));
    client.resume();
    await once(client, "close");
    assert.equal(received, bytes);
  });

  it("takes as many connections as the door, closes the next at once, and takes new ones when some have gone", async () => {
    await until(() => behind.size === 0);
    take = (socket) => void socket.resume();
    const clients: Socket[] = [];
    for (let count = 0; count < most; count += 64) {
      clients.push(...Array.from({ length: 64 }, open));
      await until(() => behind.size === count + 64);
    }
    const beyond = open();
    beyond.resume();
    await once(beyond, "close");
    assert.equal(behind.size, most);
    for (const client of clients.splice(0, 2)) client.destroy();
    await until(() => behind.size <= most - 2);
    take = (socket) => void socket.end("again");
    let said = "";
    const again = open();
    again.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await once(again, "end");
    assert.equal(said, "again");
    for (const client of [...clients, again]) client.destroy();
    await until(() => behind.size === 0);
  });
});
