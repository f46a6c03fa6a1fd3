/**
 * The program that runs inside the check's sandbox: `node checkWorker.cjs WORKSPACE BASE BUNDLED MODE` (warm or
 * cold). Built as one file without
 * a compiler in it. See workerProtocol.ts.
 */
import { createInterface } from "node:readline";
import { messageOf } from "../../base/errors.ts";
import { Session } from "./typescript/session.ts";
import type { WorkerAnswer, WorkerRequest } from "./workerProtocol.ts";

/** Ends the process with this code when only a new process can answer. */
const replacedExitCode = 75;

function answer(session: Session, request: WorkerRequest): WorkerAnswer | "replaced" {
  try {
    return session.check(request);
  } catch (error) {
    const failure = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
    const nothing = { projects: [], native: [], globalInputs: "", broken: [], notes: [] };
    return { id: request.id, ...nothing, failure };
  }
}

function main(): void {
  const [workspace, base, bundled, mode] = process.argv.slice(2);
  if (workspace === undefined || base === undefined || bundled === undefined) {
    process.stderr.write("usage: checkWorker WORKSPACE BASE BUNDLED MODE\n");
    process.exitCode = 2;
    return;
  }
  const session = new Session({ workspace, base, bundled, keep: mode !== "cold" });
  createInterface({ input: process.stdin }).on("line", (line) => {
    const result = answer(session, JSON.parse(line) as WorkerRequest);
    if (result === "replaced") process.exit(replacedExitCode);
    process.stdout.write(`${JSON.stringify(result)}\n`);
  });
}

main();
