import * as z from "zod";
import type { ToolKind } from "../../core/journal/entry.ts";
import type { AgentEvent } from "../../runtime/agent.ts";

const toolKinds: ReadonlySet<string> = new Set<ToolKind>([
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
  "think",
  "fetch",
]);

/** One `session/update`; what is not named here passes through. Agents leave most members out of later updates. */
const sessionUpdate = z.looseObject({
  sessionUpdate: z.string(),
  toolCallId: z.string().optional(),
  name: z.string().nullish(),
  title: z.string().nullish(),
  kind: z.string().nullish(),
  status: z.string().nullish(),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  content: z.unknown().optional(),
  locations: z.unknown().optional(),
  entries: z.unknown().optional(),
  messageId: z.string().nullish(),
  _meta: z.looseObject({}).nullish(),
});
type SessionUpdate = z.output<typeof sessionUpdate>;

const textBlock = z.looseObject({ type: z.literal("text"), text: z.string() });
const claudeMeta = z.looseObject({ claudeCode: z.looseObject({ toolName: z.string() }) });

/** What is known of a tool call whose start has not been told on. */
interface Announced {
  readonly call: string;
  readonly tool: string;
  readonly title: string;
  readonly toolKind: ToolKind;
  readonly input: unknown;
  readonly locations: unknown;
}

/** Updates that only say how the agent's own interface would look. */
const quiet: ReadonlySet<string> = new Set(["available_commands_update", "usage_update"]);

/**
 * Translates the updates of an ACP session. Agents announce a call first and give its input a moment later: its start is
 * told once there is an input, or it runs, or it ends. Text and thoughts come as `text` and `thought`, plans as `plan`;
 * updates of unknown kinds are kept raw.
 */
export class AcpTranslator {
  readonly #announced = new Map<string, Announced>();
  readonly #started = new Set<string>();
  readonly #content = new Map<string, unknown>();

  translate(raw: unknown): readonly AgentEvent[] {
    const parsed = sessionUpdate.safeParse(raw);
    if (!parsed.success) return [{ type: "other", event: "malformed-update", data: raw }];
    const update = parsed.data;
    switch (update.sessionUpdate) {
      case "tool_call":
      case "tool_call_update":
        return this.#toolCall(update);
      case "agent_message_chunk":
        return [textOf("text", update, raw)];
      case "agent_thought_chunk":
        return [textOf("thought", update, raw)];
      case "plan":
        return [{ type: "other", event: "plan", data: { entries: update.entries ?? [] } }];
      default:
        if (quiet.has(update.sessionUpdate)) return [];
        return [{ type: "other", event: update.sessionUpdate, data: raw }];
    }
  }

  /** The call that a permission is asked for: often the first place that has its input. */
  permission(toolCall: unknown): readonly AgentEvent[] {
    const parsed = sessionUpdate.omit({ sessionUpdate: true }).safeParse(toolCall);
    if (!parsed.success) return [];
    const { status: _, ...known } = parsed.data;
    return this.#toolCall({ ...known, sessionUpdate: "tool_call_update" });
  }

  /** Calls that were announced and of which nothing was heard since: the turn is over. */
  endTurn(): readonly AgentEvent[] {
    return [...this.#announced.keys()].flatMap((call) => this.#begin(call));
  }

  #toolCall(update: SessionUpdate): readonly AgentEvent[] {
    const call = update.toolCallId;
    if (call === undefined) {
      return [{ type: "other", event: update.sessionUpdate, data: update }];
    }
    if (update.content !== undefined && !isEmpty(update.content)) {
      this.#content.set(call, update.content);
    }
    if (!this.#started.has(call)) this.#announced.set(call, this.#merged(call, update));
    const ends = update.status === "completed" || update.status === "failed";
    const runs = ends || update.status === "in_progress" || !isEmpty(update.rawInput);
    const begun = runs ? this.#begin(call) : [];
    return ends ? [...begun, this.#end(call, update)] : begun;
  }

  #merged(call: string, update: SessionUpdate): Announced {
    const known = this.#announced.get(call);
    const kind = update.kind ?? known?.toolKind ?? "other";
    const named = claudeMeta.safeParse(update._meta).data?.claudeCode.toolName ?? update.name;
    const title = update.title ?? known?.title ?? call;
    return {
      call,
      tool: named ?? known?.tool ?? kind,
      title,
      toolKind: toolKinds.has(kind) ? (kind as ToolKind) : "other",
      input: isEmpty(update.rawInput) ? known?.input : update.rawInput,
      locations: isEmpty(update.locations) ? known?.locations : update.locations,
    };
  }

  #begin(call: string): readonly AgentEvent[] {
    const known = this.#announced.get(call);
    if (known === undefined) return [];
    this.#announced.delete(call);
    this.#started.add(call);
    const { tool, toolKind, title, locations } = known;
    // Some agents never give the input: where they say what a call is about, that stands for it.
    const about = locations === undefined ? {} : { locations };
    const input = known.input ?? about;
    return [{ type: "toolStarted", call, tool, toolKind, title, input }];
  }

  #end(call: string, update: SessionUpdate): AgentEvent {
    const output = update.rawOutput ?? this.#content.get(call) ?? null;
    this.#content.delete(call);
    const status = update.status === "completed" ? "ok" : "failed";
    return { type: "toolFinished", call, status, output };
  }
}

function textOf(event: "text" | "thought", update: SessionUpdate, raw: unknown): AgentEvent {
  const block = textBlock.safeParse(update.content);
  if (!block.success) return { type: "other", event: update.sessionUpdate, data: raw };
  return { type: "other", event, data: { text: block.data.text } };
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
