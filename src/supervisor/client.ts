import { existsSync } from "node:fs";
import { connect, type Socket } from "node:net";
import path from "node:path";
import { Failure, messageOf } from "../base/errors.ts";
import { LineSplitter, parseJson } from "../base/jsonl.ts";
import { checkSocketOwner, socketPath } from "../node/state/socketPath.ts";
import { liveSupervisor } from "../node/state/supervisorLock.ts";
import {
  controlMethods,
  controlNotifications,
  controlVersion,
  type ControlMethods,
  type ControlNotifications,
} from "../protocol/control.ts";
import { Caller } from "../protocol/endpoint.ts";
import { lineTransport, listenLines } from "./lineTransport.ts";
import { startReport, type StartReport, type StartSpec } from "./startSpec.ts";
import {
  startProcess,
  supervisorProgram,
  takeEarly,
  type Installation,
} from "./supervisorProcess.ts";

/** A connection to a transaction's supervisor. */
export interface Connection {
  readonly caller: Caller<ControlMethods, ControlNotifications>;
  /** Resolves when the connection has ended, whoever ended it. */
  readonly closed: Promise<void>;
  close(): void;
}

/** Opens a socket in a transaction's directory after checking that it is ours alone. */
export async function openSocket(root: string, name: string): Promise<Socket> {
  checkSocketOwner(root, name);
  const where = socketPath(root, name);
  const socket = connect(where.path);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
  } catch (error) {
    throw new Failure("failed", "no-supervisor", `${path.join(root, name)}: ${messageOf(error)}`);
  } finally {
    where.close();
  }
  return socket;
}

/** Connects to a supervisor that lives. Throws a Failure when none answers. */
export async function connectSupervisor(root: string, client: string): Promise<Connection> {
  const socket = await openSocket(root, "control.sock");
  const caller = new Caller(controlMethods, controlNotifications, lineTransport(socket));
  listenLines(socket, (message) => caller.receive(message));
  socket.on("error", () => socket.destroy());
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => {
      const fix = "`holdfast status` tells the state; `holdfast resume` reopens it";
      caller.end(
        new Failure("failed", "supervisor-gone", "the transaction's supervisor is gone", fix),
      );
      resolve();
    });
  });
  try {
    await caller.call("hello", { version: controlVersion, client });
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return { caller, closed, close: () => socket.end() };
}

/** Connects to a transaction's supervisor and starts one for review when none lives. */
export async function openTransactionControl(
  root: string,
  installation: Installation,
  client: string,
): Promise<Connection> {
  if (liveSupervisor(root) === undefined) {
    await spawnSupervisor(root, installation, undefined, () => undefined);
  }
  return connectSupervisor(root, client);
}

/**
 * Starts a supervisor, detached, and waits until it serves. With a spec it begins the transaction (fork, sandbox, agent);
 * without one it reopens an existing transaction. Throws the Failure that stopped it.
 */
export async function spawnSupervisor(
  root: string,
  installation: Installation,
  spec: StartSpec | undefined,
  onProgress: (text: string) => void,
  signal?: AbortSignal,
): Promise<void> {
  const program = supervisorProgram(installation);
  if (!existsSync(program)) {
    throw new Failure("failed", "not-built", `${program} is missing`, "npm run build");
  }
  const child =
    spec === undefined
      ? startProcess(installation, ["reopen", root])
      : (takeEarly() ?? startProcess(installation, ["begin"]));
  const abort = (): void => void child.kill("SIGTERM");
  signal?.addEventListener("abort", abort, { once: true });
  child.stdin.on("error", () => undefined); // it failed before reading: its report says why
  child.stdin.end(spec === undefined ? "" : JSON.stringify({ root, spec }));
  let errors = "";
  child.stderr
    .setEncoding("utf8")
    .on("data", (text: string) => (errors = (errors + text).slice(-4000)));
  try {
    await readReports(child.stdout, onProgress, () => errors);
  } finally {
    signal?.removeEventListener("abort", abort);
    child.stdout.destroy();
    child.stderr.destroy();
    child.unref();
  }
}

function readReports(
  stream: NodeJS.ReadableStream,
  onProgress: (text: string) => void,
  errors: () => string,
): Promise<void> {
  const splitter = new LineSplitter();
  stream.setEncoding("utf8");
  return new Promise((resolve, reject) => {
    const take = (report: StartReport): void => {
      if (report.type === "progress") onProgress(report.text);
      else if (report.type === "started") resolve();
      else reject(new Failure(report.kind, report.code, report.message, report.fix));
    };
    stream.on("data", (text: string) => {
      for (const line of splitter.push(text)) {
        const report = startReport.safeParse(parseJson(line));
        if (report.success) take(report.data);
      }
    });
    stream.on("error", reject);
    stream.on("end", () => {
      const detail = errors().trim().split("\n").at(-1) ?? "";
      reject(
        new Failure("failed", "supervisor-died", `the supervisor ended while starting: ${detail}`),
      );
    });
  });
}
