import * as z from "zod";
import { toolKinds } from "../../base/toolKind.ts";
import type { AgentEvent, AgentTranslator } from "../../runtime/agent.ts";
import { hookLine } from "./hookLine.ts";

/** The plain form: one JSON object a line on the agent socket. */
const scriptedEvent = z.discriminatedUnion("event", [
  z.object({
    event: z.literal("tool.started"),
    call: z.string(),
    tool: z.string(),
    toolKind: z.enum(toolKinds).catch("other"),
    title: z.string(),
    input: z.unknown().optional(),
    agent: z.string().optional(),
    parentCall: z.string().optional(),
    at: z.string().optional(),
  }),
  z.object({
    event: z.literal("tool.finished"),
    call: z.string(),
    status: z.enum(["ok", "failed", "denied", "cancelled"]).catch("failed"),
    output: z.unknown().optional(),
    durationMs: z.number().optional(),
    at: z.string().optional(),
  }),
  z.object({ event: z.literal("session.started") }),
]);

/** The name of an event of any shape. */
export function eventName(raw: unknown): string {
  if (typeof raw !== "object" || raw === null) return "unknown";
  const { event, hook_event_name: hook } = raw as { event?: unknown; hook_event_name?: unknown };
  if (typeof hook === "string") return hook;
  return typeof event === "string" ? event : "unknown";
}

/** The agent's own time of an event, where it gives one that can be read; else the hook program's. */
function timeOf(at: string | undefined, heardMs: number | undefined): { readonly atMs?: number } {
  const atMs = at === undefined ? NaN : Date.parse(at);
  if (!Number.isNaN(atMs)) return { atMs };
  return heardMs === undefined ? {} : { atMs: heardMs };
}

/** Everything is kept raw: for an agent that is not expected to say anything. */
export function quietTranslator(): AgentTranslator {
  return { translate: (raw) => [{ type: "other", event: eventName(raw), data: raw }] };
}

/** Translates the plain form, as it comes or as the hook program hands it on. */
export function scriptedTranslator(): AgentTranslator {
  return {
    translate: (line): readonly AgentEvent[] => {
      const { at: heardMs, data: raw = line } = hookLine.safeParse(line).data ?? {};
      const parsed = scriptedEvent.safeParse(raw);
      if (!parsed.success) return [{ type: "other", event: eventName(raw), data: raw }];
      const { data } = parsed;
      switch (data.event) {
        case "session.started":
          return [{ type: "session", data: raw }];
        case "tool.started": {
          const { event: _, agent, parentCall, at, input = null, ...call } = data;
          return [
            {
              type: "toolStarted",
              ...call,
              input,
              ...(agent === undefined ? {} : { agent }),
              ...(parentCall === undefined ? {} : { parentCall }),
              ...timeOf(at, heardMs),
            },
          ];
        }
        case "tool.finished": {
          const { event: _, durationMs, at, output = null, ...call } = data;
          return [
            {
              type: "toolFinished",
              ...call,
              output,
              ...(durationMs === undefined ? {} : { durationMs }),
              ...timeOf(at, heardMs),
            },
          ];
        }
      }
    },
  };
}
