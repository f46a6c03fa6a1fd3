import * as z from "zod";
import type { ToolKind } from "../../base/toolKind.ts";
import type { AgentEvent, AgentTranslator, CallStatus } from "../../runtime/agent.ts";
import { hookLine } from "./hookLine.ts";
import { eventName } from "./scriptedEvents.ts";
import { titleOf } from "./toolTitle.ts";

/** What differs between agents that tell their tool calls by hook events of this one form. */
export interface HookDialect {
  /** By the agent's own name of the tool; what is missing is `other`. */
  readonly kinds: Readonly<Record<string, ToolKind>>;
  /** Tools that start a sub-agent. */
  readonly starters: ReadonlySet<string>;
  /** Calls that fail or are refused have no end of their own: the next question to the model ends them, or the end of the
   * turn. */
  readonly endsWithTurn?: true;
  /** How a call ended whose end says nothing of failure. Absent: well. */
  readonly statusOf?: (tool: string, response: unknown) => CallStatus;
}

/** A member of a wrong type counts as left out: the rest of what is said still stands. */
const text = z.string().optional().catch(undefined);

/** One hook event; what is not named here passes through. */
const hookEvent = z.looseObject({
  hook_event_name: z.string(),
  tool_name: text,
  tool_use_id: text,
  session_id: text,
  tool_input: z.unknown().optional(),
  tool_response: z.unknown().optional(),
  error: z.unknown().optional(),
  reason: z.unknown().optional(),
  is_interrupt: z.boolean().optional().catch(undefined),
  duration_ms: z.number().optional().catch(undefined),
  agent_id: text,
  agent_type: text,
  tool_calls: z.array(z.unknown()).optional().catch(undefined),
});
type HookEvent = z.output<typeof hookEvent>;

/** One answer of a batch. */
const answered = z.looseObject({
  tool_use_id: z.string(),
  tool_name: text,
  tool_input: z.unknown().optional(),
  tool_response: z.unknown().optional(),
});

/** How an answer begins when the call was not made: its arguments were wrong, or there is no such tool. */
const unmade = "<tool_use_error>";

/**
 * Joins hook events by `tool_use_id`. A call that ends in none of them (denied, or its arguments were wrong) is ended by the
 * batch that lists its answer; an end that comes alone tells its own beginning; a sub-agent's calls hang under the call that started it.
 */
export class HookTranslator implements AgentTranslator {
  readonly #dialect: HookDialect;
  readonly #begun = new Set<string>();
  /** By call: who makes it (see {@link makerOf}). */
  readonly #open = new Map<string, string>();
  readonly #starts: string[] = [];
  readonly #callOfAgent = new Map<string, string>();

  constructor(dialect: HookDialect) {
    this.#dialect = dialect;
  }

  translate(line: unknown): readonly AgentEvent[] {
    const { at, data: raw = line } = hookLine.safeParse(line).data ?? {};
    const parsed = hookEvent.safeParse(raw);
    if (!parsed.success) return [{ type: "other", event: eventName(raw), data: raw }];
    const events = this.#translate(parsed.data, raw);
    return at === undefined ? events : events.map((event) => ({ ...event, atMs: at }));
  }

  #translate(event: HookEvent, raw: unknown): readonly AgentEvent[] {
    switch (event.hook_event_name) {
      case "SessionStart":
        return [{ type: "session", data: raw }];
      case "PreToolUse":
        return this.#begin(event);
      case "PostToolUse":
        return this.#end(event, this.#statusOf(event), event.tool_response);
      case "PostToolUseFailure":
        return this.#end(event, event.is_interrupt === true ? "cancelled" : "failed", event.error);
      case "PermissionDenied":
        return this.#end(event, "denied", event.reason);
      case "PostToolBatch":
        return this.#batch(event);
      case "SubagentStart":
        this.#subAgent(event);
        return [{ type: "other", event: "SubagentStart", data: raw }];
      case "PreModelRequest":
        return this.#endTurn(event);
      case "Interrupt":
      case "Stop":
      case "SubagentStop":
        return [
          ...this.#endTurn(event),
          { type: "other", event: event.hook_event_name, data: raw },
        ];
      default:
        return [{ type: "other", event: event.hook_event_name, data: raw }];
    }
  }

  #endTurn(event: HookEvent): readonly AgentEvent[] {
    if (this.#dialect.endsWithTurn !== true) return [];
    const maker = makerOf(event);
    const left = [...this.#open].filter(([, by]) => by === maker).map(([call]) => call);
    for (const call of left) this.#open.delete(call);
    const output = "the agent told no answer: the call failed, or it was refused";
    return left.map((call) => ({ type: "toolFinished", call, status: "unanswered", output }));
  }

  #statusOf({ tool_name: tool = "", tool_response: response }: HookEvent): CallStatus {
    return this.#dialect.statusOf?.(tool, response) ?? "ok";
  }

  /** A sub-agent that is not named by the call that started it belongs to the oldest start without one. */
  #subAgent({ agent_id: agent }: HookEvent): void {
    if (agent === undefined || this.#callOfAgent.has(agent)) return;
    const taken = new Set(this.#callOfAgent.values());
    const call = this.#starts.find((one) => !taken.has(one));
    if (call !== undefined) this.#callOfAgent.set(agent, call);
  }

  #begin(event: HookEvent): readonly AgentEvent[] {
    const call = event.tool_use_id;
    const tool = event.tool_name ?? "unknown";
    if (call === undefined) {
      return [{ type: "other", event: event.hook_event_name, data: event }];
    }
    this.#begun.add(call);
    this.#open.set(call, makerOf(event));
    if (this.#dialect.starters.has(tool)) this.#starts.push(call);
    const parentCall =
      event.agent_id === undefined ? undefined : this.#callOfAgent.get(event.agent_id);
    const agent = event.agent_type ?? event.agent_id;
    return [
      {
        type: "toolStarted",
        call,
        tool,
        toolKind: this.#dialect.kinds[tool] ?? "other",
        title: titleOf(tool, event.tool_input),
        input: event.tool_input,
        ...(event.agent_id === undefined || agent === undefined ? {} : { agent }),
        ...(parentCall === undefined ? {} : { parentCall }),
      },
    ];
  }

  #end(event: HookEvent, status: CallStatus, output: unknown): readonly AgentEvent[] {
    const call = event.tool_use_id;
    if (call === undefined) return [{ type: "other", event: event.hook_event_name, data: event }];
    const alone = this.#begun.has(call) || event.tool_name === undefined ? [] : this.#begin(event);
    this.#open.delete(call);
    const started = z.object({ agentId: z.string() }).safeParse(output);
    if (started.success) this.#callOfAgent.set(started.data.agentId, call);
    const { duration_ms: durationMs } = event;
    const duration = durationMs === undefined ? {} : { durationMs };
    return [...alone, { type: "toolFinished", call, status, output, ...duration }];
  }

  /** Answers of calls that were refused or could not be made, which have no end of their own; the latter may have no
   * beginning either. */
  #batch(event: HookEvent): readonly AgentEvent[] {
    return (event.tool_calls ?? []).flatMap((one): readonly AgentEvent[] => {
      const answer = answered.safeParse(one).data;
      if (answer === undefined) return [{ type: "other", event: event.hook_event_name, data: one }];
      const { tool_use_id: call, tool_response: output } = answer;
      const isNew = !this.#begun.has(call) && answer.tool_name !== undefined;
      const begun = isNew ? this.#begin({ ...event, ...answer }) : [];
      if (!this.#open.delete(call)) return [];
      const isUnmade = typeof output === "string" && output.startsWith(unmade);
      const status = isUnmade ? "failed" : isNew ? "ok" : "denied";
      return [...begun, { type: "toolFinished", call, status, output }];
    });
  }
}

/** The agent itself or a sub-agent. Beside them an agent may have sessions of its own, such as one that finds a title. */
function makerOf({ session_id: session = "", agent_id: agent = "" }: HookEvent): string {
  return `${session} ${agent}`;
}
