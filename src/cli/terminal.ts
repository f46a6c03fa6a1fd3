import { openSocket } from "../supervisor/client.ts";
import { encodeFrame, encodeSize, FrameReader } from "../supervisor/terminalFrames.ts";

/** Ctrl-\ */
const detachKey = 0x1c;

export interface TerminalOptions {
  /** Shows nothing: the output goes to the log only. */
  readonly silent: boolean;
  /** Ctrl-C where there is no terminal to pass it through. */
  readonly onInterrupt: () => void;
}

/** How a terminal's connection with the agent ended: `lost` when another terminal took over, or the supervisor is gone. */
export type TerminalEnd = "ended" | "detached" | "lost";

/**
 * Connects this process's standard streams with the agent's, until the agent's output ends or the person detaches with
 * Ctrl-\. Raw bytes pass through unchanged.
 */
export async function runTerminal(root: string, options: TerminalOptions): Promise<TerminalEnd> {
  const socket = await openSocket(root, "terminal.sock");
  const { stdin, stdout, stderr } = process;
  const raw = !options.silent && stdin.isTTY && stdout.isTTY;
  let how: TerminalEnd = "lost";
  const onInput = (bytes: Buffer): void => {
    if (raw && bytes.includes(detachKey)) {
      how = "detached";
      socket.end();
    } else if (!socket.write(encodeFrame("stdin", bytes))) {
      stdin.pause();
      socket.once("drain", () => stdin.resume());
    }
  };
  const onEnd = (): void => void socket.write(encodeFrame("stdinEnd", Buffer.alloc(0)));
  const onResize = (): void =>
    void socket.write(encodeFrame("resize", encodeSize(stdout.columns, stdout.rows)));
  const onInterrupt = (): void => options.onInterrupt();
  if (raw) {
    stdin.setRawMode(true);
    stdout.on("resize", onResize);
    onResize();
  }
  process.on("SIGINT", onInterrupt);
  process.on("SIGTERM", onInterrupt);
  if (options.silent) onEnd();
  else stdin.on("data", onInput).on("end", onEnd).resume();
  const reader = new FrameReader();
  try {
    await new Promise<void>((resolve, reject) => {
      socket.on("data", (bytes: Buffer) => {
        for (const frame of reader.push(bytes)) {
          if (frame.type === "end") {
            how = "ended";
            resolve();
          } else if (options.silent) continue;
          else if (frame.type === "stdout") writeSlowly(stdout, frame.bytes, socket);
          else if (frame.type === "stderr") writeSlowly(stderr, frame.bytes, socket);
        }
      });
      socket.once("error", reject);
      socket.once("close", () => resolve());
    });
  } finally {
    if (raw) {
      stdin.setRawMode(false);
      stdout.removeListener("resize", onResize);
    }
    process.removeListener("SIGINT", onInterrupt);
    process.removeListener("SIGTERM", onInterrupt);
    stdin.removeListener("data", onInput).removeListener("end", onEnd).pause();
    // A pipe that stays open must not keep this process alive.
    if ("unref" in stdin) stdin.unref();
    socket.destroy();
  }
  return how;
}

function writeSlowly(
  stream: NodeJS.WriteStream,
  bytes: Buffer,
  socket: { pause(): unknown; resume(): unknown },
): void {
  if (stream.write(bytes)) return;
  socket.pause();
  stream.once("drain", () => socket.resume());
}
