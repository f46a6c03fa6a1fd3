import * as z from "zod";
import { toolKindOf, type ToolKind } from "../../base/toolKind.ts";
import type { AgentEvent, CallStatus } from "../../runtime/agent.ts";
import { titleOf } from "./toolTitle.ts";

/** A member of a wrong type counts as left out: the rest of what is said still stands. */
const text = z.string().nullish().catch(undefined);

/** One `session/update`; what is not named here passes through. Agents leave most members out of later updates. */
const sessionUpdate = z.looseObject({
  sessionUpdate: z.string(),
  toolCallId: text,
  name: text,
  title: text,
  kind: text,
  status: text,
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  content: z.unknown().optional(),
  locations: z.unknown().optional(),
  entries: z.unknown().optional(),
  _meta: z.looseObject({}).nullish().catch(undefined),
});
type SessionUpdate = z.output<typeof sessionUpdate>;

const textBlock = z.looseObject({ type: z.literal("text"), text: z.string() });
const claudeMeta = z.looseObject({ claudeCode: z.looseObject({ toolName: z.string() }) });

/** OpenCode's answer of a command. */
const withExit = z.looseObject({ metadata: z.looseObject({ exit: z.number() }) });

/** What is known of a tool call whose start has not been told on. */
interface Announced {
  readonly name: string | undefined;
  readonly title: string | undefined;
  readonly toolKind: ToolKind;
  readonly input: unknown;
  readonly locations: unknown;
  /** See {@link Begun}. */
  readonly announced: boolean;
}

/** A call whose start has been told on. */
interface Begun {
  readonly toolKind: ToolKind;
  /** The agent had given an input by then. */
  readonly hadInput: boolean;
  readonly ended: boolean;
  /** The agent announced it as a new call, rather than telling of it as of one that is known. */
  readonly announced: boolean;
}

/** Updates that only say how the agent's own interface would look. */
const quiet: ReadonlySet<string> = new Set(["available_commands_update", "usage_update"]);

/**
 * Translates the updates of an ACP session. Agents announce a call first and give its input a moment later: its start is
 * told once there is an input, or it runs, or it is let run, or it ends. What has no end when the turn is over ends with
 * it. A call that is announced under the id of one that has ended is another call, and gets an id of its own (`id~2`). Text and thoughts come as `text` and `thought`, plans as `plan`; updates of unknown kinds are kept raw.
 */
export class AcpTranslator {
  readonly #announced = new Map<string, Announced>();
  readonly #begun = new Map<string, Begun>();
  readonly #content = new Map<string, unknown>();
  /** By the agent's id: how many calls had it. */
  readonly #uses = new Map<string, number>();
  #cancelled = false;

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

  /** The call that a permission is asked for, which it gets or not: often the first place that tells of it, and for some
   * agents the last before it has ended. */
  permission(toolCall: unknown, isGranted: boolean): readonly AgentEvent[] {
    const parsed = sessionUpdate.omit({ sessionUpdate: true }).safeParse(toolCall);
    if (!parsed.success) return [];
    const { status: _, ...known } = parsed.data;
    if (typeof known.toolCallId !== "string") return [];
    const told = this.#toolCall({ ...known, sessionUpdate: "tool_call_update" });
    const call = this.#idOf(known.toolCallId);
    const begun = [...told, ...this.#begin(call)];
    if (isGranted) return begun;
    if (this.#cancelled)
      return [...begun, ...this.#end(call, "cancelled", "the turn was cancelled")];
    return [...begun, ...this.#end(call, "denied", "no way to allow it was offered")];
  }

  /** The agent was asked to end its turn: what fails from now on was cancelled. */
  cancelling(): void {
    this.#cancelled = true;
  }

  /** The agent was asked to end its turn, which still goes on. */
  get isCancelled(): boolean {
    return this.#cancelled;
  }

  /** The turn is over. Calls of which nothing was heard since they were announced did begin; those that have no end get it
   * here. */
  endTurn(): readonly AgentEvent[] {
    const begun = [...this.#announced.keys()].flatMap((call) => this.#begin(call));
    const open = [...this.#begun].filter(([, { ended }]) => !ended).map(([call]) => call);
    const output = "the agent's turn ended before this call did";
    const ends = open.flatMap((call) => this.#end(call, "cancelled", output));
    this.#cancelled = false;
    return [...begun, ...ends];
  }

  #toolCall(update: SessionUpdate): readonly AgentEvent[] {
    if (typeof update.toolCallId !== "string") {
      return [{ type: "other", event: update.sessionUpdate, data: update }];
    }
    const call = this.#callOf(update.toolCallId, update);
    const known = this.#begun.get(call);
    if (known?.ended === true) return [];
    // By the protocol what comes later replaces what was there, also by nothing.
    if (update.content !== undefined && update.content !== null)
      this.#content.set(call, update.content);
    if (known === undefined) this.#announced.set(call, this.#merged(call, update));
    const ends = update.status === "completed" || update.status === "failed";
    const runs = ends || update.status === "in_progress" || saysWhat(update.rawInput);
    const told = known === undefined ? (runs ? this.#begin(call) : []) : this.#late(call, update);
    if (!ends) return told;
    const output = update.rawOutput ?? this.#content.get(call);
    const status = this.#statusOf(call, update.status === "completed", output);
    return [...told, ...this.#end(call, status, isEmpty(output) ? null : output)];
  }

  #idOf(id: string): string {
    const uses = this.#uses.get(id) ?? 1;
    return uses === 1 ? id : `${id}~${uses}`;
  }

  /** The call that is meant. Some agents count their calls anew in every turn. */
  #callOf(id: string, { sessionUpdate: kind, status }: SessionUpdate): string {
    const known = this.#begun.get(this.#idOf(id));
    const hasEnded = known?.ended === true && known.announced;
    const isToldAgain = status === "completed" || status === "failed";
    if (kind === "tool_call" && hasEnded && !isToldAgain)
      this.#uses.set(id, (this.#uses.get(id) ?? 1) + 1);
    return this.#idOf(id);
  }

  #merged(call: string, update: SessionUpdate): Announced {
    const known = this.#announced.get(call);
    const kind = update.kind ?? known?.toolKind ?? "other";
    const named = claudeMeta.safeParse(update._meta).data?.claudeCode.toolName ?? update.name;
    return {
      name: named ?? known?.name,
      title: update.title ?? known?.title,
      toolKind: toolKindOf(kind),
      input: isEmpty(update.rawInput) ? known?.input : update.rawInput,
      locations: isEmpty(update.locations) ? known?.locations : update.locations,
      announced: update.sessionUpdate === "tool_call" || known?.announced === true,
    };
  }

  #begin(call: string): readonly AgentEvent[] {
    const known = this.#announced.get(call);
    if (known === undefined) return [];
    this.#announced.delete(call);
    const { name, toolKind, title = call, locations, announced } = known;
    this.#begun.set(call, {
      toolKind,
      hadInput: known.input !== undefined,
      ended: false,
      announced,
    });
    // Some agents never give the input: where they say what a call is about, that stands for it.
    const input = known.input ?? (locations === undefined ? {} : { locations });
    // A title of one word is the tool's name.
    const full = /^\w+$/.test(title) ? titleOf(title, input) : title;
    return [{ type: "toolStarted", call, tool: name ?? toolKind, toolKind, title: full, input }];
  }

  /** An input that comes when the call runs already is kept beside it. */
  #late(call: string, { rawInput }: SessionUpdate): readonly AgentEvent[] {
    const known = this.#begun.get(call);
    if (known === undefined || known.hadInput || !saysWhat(rawInput)) return [];
    this.#begun.set(call, { ...known, hadInput: true });
    return [{ type: "other", event: "input", data: { call, input: rawInput } }];
  }

  /** To have completed a command says that it ran: its exit code tells the rest. Some agents give it. */
  #statusOf(call: string, isCompleted: boolean, output: unknown): CallStatus {
    if (!isCompleted) return this.#cancelled ? "cancelled" : "failed";
    if (this.#begun.get(call)?.toolKind !== "execute") return "ok";
    const exit = withExit.safeParse(output).data?.metadata.exit;
    if (exit !== undefined) return exit === 0 ? "ok" : "failed";
    return this.#cancelled ? "cancelled" : "ran";
  }

  #end(call: string, status: CallStatus, output: unknown): readonly AgentEvent[] {
    const known = this.#begun.get(call);
    if (known === undefined || known.ended) return [];
    this.#content.delete(call);
    this.#begun.set(call, { ...known, ended: true });
    return [{ type: "toolFinished", call, status, output }];
  }
}

function textOf(event: "text" | "thought", update: SessionUpdate, raw: unknown): AgentEvent {
  const block = textBlock.safeParse(update.content);
  if (!block.success) return { type: "other", event: update.sessionUpdate, data: raw };
  return { type: "other", event, data: { text: block.data.text } };
}

/** Where a command will run, told before which one it is. */
const places: ReadonlySet<string> = new Set(["cwd", "workdir"]);

/** True for an input that says what is done, and not only where. */
function saysWhat(input: unknown): boolean {
  if (isEmpty(input)) return false;
  return typeof input !== "object" || Object.keys(input ?? {}).some((name) => !places.has(name));
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
