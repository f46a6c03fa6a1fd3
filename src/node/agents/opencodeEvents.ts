import * as z from "zod";
import type { ToolKind } from "../../base/toolKind.ts";
import type { AgentEvent, AgentTranslator, CallStatus } from "../../runtime/agent.ts";
import { eventName } from "./scriptedEvents.ts";
import { titleOf } from "./toolTitle.ts";

const kinds: Readonly<Record<string, ToolKind>> = {
  read: "read",
  list: "search",
  glob: "search",
  grep: "search",
  lsp: "search",
  edit: "edit",
  multiedit: "edit",
  write: "edit",
  patch: "edit",
  apply_patch: "edit",
  bash: "execute",
  webfetch: "fetch",
  websearch: "fetch",
  codesearch: "fetch",
  task: "agent",
  todowrite: "think",
  todoread: "think",
};

const line = z.object({ at: z.number(), event: z.string(), data: z.unknown() });

const before = z.looseObject({
  tool: z.string(),
  sessionID: z.string(),
  callID: z.string(),
  args: z.unknown().optional(),
});

const metadata = z
  .looseObject({ exit: z.number().nullish(), sessionId: z.string().optional() })
  .nullish();

/** What came of a call; `exit` is a command's exit code. */
const answered = z.looseObject({ output: z.unknown().optional(), metadata });

const after = before.extend({ output: answered.nullish() });

const part = z.looseObject({
  part: z.looseObject({
    tool: z.string(),
    callID: z.string(),
    sessionID: z.string(),
    state: answered.extend({
      status: z.string(),
      input: z.unknown().optional(),
      error: z.unknown().optional(),
      time: z.looseObject({ start: z.number().optional(), end: z.number().optional() }).optional(),
    }),
  }),
});
type Part = z.output<typeof part>["part"];

const session = z.looseObject({
  info: z.looseObject({
    id: z.string(),
    parentID: z.string().optional(),
    agent: z.string().optional(),
  }),
});

/**
 * Joins the plugin's lines by `callID`. A call that fails or is refused has no `after`: the state of its message part ends
 * it. A sub-agent is a session of its own; its calls hang under the `task` that runs in the parent session.
 */
export class OpencodeTranslator implements AgentTranslator {
  readonly #begun = new Set<string>();
  readonly #tasks: { readonly call: string; readonly session: string }[] = [];
  readonly #callOfSession = new Map<string, string>();
  readonly #agentOfSession = new Map<string, string>();

  translate(raw: unknown): readonly AgentEvent[] {
    const parsed = line.safeParse(raw);
    if (!parsed.success) return [{ type: "other", event: eventName(raw), data: raw }];
    const { at: atMs, event, data } = parsed.data;
    const other: readonly AgentEvent[] = [{ type: "other", event, data }];
    const events = this.#translate(event, data) ?? other;
    return events.map((one) => ({ ...one, atMs }));
  }

  /** Undefined for what is kept raw. */
  #translate(event: string, data: unknown): readonly AgentEvent[] | undefined {
    switch (event) {
      case "plugin.started":
        return [{ type: "session", data }];
      case "session.created":
        return this.#session(data);
      case "tool.execute.before": {
        const call = before.safeParse(data).data;
        return call && this.#begin(call.callID, call.tool, call.args, call.sessionID);
      }
      case "tool.execute.after": {
        const call = after.safeParse(data).data;
        if (call === undefined) return undefined;
        const begun = this.#begin(call.callID, call.tool, call.args, call.sessionID);
        const output = call.output?.output ?? null;
        return [...begun, ended(call.callID, statusOf(call.tool, call.output), output)];
      }
      case "tool.part": {
        const found = part.safeParse(data).data?.part;
        return found && this.#part(found);
      }
      default:
        return undefined;
    }
  }

  #session(data: unknown): readonly AgentEvent[] | undefined {
    const info = session.safeParse(data).data?.info;
    if (info?.parentID === undefined) return undefined;
    if (info.agent !== undefined) this.#agentOfSession.set(info.id, info.agent);
    const taken = new Set(this.#callOfSession.values());
    const task = this.#tasks.find((one) => one.session === info.parentID && !taken.has(one.call));
    if (task !== undefined) this.#callOfSession.set(info.id, task.call);
    return undefined;
  }

  #begin(call: string, tool: string, input: unknown, sessionId: string): readonly AgentEvent[] {
    if (this.#begun.has(call)) return [];
    this.#begun.add(call);
    if (tool === "task") this.#tasks.push({ call, session: sessionId });
    const agent = this.#agentOfSession.get(sessionId);
    const parentCall = this.#callOfSession.get(sessionId);
    return [
      {
        type: "toolStarted",
        call,
        tool,
        toolKind: kinds[tool] ?? "other",
        title: titleOf(tool, input),
        input,
        ...(agent === undefined ? {} : { agent }),
        ...(parentCall === undefined ? {} : { parentCall }),
      },
    ];
  }

  #part({ tool, callID: call, sessionID, state }: Part): readonly AgentEvent[] {
    const child = state.metadata?.sessionId;
    if (tool === "task" && child !== undefined) this.#callOfSession.set(child, call);
    if (state.status === "pending") return [];
    const begun = this.#begin(call, tool, state.input, sessionID);
    if (state.status === "error") {
      return [...begun, ended(call, failureOf(state.error), state.error)];
    }
    if (state.status !== "completed") return begun;
    const { start, end } = state.time ?? {};
    const durationMs = start === undefined || end === undefined ? {} : { durationMs: end - start };
    const finished = ended(call, statusOf(tool, state), state.output);
    return [...begun, { ...finished, ...durationMs }];
  }
}

function ended(
  call: string,
  status: CallStatus,
  output: unknown,
): Extract<AgentEvent, { type: "toolFinished" }> {
  return { type: "toolFinished", call, status, output };
}

/** A call of a tool that there is not, or with wrong arguments, is answered by the tool `invalid`. */
function statusOf(tool: string, answer: z.output<typeof answered> | null | undefined): CallStatus {
  const { output, metadata: about } = answer ?? {};
  const note = typeof output === "string" ? (commandNote.exec(output)?.[1] ?? "") : "";
  if (/aborted/i.test(note)) return "cancelled";
  const exit = about?.exit ?? (/timeout/i.test(note) ? 1 : 0);
  return tool === "invalid" || exit !== 0 ? "failed" : "ok";
}

/** What OpenCode says itself behind the output of a command. */
const commandNote = /<(?:shell_)?metadata>([^]*)<\/(?:shell_)?metadata>\s*$/;

/** OpenCode tells a refusal, an interruption and a failure all as an error, in words. */
function failureOf(error: unknown): CallStatus {
  const text = typeof error === "string" ? error : JSON.stringify(error ?? "");
  if (/permission|rule which prevents|denied|rejected/i.test(text)) return "denied";
  return /abort|interrupt|cancel/i.test(text) ? "cancelled" : "failed";
}
