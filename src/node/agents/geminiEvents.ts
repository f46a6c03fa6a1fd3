import * as z from "zod";
import type { ToolKind } from "../../base/toolKind.ts";
import type { AgentEvent, AgentTranslator, CallStatus } from "../../runtime/agent.ts";
import { hookLine } from "./hookLine.ts";
import { eventName } from "./scriptedEvents.ts";
import { titleOf } from "./toolTitle.ts";

const kinds: Readonly<Record<string, ToolKind>> = {
  read_file: "read",
  read_many_files: "read",
  list_directory: "search",
  glob: "search",
  grep_search: "search",
  search_file_content: "search",
  replace: "edit",
  write_file: "edit",
  run_shell_command: "execute",
  web_fetch: "fetch",
  google_web_search: "fetch",
  save_memory: "think",
  write_todos: "think",
  invoke_agent: "agent",
  codebase_investigator: "agent",
  generalist: "agent",
  cli_help: "agent",
};

const hookEvent = z.looseObject({
  hook_event_name: z.string(),
  tool_name: z.string().optional(),
  tool_input: z.unknown().optional(),
  tool_response: z.unknown().optional(),
});
type HookEvent = z.output<typeof hookEvent>;

interface OpenCall {
  readonly call: string;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/**
 * Gemini CLI tells calls without an id: they are joined by the tool's name, its input and the order, and get ids of ours.
 * The end may have more arguments than the beginning (defaults are filled in between). A call that is refused has a
 * beginning alone: the end of the turn ends it.
 */
export class GeminiTranslator implements AgentTranslator {
  #count = 0;
  readonly #open: OpenCall[] = [];

  translate(line: unknown): readonly AgentEvent[] {
    const { at, data: raw = line } = hookLine.safeParse(line).data ?? {};
    const parsed = hookEvent.safeParse(raw);
    if (!parsed.success) return [{ type: "other", event: eventName(raw), data: raw }];
    const events = this.#translate(parsed.data, raw);
    return at === undefined ? events : events.map((event) => ({ ...event, atMs: at }));
  }

  #translate(event: HookEvent, raw: unknown): readonly AgentEvent[] {
    const other: AgentEvent = { type: "other", event: event.hook_event_name, data: raw };
    const { tool_name: tool } = event;
    switch (event.hook_event_name) {
      case "SessionStart":
        return [{ type: "session", data: raw }];
      case "BeforeTool":
        return tool === undefined ? [other] : [this.#begin(tool, event.tool_input)];
      case "AfterTool":
        return tool === undefined ? [other] : this.#end(tool, event);
      case "AfterAgent":
      case "SessionEnd":
        return [...this.#endOpen(), other];
      default:
        return [other];
    }
  }

  #begin(tool: string, input: unknown): AgentEvent {
    const call = `gemini-${++this.#count}`;
    // While a sub-agent works the agent itself waits: what begins meanwhile is the sub-agent's.
    const parent = this.#open.findLast((one) => kinds[one.tool] === "agent");
    this.#open.push({ call, tool, input: recordOf(input) });
    const toolKind = kinds[tool] ?? "other";
    return {
      type: "toolStarted",
      call,
      tool,
      toolKind,
      title: titleOf(tool, input),
      input,
      ...(parent === undefined ? {} : { agent: agentName(parent.input), parentCall: parent.call }),
    };
  }

  #end(tool: string, { tool_input: input, tool_response: response }: HookEvent): AgentEvent[] {
    const given = recordOf(input);
    const same = this.#open.filter((one) => one.tool === tool);
    const found = same.find((one) => isWithin(one.input, given)) ?? same[0];
    const begun = found === undefined ? [this.#begin(tool, input)] : [];
    const open = found ?? this.#open.at(-1);
    if (open === undefined) return begun;
    this.#open.splice(this.#open.indexOf(open), 1);
    const status = statusOf(tool, response);
    return [...begun, { type: "toolFinished", call: open.call, status, output: response }];
  }

  /** No answer was told: the agent itself refused or gave up on these. */
  #endOpen(): readonly AgentEvent[] {
    return this.#open.splice(0).map(({ call }) => ({
      type: "toolFinished",
      call,
      status: "cancelled",
      output: "the agent told no answer for this call",
    }));
  }
}

function recordOf(input: unknown): Readonly<Record<string, unknown>> {
  return z.record(z.string(), z.unknown()).safeParse(input).data ?? {};
}

function agentName(input: Readonly<Record<string, unknown>>): string {
  const { agent_name: name } = input;
  return typeof name === "string" ? name : "sub-agent";
}

function isWithin(
  some: Readonly<Record<string, unknown>>,
  all: Readonly<Record<string, unknown>>,
): boolean {
  return Object.entries(some).every(
    ([name, value]) => JSON.stringify(all[name]) === JSON.stringify(value),
  );
}

/** How the answer of a command ends: the exit code where it is not 0, and the process group. */
const commandEnd =
  /(?:^|\n)(?:Exit Code: (-?\d+)\n)?(?:Signal: [^\n]*\n)?(?:Background PIDs: [^\n]*\n)?Process Group PGID: \d+\n<\/untrusted_context>$/;

const commandAnswer = z.looseObject({ llmContent: z.string() });

function statusOf(tool: string, response: unknown): CallStatus {
  const { error } = recordOf(response);
  if (error !== undefined && error !== null) return "failed";
  if (tool !== "run_shell_command") return "ok";
  const said = commandAnswer.safeParse(response).data?.llmContent ?? "";
  if (/^(?:<untrusted_context>\n)?Command moved to background \(PID/.test(said))
    return "background";
  if (/^(?:<untrusted_context>\n)?Command was cancelled by user/.test(said)) return "cancelled";
  const exit = commandEnd.exec(said)?.[1];
  if (exit !== undefined) return exit === "0" ? "ok" : "failed";
  return "ran";
}
