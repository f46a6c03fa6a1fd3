import { spawn, type ChildProcess } from "node:child_process";
import { connect, createServer as createNet } from "node:net";
import { listen } from "./brokerWorld.ts";
import { nativePath } from "./sandboxFixture.ts";

/** The native bridge in front of a door, as the sandbox has it. */
export async function nativeBridge(
  doorSocket: string,
): Promise<{ port: number; proxy: string; child: ChildProcess }> {
  const probe = createNet();
  const port = await listen(probe);
  await new Promise((resolve) => probe.close(resolve));
  const child = spawn(nativePath, ["bridge", String(port), doorSocket], { stdio: "inherit" });
  for (;;) {
    const up = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true)).once("error", () =>
        resolve(false),
      );
      socket.once("connect", () => socket.destroy());
    });
    if (up) return { port, proxy: `http://127.0.0.1:${String(port)}`, child };
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
