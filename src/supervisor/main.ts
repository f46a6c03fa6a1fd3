import { appendFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { Failure, messageOf } from "../base/errors.ts";
import { parseJson } from "../base/jsonl.ts";
import { adapterOf } from "../node/agents/registry.ts";
import { hookProgram } from "../node/sandbox/insidePaths.ts";
import { ownServer } from "../node/mcp/mcpConfiguration.ts";
import type { Secret } from "../node/secrets/vault.ts";
import { outputLogOf } from "../node/state/outputLog.ts";
import type { TransactionPaths } from "../runtime/ports.ts";
import { OpenTransaction } from "../runtime/openTransaction.ts";
import { listenToAgent } from "./agentSocket.ts";
import { agentTools } from "./agentTools.ts";
import { readMcpSetup } from "./mcpSetup.ts";
import { listenPrivately } from "./controlServer.ts";
import { version } from "./installationPaths.ts";
import { SessionDesk } from "./sessionDesk.ts";
import { startOrder, type StartReport, type StartSpec } from "./startSpec.ts";
import { saveCheckSettings, saveFork } from "./stateFiles.ts";
import { TerminalRelay } from "./terminalRelay.ts";
import { TransactionSupervisor } from "./transactionSupervisor.ts";

function report(line: StartReport): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function reportFailure(error: unknown): void {
  const failure =
    error instanceof Failure
      ? error
      : new Failure(
          "failed",
          "internal",
          `internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
        );
  const { kind, code, message, fix } = failure;
  report({ type: "failed", kind, code, message, ...(fix === undefined ? {} : { fix }) });
}

function pathsOf(root: string): TransactionPaths {
  return {
    root,
    base: path.join(root, "base"),
    door: path.join(root, "door"),
    state: path.join(root, "state"),
  };
}

/** Begins a transaction: fork, door, sandbox, agent; its terminal is served until the agent's output ends. */
async function begin(
  supervisor: TransactionSupervisor,
  spec: StartSpec,
  signal: AbortSignal,
): Promise<void> {
  const { paths, journal, holds, adapters } = supervisor;
  const adapter = adapterOf(spec.agent, process.env, spec.workspace);
  const transaction = path.basename(paths.root);
  const mcp = await readMcpSetup(spec, paths);
  const doors = {
    spec,
    paths,
    mcp,
    tools: agentTools(supervisor, spec),
    onSecrets: (secrets: readonly Secret[]) => supervisor.traces.begin(spec.traceEndpoint, secrets),
  };
  const mcpServers = [ownServer, ...mcp.servers.map(({ name }) => name)];
  const open = await OpenTransaction.begin(
    {
      transaction,
      version,
      workspace: spec.workspace,
      paths,
      cwd: spec.cwd,
      command: spec.command,
      ...(spec.task === undefined ? {} : { task: spec.task }),
      ...(spec.prompt === undefined ? {} : { prompt: spec.prompt }),
      limits: spec.limits,
      backend: spec.backend,
      onExit: spec.onExit,
      ...(spec.terminal === undefined || adapter.speaks !== undefined
        ? {}
        : { terminal: spec.terminal }),
      unsafeNoSandbox: spec.unsafeNoSandbox,
      ...(spec.allow === undefined ? {} : { allow: spec.allow }),
      attended: spec.waitForClient,
      mcpServers,
      env: process.env,
      signal,
      onProgress: (line) => report({ type: "progress", text: line }),
    },
    {
      journal,
      holds,
      workspaces: adapters.workspaces,
      sandboxes: adapters.sandboxes,
      adapter,
      hook: hookProgram,
      prepareBroker: async (launch) => {
        // Loaded here, while the files are cloned: it takes longer to load than all that is needed before.
        const { prepareBroker } = await import("./beginBroker.ts");
        return prepareBroker(doors, launch);
      },
      listenToAgent: (onEvent) => listenToAgent(paths.door, onEvent),
      saveFork: (fork) => saveFork(paths, fork),
      onChanged: (changed) => supervisor.changed(changed),
    },
  );
  const session =
    adapter.speaks === undefined ? undefined : speakWith(supervisor, spec, open, mcpServers);
  const endless = session !== undefined || spec.terminal !== undefined;
  await serveTerminal(open, session?.streams ?? open.sandbox, paths, spec.waitForClient, endless);
  const comesUp = spec.prompt !== undefined && spec.terminal === undefined;
  const isAgent = adapter.coverage !== "effects-only" && adapter.takesCommand !== true;
  supervisor.run(open, session, comesUp && session === undefined && isAgent);
  if (isAgent) setImmediate(() => void prepareGateway());
}

/** Loads what the agent's first connection needs, while the agent comes up: it waits for the answer. */
async function prepareGateway(): Promise<void> {
  await import("../node/mcp/socketTransport.ts");
  await import("../node/mcp/ownServer.ts");
}

function speakWith(
  supervisor: TransactionSupervisor,
  spec: StartSpec,
  open: OpenTransaction,
  mcpServers: readonly string[],
): SessionDesk {
  const { journal, paths } = supervisor;
  return new SessionDesk({
    transaction: path.basename(paths.root),
    open,
    journal,
    speak: async (request) => {
      // The protocol's schemas take a while to load, and most agents do not speak it.
      const { AcpSession } = await import("../node/agents/acpSession.ts");
      return AcpSession.open(request);
    },
    cwd: spec.cwd,
    mcpServers,
    ...(spec.prompt === undefined ? {} : { prompt: spec.prompt }),
    once: spec.keepSession !== true,
    seal: () => supervisor.seal(),
  });
}

async function serveTerminal(
  open: OpenTransaction,
  streams: SessionDesk["streams"],
  paths: TransactionPaths,
  waitForClient: boolean,
  endless: boolean,
): Promise<void> {
  const relay = new TerminalRelay(streams, outputLogOf(paths.state), waitForClient, endless);
  const server = createServer((socket) => relay.attach(socket));
  // It stays open after the agent's end: who attaches late gets the last output and the end.
  await listenPrivately(server, paths.root, "terminal.sock");
  if (waitForClient) setTimeout(() => relay.release(), 10_000).unref();
  void open.exited.then(async ({ exitCode }) => {
    await relay.drained;
    relay.end(exitCode);
  });
}

/** `spec`: of the transaction to begin; without it one is reopened. */
async function main(root: string, spec: StartSpec | undefined): Promise<void> {
  const paths = pathsOf(root);
  const dist = path.dirname(process.argv[1] ?? "");
  const abort = new AbortController();
  let supervisor: TransactionSupervisor | undefined;
  let ending = false;
  const end = (reason: string): void => {
    if (ending) return;
    ending = true;
    abort.abort(new Failure("failed", "ended", reason));
    const closed = supervisor?.close(reason) ?? Promise.resolve();
    void closed.catch((error: unknown) => log(paths, error)).finally(() => process.exit(0));
  };
  try {
    if (spec !== undefined) saveCheckSettings(paths, spec.checks);
    supervisor = TransactionSupervisor.open(paths, dist, end);
    for (const name of ["SIGTERM", "SIGINT"] as const)
      process.on(name, () => end(`ended by ${name}`));
    process.on("SIGHUP", () => undefined);
    if (spec === undefined) {
      await supervisor.traces.reopen();
      await supervisor.resume();
    } else await begin(supervisor, spec, abort.signal);
    await supervisor.serve();
    report({ type: "started" });
  } catch (error) {
    reportFailure(error);
    // What never began leaves nothing behind.
    if (spec !== undefined) rmSync(root, { recursive: true, force: true });
    process.exit(1);
  }
}

function log(paths: TransactionPaths, error: unknown): void {
  const what = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
  appendFileSync(path.join(paths.root, "supervisor.log"), `${new Date().toISOString()} ${what}\n`, {
    mode: 0o600,
  });
}

/** Where this process logs what nobody catches; before it knows its transaction it has nothing to say. */
function superviseIn(root: string, spec: StartSpec | undefined): Promise<void> {
  const paths = pathsOf(root);
  process.on("unhandledRejection", (error) => log(paths, error));
  process.on("uncaughtException", (error) => {
    log(paths, error);
    // A supervisor in an unknown state must not go on: the sandbox dies with it, the journal is whole.
    process.exit(70);
  });
  return main(root, spec);
}

/** Begins what its standard input says; started early and then not needed, it has nothing to begin. */
async function beginAsTold(): Promise<void> {
  const told = await text(process.stdin);
  if (told === "") return;
  const order = startOrder.safeParse(parseJson(told));
  if (order.success) return superviseIn(order.data.root, order.data.spec);
  reportFailure(order.error);
  process.exit(1);
}

const [mode, root] = process.argv.slice(2);
process.stdout.on("error", () => undefined); // the starter is gone; the transaction goes on
process.stderr.on("error", () => undefined);
if (mode === "begin") void beginAsTold();
else if (mode === "reopen" && root !== undefined) void superviseIn(root, undefined);
else {
  process.stderr.write("usage: supervisor begin | reopen ROOT (started by holdfast)\n");
  process.exitCode = 2;
}
