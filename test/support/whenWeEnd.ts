import { spawn } from "node:child_process";

/**
 * Runs a shell script once this process is over, killed or not; `$1` is the argument. The shell waits at a pipe that only
 * we hold, in a session of its own, so that a signal for our group does not end it too.
 */
export function whenWeEnd(script: string, argument: string): void {
  const waits = ["-c", `cat; { ${script}; } 2>/dev/null`, "sh", argument];
  const child = spawn("sh", waits, { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  child.stdin.on("error", () => undefined); // it was ended by hand
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
}
