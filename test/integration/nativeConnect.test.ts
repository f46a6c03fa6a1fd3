import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import path from "node:path";
import { nativeBuild } from "../support/nativeBuild.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";
import { until } from "../support/waiting.ts";

function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim());
}

/** `S` sleeps, `T` is stopped. */
function stateOf(pid: number): string | undefined {
  return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1];
}

describe("a program that stands for a server outside", () => {
  const folder = temporaryFolders();
  const ends: (() => void)[] = [];
  afterEach(() => ends.splice(0).forEach((end) => end()));

  /** `connect` to a server that echoes and ends when its client's input has ended. */
  async function start(): Promise<{
    readonly child: ReturnType<typeof spawn>;
    readonly said: () => string;
  }> {
    const place = path.join(folder(), "server.sock");
    const server = createServer({ allowHalfOpen: true }, (socket: Socket) => socket.pipe(socket));
    server.listen(place);
    await once(server, "listening");
    const child = spawn(nativeBuild("plain"), ["connect", place, "name"]);
    ends.push(
      () => void server.close(),
      () => void child.kill("SIGKILL"),
    );
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
    await until("the greeting", () => said === "name\n");
    return { child, said: () => said };
  }

  it("ends when its input does, with the last words of the other side", async () => {
    const { child, said } = await start();
    child.stdin?.end("last words\n");
    const [code] = (await once(child, "exit")) as [number];
    assert.equal(code, 0);
    assert.equal(said(), "name\nlast words\n");
  });

  it("goes on after it was stopped for a moment, as everything is for a savepoint", async () => {
    const { child, said } = await start();
    const pid = child.pid ?? 0;
    const both = [childOf(pid), pid];
    for (const signal of ["SIGSTOP", "SIGCONT"] as const) {
      for (const one of both) process.kill(one, signal);
      const wanted = signal === "SIGSTOP" ? "T" : "S";
      await until(signal, () => both.every((one) => stateOf(one) === wanted));
    }
    child.stdin?.write("more\n");
    await until("the answer", () => said() === "name\nmore\n");
    assert.equal(child.exitCode, null);
  });

  it("ends when an agent ends its child first, as OpenCode does, and leaves its input open", async () => {
    const { child } = await start();
    const pid = child.pid ?? 0;
    process.kill(childOf(pid), "SIGTERM");
    const [code] = (await once(child, "exit")) as [number];
    assert.equal(code, 0);
  });
});
