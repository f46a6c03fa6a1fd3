import { messageOf } from "../base/errors.ts";
import { DisposableStore, toDisposable } from "../base/lifecycle.ts";
import type { BackendName } from "../core/journal/entry.ts";
import { limitWords, resourceLimits } from "../core/transaction/resourceLimits.ts";
import type { AgentAdapter, AgentEvent, AgentTranslator } from "./agent.ts";
import { AfterHearing, callToComeMs, indirectDelayMs } from "./afterHearing.ts";
import { FileEffects } from "./fileEffects.ts";
import type { HoldDesk } from "./holdDesk.ts";
import type { Journal } from "./journal.ts";
import { watchSilence } from "./silence.ts";
import type {
  AgentLaunch,
  Broker,
  BrokerHost,
  ChangedPath,
  Fork,
  Sandbox,
  SandboxEvent,
  Sandboxes,
  SandboxSpec,
  TransactionPaths,
  Workspaces,
} from "./ports.ts";
import { ProcessTree } from "./processTree.ts";
import { ToolCalls } from "./toolCalls.ts";

/** What a transaction is begun with. */
export interface BeginRequest {
  readonly transaction: string;
  readonly version: string;
  readonly workspace: string;
  readonly paths: TransactionPaths;
  readonly cwd: string;
  readonly command: readonly string[];
  readonly task?: string;
  readonly prompt?: string;
  readonly limits: Readonly<Record<string, string>>;
  readonly backend: "auto" | BackendName;
  readonly onExit: "review" | "commit" | "discard";
  readonly terminal?: { readonly columns: number; readonly rows: number };
  readonly unsafeNoSandbox: boolean;
  readonly allow?: NonNullable<SandboxSpec["allow"]>;
  /** Somebody may write to the agent's standard input. */
  readonly attended: boolean;
  /** Names of the MCP servers that the gateway offers. */
  readonly mcpServers?: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly onProgress: (text: string) => void;
}

/** Opens the door to the outside of a prepared broker. */
export type OpenDoor = (host: BrokerHost) => Promise<Broker>;

/** What an open transaction works with. */
export interface OpenPorts {
  readonly journal: Journal;
  readonly holds: HoldDesk;
  readonly workspaces: Workspaces;
  readonly sandboxes: Sandboxes;
  readonly adapter: AgentAdapter;
  /** The command line that the agent's hooks run. */
  readonly hook: string;
  /** Makes what the broker needs beside the fork, while the workspace is forked; what it gives opens the door. */
  readonly prepareBroker: (launch: AgentLaunch) => Promise<OpenDoor>;
  /** Starts to listen on the agent socket. */
  readonly listenToAgent: (onEvent: (raw: unknown) => void) => Promise<{ close(): Promise<void> }>;
  /** Keeps the fork's description where a later process finds it. */
  readonly saveFork: (fork: Fork) => void;
  /** The shadow differs from the scan before: what depends on its files can be worked out again. */
  readonly onChanged: (changed: readonly ChangedPath[]) => void;
}

/**
 * A transaction whose agent runs. Its only exit is {@link OpenTransaction.seal}: the process tree is ended, the last scan
 * is made, and what comes back can be reviewed but not run.
 */
export class OpenTransaction {
  readonly sandbox: Sandbox;
  readonly fork: Fork;
  readonly #request: BeginRequest;
  readonly #ports: OpenPorts;
  readonly #running: Running;
  #concluded: number | undefined;

  private constructor(request: BeginRequest, ports: OpenPorts, fork: Fork, running: Running) {
    this.#request = request;
    this.#ports = ports;
    this.fork = fork;
    this.#running = running;
    this.sandbox = running.sandbox;
  }

  /** Forks, opens the door, starts the agent. On failure everything that was made is taken down again, then it throws. */
  static async begin(request: BeginRequest, ports: OpenPorts): Promise<OpenTransaction> {
    const { journal, adapter, workspaces } = ports;
    await journal.append(beganEntry(request, adapter)).durable;
    const launch = await adapter.launch({
      workspace: request.workspace,
      command: request.command,
      ...(request.prompt === undefined ? {} : { prompt: request.prompt }),
      env: request.env,
      interactive: request.terminal !== undefined,
      ...(request.attended ? {} : { unattended: true as const }),
      ...(request.mcpServers === undefined ? {} : { mcpServers: request.mcpServers }),
    });
    const { backend, workspace, paths, signal, onProgress } = request;
    let preparing: Promise<OpenDoor> | undefined;
    const prepare = (): Promise<OpenDoor> => {
      preparing ??= ports.prepareBroker(launch);
      preparing.catch(() => undefined); // told once the fork is there, and with it taken down
      return preparing;
    };
    const onWaiting = (): void => void prepare();
    const forking = { workspace, paths, backend, onProgress, onWaiting, signal };
    const fork = await workspaces.fork(forking);
    try {
      ports.saveFork(fork);
      journal.append({
        kind: "transaction.forked",
        source: "holdfast",
        backend: fork.backend,
        forkMs: fork.forkMs,
        files: fork.files,
        bytes: fork.bytes,
        shadow: fork.shadow,
        ...(fork.spare === undefined ? {} : { spare: fork.spare }),
        ...(fork.refreshed === undefined ? {} : { refreshed: fork.refreshed }),
        notes: fork.notes,
      });
      const running = await Running.start(request, ports, fork, launch, await prepare());
      return new OpenTransaction(request, ports, fork, running);
    } catch (error) {
      await workspaces.remove(fork, paths);
      throw error;
    }
  }

  /** Resolves when the agent's own process has ended; processes that it left behind may still run. */
  get exited(): Sandbox["exited"] {
    return this.sandbox.exited;
  }

  /** Shuts the door, freezes the agent and ends it, at once: from then on nothing leaves and nothing runs. `seal` follows. */
  async halt(): Promise<void> {
    const shut = this.#running.shutDoor();
    const frozen = this.sandbox.freeze().catch(() => undefined); // what does not stop is ended all the same
    await Promise.all([shut, frozen]);
    await this.sandbox.kill();
  }

  /** What an agent says in a session, over its standard streams. */
  hear(event: AgentEvent, source: "acp"): void {
    this.#running.hear(event, source);
  }

  /** The agent's session is over with this outcome: how its process is ended then says nothing more. */
  concludes(exitCode: number): void {
    this.#concluded ??= exitCode;
  }

  /** Ends the whole tree and takes the exact last scan. Nothing of the agent runs afterwards. */
  async seal(): Promise<readonly ChangedPath[]> {
    const { journal, workspaces } = this.#ports;
    await this.#running.stop();
    const { exitCode, signal, limit = this.#running.limit } = await this.sandbox.exited;
    const concluded = this.#concluded;
    journal.append({
      kind: "transaction.exited",
      source: concluded === undefined ? "kernel" : "acp",
      exitCode: concluded ?? exitCode,
      ...(signal === undefined || concluded !== undefined ? {} : { signal }),
      ...(limit === undefined ? {} : { limit }),
    });
    const { workspace, paths } = this.#request;
    const changed = await workspaces.changes(this.fork, workspace, paths);
    this.#running.files.final(changed);
    return changed;
  }
}

function beganEntry(
  request: BeginRequest,
  { name: agent, coverage }: AgentAdapter,
): Parameters<Journal["append"]>[0] {
  return {
    kind: "transaction.begun",
    source: "person",
    transaction: request.transaction,
    version: request.version,
    workspace: request.workspace,
    agent,
    coverage,
    command: request.command,
    ...(request.task === undefined ? {} : { task: request.task }),
    ...(request.prompt === undefined ? {} : { prompt: request.prompt }),
    limits: request.limits,
    backendWanted: request.backend,
    onExit: request.onExit,
    ...(request.unsafeNoSandbox ? { unsafeNoSandbox: true as const } : {}),
    ...(request.allow === undefined || request.allow.length === 0 ? {} : { allow: request.allow }),
  };
}

/** Everything that lives while the agent runs, and its end in the right order. */
class Running {
  readonly sandbox: Sandbox;
  readonly files: FileEffects;
  readonly #calls: ToolCalls;
  readonly #observed: AfterHearing<SandboxEvent>;
  readonly #broker: Broker;
  readonly #agentSocket: { close(): Promise<void> };
  readonly #store: DisposableStore;
  readonly #silence: { look(): void } | undefined;
  #shut: Promise<void> | undefined;
  /** The limit that ended the agent, where this process keeps it. */
  limit: string | undefined;

  private constructor(
    sandbox: Sandbox,
    files: FileEffects,
    calls: ToolCalls,
    observed: AfterHearing<SandboxEvent>,
    broker: Broker,
    agentSocket: { close(): Promise<void> },
    store: DisposableStore,
    silence: { look(): void } | undefined,
  ) {
    this.sandbox = sandbox;
    this.files = files;
    this.#calls = calls;
    this.#observed = observed;
    this.#broker = broker;
    this.#agentSocket = agentSocket;
    this.#store = store;
    this.#silence = silence;
  }

  static async start(
    request: BeginRequest,
    ports: OpenPorts,
    fork: Fork,
    launch: AgentLaunch,
    openDoor: OpenDoor,
  ): Promise<Running> {
    const { journal, adapter, workspaces } = ports;
    const { workspace, paths } = request;
    const { journalBytes, ...limits } = resourceLimits(request.limits);
    const store = new DisposableStore();
    const files = new FileEffects(
      journal,
      async () => {
        const changed = await workspaces.changes(fork, workspace, paths);
        ports.onChanged(changed);
        return changed;
      },
      () => calls.running(),
      (error) =>
        journal.append({
          kind: "alert",
          source: "holdfast",
          code: "scan-failed",
          message: `file effects could not be read: ${messageOf(error)}`,
        }),
    );
    const observed = new AfterHearing<SandboxEvent>(
      (event) => tree.take(event),
      adapter.speaks === undefined ? undefined : indirectDelayMs,
      () => calls.awaitsExit,
    );
    const calls: ToolCalls = new ToolCalls(
      journal,
      (call) => files.callEnded(call),
      // What was seen until now was seen while the call ran.
      () => observed.drain(),
    );
    const silent = adapter.coverage === "effects-only";
    const tree = new ProcessTree(journal, calls, silent, ports.hook);
    const host = brokerHost(journal, ports.holds, calls, adapter.speaks !== undefined);
    const broker = await openDoor(host);
    const translator = adapter.translator();
    const agentSocket = await ports.listenToAgent((raw) => hear(translator, calls, raw));
    try {
      const sandbox = await ports.sandboxes.launch({
        workspace,
        fork,
        paths,
        launch: { ...launch, env: { ...broker.env, ...launch.env } },
        cwd: request.cwd,
        ...(request.terminal === undefined ? {} : { terminal: request.terminal }),
        ...(request.unsafeNoSandbox ? { unsafeNoSandbox: true as const } : {}),
        ...(request.allow === undefined ? {} : { allow: request.allow }),
        limits,
      });
      const { pid, description, notes } = sandbox;
      journal.append({
        kind: "transaction.started",
        source: "holdfast",
        pid,
        sandbox: description,
        ...(launch.program === undefined ? {} : { program: launch.program }),
        notes: [...notes, ...(launch.notes ?? [])],
      });
      // Where nobody says anything there is nothing to wait for.
      if (silent) observed.flush();
      const listening = sandbox.onEvent((event) => observed.push(event));
      void sandbox.exited.then(() => observed.flush());
      store.add(toDisposable(() => listening[Symbol.dispose]()));
      const silence = silent ? undefined : store.add(watchSilence(journal));
      const parts = [sandbox, files, calls, observed, broker, agentSocket, store, silence] as const;
      const running = new Running(...parts);
      const restores = journal.onAppend(({ kind, seq }) => {
        if (kind === "savepoint.restored") files.restored(seq);
      });
      store.add(toDisposable(() => restores[Symbol.dispose]()));
      if (journalBytes !== undefined) running.#boundJournal(journal, journalBytes);
      return running;
    } catch (error) {
      await agentSocket.close();
      await broker.close();
      throw error;
    }
  }

  /** Closes the broker; the second call waits for the first. */
  shutDoor(): Promise<void> {
    this.#shut ??= this.#broker.close();
    return this.#shut;
  }

  /** Ends the agent when the journal has grown past its limit: what it does afterwards could not be told. */
  #boundJournal(journal: Journal, most: number): void {
    const listening = journal.onAppend(() => {
      if (this.limit !== undefined || journal.bytes <= most) return;
      this.limit = limitWords("journalBytes", journal.bytes, most);
      void this.sandbox.kill();
    });
    this.#store.add(toDisposable(() => listening[Symbol.dispose]()));
  }

  hear(event: AgentEvent, source: "acp"): void {
    this.#calls.take(event, source);
    if (event.type === "toolStarted") this.#observed.hasten();
  }

  async stop(): Promise<void> {
    await this.sandbox.kill();
    await this.#agentSocket.close();
    this.#silence?.look();
    this.#calls.endAll();
    await this.files.settled();
    this.#store.dispose();
    await this.shutDoor();
  }
}

function hear(translator: AgentTranslator, calls: ToolCalls, raw: unknown): void {
  for (const event of translator.translate(raw)) calls.take(event, "hook");
}

/** `isIndirect`: a call may begin before it is told of. */
function brokerHost(
  journal: Journal,
  holds: HoldDesk,
  calls: ToolCalls,
  isIndirect: boolean,
): BrokerHost {
  return {
    record: async (draft) => {
      const { entry, durable } = journal.append(draft);
      await durable;
      return entry.seq;
    },
    keep: (value) => journal.keep(value),
    hold: (request, signal) => holds.hold(request, signal),
    rejoin: (hold, signal) => holds.rejoin(hold, signal),
    earlier: () => journal.entries(),
    currentToolCall: () => calls.current(),
    ...(isIndirect
      ? { toolCallToCome: (isHeld) => calls.next(isHeld ? callToComeMs.held : callToComeMs.other) }
      : {}),
    toolCallOf: (ids, input) => calls.find(ids, input),
  };
}
