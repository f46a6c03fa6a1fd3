import type { ToolKind } from "../base/toolKind.ts";
import type { Coverage } from "../core/journal/entry.ts";
import type { AgentLaunch } from "./ports.ts";

/** How a call ended, as the agent tells it. `ran`: it ran, and whether it failed is not said; the exit code of the process
 * that it started decides. `unanswered`: the agent went on without a word of it; it failed, unless it is a command whose
 * process still runs or has run. `background`: the agent goes on while its command runs; it ends with its process. */
export type CallStatus =
  "ok" | "failed" | "denied" | "cancelled" | "ran" | "unanswered" | "background";

/** What an agent said, in one form for all agents. */
export type AgentEvent =
  | { readonly type: "session"; readonly data: unknown }
  | {
      readonly type: "toolStarted";
      readonly call: string;
      readonly tool: string;
      readonly toolKind: ToolKind;
      readonly title: string;
      readonly input: unknown;
      /** Name or id of the sub-agent that makes the call. */
      readonly agent?: string;
      /** The call that started that sub-agent. */
      readonly parentCall?: string;
      /** When the agent says that it began, milliseconds since 1970: events can arrive late. */
      readonly atMs?: number;
    }
  | {
      readonly type: "toolFinished";
      readonly call: string;
      readonly status: CallStatus;
      readonly output: unknown;
      readonly durationMs?: number;
      readonly atMs?: number;
    }
  /** Anything else, kept raw and shown; never fatal. */
  | { readonly type: "other"; readonly event: string; readonly data: unknown };

/** What the adapter needs to know to make a launch. */
export interface LaunchRequest {
  readonly workspace: string;
  readonly command: readonly string[];
  readonly prompt?: string;
  /** The person's own environment: the only place where settings of theirs come from, never the repository. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly interactive: boolean;
  /** Nobody is there to write to its standard input. */
  readonly unattended?: true;
  /** Names of the MCP servers that the agent finds at the gateway (node/mcp/mcpConfiguration says how to name them to it). */
  readonly mcpServers?: readonly string[];
  /** It is spoken to over its standard streams: `command` says how it is started for that, and the protocol tells its
   * steps and its servers, so that hooks would tell them twice. */
  readonly session?: true;
}

/** Turns one stream of raw events into ours; keeps what joining needs (one per transaction). */
export interface AgentTranslator {
  /** `raw` is one line of the agent socket, parsed; unknown shapes come back as `other`. */
  translate(raw: unknown): readonly AgentEvent[];
}

/** The program of an agent, for whom it must be installed. */
export interface AgentProgram {
  /** As it is called on PATH. */
  readonly name: string;
  /** The variable of the person's environment that names another place. */
  readonly variable: string;
  /** How to install it. */
  readonly install: string;
}

/** What a session with an agent is opened with. Streams are the sandbox's own. */
export interface SessionRequest {
  readonly stdin: NodeJS.WritableStream;
  readonly stdout: NodeJS.ReadableStream;
  /** The working directory inside. */
  readonly cwd: string;
  readonly mcpServers: readonly string[];
  /** Ours, told to the agent. */
  readonly version: string;
  readonly onEvent: (event: AgentEvent) => void;
  /** The agent has not answered for so long; it is waited for all the same. `asked` is the method of the protocol. */
  readonly onUnanswered: (asked: string, seconds: number) => void;
}

/** A conversation with an agent over its standard streams: one prompt at a time, any number of them. */
export interface AgentSession {
  /** Resolves with why the agent ended its turn, e.g. `end_turn`, `cancelled`. Throws a Failure when it failed. */
  prompt(text: string): Promise<string>;
  /** Asks the agent to end its turn; the prompt resolves when it has. */
  cancel(): Promise<void>;
  close(): void;
}

/** Opens a session; throws a Failure that says why there is none. */
export type OpenSession = (request: SessionRequest) => Promise<AgentSession>;

/** One agent: adding one touches one file. */
export interface AgentAdapter {
  readonly name: string;
  /** Where people choose: a name, and a line about it. */
  readonly title: string;
  readonly detail: string;
  readonly coverage: Coverage;
  /** Absent where the person says what runs. */
  readonly program?: AgentProgram;
  /** The person gives a command, not a prompt. */
  readonly takesCommand?: true;
  /** Finds the program and says how to run it. Throws a Failure `agent-missing` that names the fix. */
  launch(request: LaunchRequest): Promise<AgentLaunch>;
  translator(): AgentTranslator;
  /** The protocol in which it is spoken to over its standard streams, which are then no person's terminal. */
  readonly speaks?: "acp";
}
