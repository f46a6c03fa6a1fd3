import { connect, createServer, type Socket } from "node:net";
import { once } from "node:events";

export interface LoopbackBridge {
  readonly port: number;
  close(): Promise<void>;
}

/** Leads a port of 127.0.0.1 to a unix socket, each way until its end of stream: what `holdfast-native bridge` does in a
 * network namespace. */
export async function loopbackBridge(socketPath: string): Promise<LoopbackBridge> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ path: socketPath, allowHalfOpen: true });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.on("error", () => other.destroy());
      one.once("close", () => {
        open.delete(one);
        if (one.errored !== null) other.destroy();
      });
      one.pipe(other);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
