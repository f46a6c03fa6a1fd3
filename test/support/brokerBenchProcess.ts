import { fork, type ChildProcess } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { bundleProgram } from "../../.config/build.mjs";
import type { Ready, WorkerInput } from "./brokerBenchInput.ts";
import { root } from "./repository.ts";

let program: Promise<string> | undefined;

/** The worker, bundled as the product is: what runs is what users have, not what a loader makes of the source. */
async function workerProgram(): Promise<string> {
  program ??= (async () => {
    const file = path.join(root, ".cache/brokerBenchWorker.cjs");
    const entry = "test/support/brokerBenchWorker.ts";
    const { outputFiles } = await bundleProgram({ entry, out: "brokerBenchWorker.cjs" });
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, outputFiles[0]?.text ?? "");
    return file;
  })();
  return await program;
}

/** Starts a worker and waits until it listens. */
export async function startWorker(
  input: WorkerInput,
): Promise<{ ready: Ready; child: ChildProcess; memory: () => Promise<number> }> {
  const native = path.join(root, "native/build/holdfast-native");
  const child = fork(await workerProgram(), [JSON.stringify({ native, ...input })], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    execArgv: [],
  });
  const next = async (): Promise<unknown> =>
    await new Promise((resolve, reject) => {
      child.once("message", resolve);
      child.once("exit", () => reject(new Error(`the worker ${input.role} ended`)));
    });
  const ready = (await next()) as Ready;
  return {
    ready,
    child,
    async memory() {
      child.send("memory");
      return (await next()) as number;
    },
  };
}
