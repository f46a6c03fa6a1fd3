import net from "node:net";
import { LineSplitter } from "../../src/base/jsonl.ts";
import type { WindowAnswer, WindowCall, WindowCalls } from "../support/windowProtocol.ts";

/** The window that this extension host belongs to, as a person sees and uses it. */
export interface HostWindow {
  call<Call extends WindowCall>(
    call: Call,
    params: WindowCalls[Call]["params"],
  ): Promise<WindowCalls[Call]["result"]>;
  close(): void;
}

/** Connects to the window; a suite opens it in `before` and closes it in `after`. */
export async function openHostWindow(): Promise<HostWindow> {
  const address = process.env["HOLDFAST_WINDOW_SOCK"];
  if (address === undefined) throw new Error("this editor has no window that tests can drive");
  const socket = net.connect(address);
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  const waiting = new Map<number, (answer: WindowAnswer) => void>();
  const lines = new LineSplitter();
  socket.setEncoding("utf8");
  socket.on("data", (text: string) => {
    for (const line of lines.push(text)) {
      const answer = JSON.parse(line) as WindowAnswer;
      waiting.get(answer.id)?.(answer);
      waiting.delete(answer.id);
    }
  });
  let last = 0;
  return {
    call: (call, params) =>
      new Promise((resolve, reject) => {
        const id = ++last;
        waiting.set(id, ({ result, error }) => {
          if (error === undefined) resolve(result);
          else reject(new Error(`${call}: ${error}`));
        });
        socket.write(`${JSON.stringify({ id, call, params })}\n`);
      }),
    close: () => socket.end(),
  };
}
