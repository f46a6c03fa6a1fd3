import { z } from "zod";
import type { SandboxEvent } from "../../runtime/ports.ts";

const exec = z.object({
  type: z.literal("exec"),
  pid: z.number(),
  ppid: z.number(),
  cause: z.number(),
  detached: z.boolean(),
  argv: z.array(z.string()),
  truncated: z.boolean().optional(),
  cwd: z.string(),
  program: z.string(),
  atMs: z.number(),
});

const exit = z.object({
  type: z.literal("exit"),
  pid: z.number(),
  exitCode: z.number().nullable(),
  signal: z.string().optional(),
  durationMs: z.number(),
  atMs: z.number(),
});

const hidden = z.object({ type: z.literal("hidden"), pid: z.number(), atMs: z.number() });

const started = z.object({
  type: z.literal("started"),
  pid: z.number(),
  init: z.number(),
  mounts: z.number(),
  sandboxed: z.boolean(),
  landlock: z.number(),
  observed: z.boolean(),
  ms: z.number(),
  transparent: z.enum(["all", "fixed", "none"]).optional(),
  transparentReason: z.string().optional(),
});

const ended = z.object({
  type: z.literal("ended"),
  exitCode: z.number().nullable(),
  signal: z.string().optional(),
  left: z.number(),
});

const failed = z.object({
  type: z.literal("error"),
  step: z.string(),
  message: z.string(),
  errno: z.number(),
  reason: z.string(),
});

const frozen = z.object({ type: z.literal("frozen"), running: z.number() });

const limit = z.object({
  type: z.literal("limit"),
  name: z.string(),
  limit: z.number(),
  used: z.number(),
});

/** One line of supervise's report descriptor (native/PROTOCOL.md). */
export const report = z.discriminatedUnion("type", [
  exec,
  exit,
  hidden,
  started,
  ended,
  failed,
  frozen,
  limit,
]);

export type Report = z.infer<typeof report>;
export type StartedReport = z.infer<typeof started>;
export type FailedReport = z.infer<typeof failed>;
export type EndedReport = z.infer<typeof ended>;

/** The report as the port's event. */
export function eventOf(
  told: z.infer<typeof exec> | z.infer<typeof exit> | z.infer<typeof hidden>,
): SandboxEvent {
  if (told.type === "exec") {
    const { type, pid, ppid, argv, cwd, program, atMs } = told;
    return {
      ...{ type, pid, ppid, argv, cwd, program, atMs },
      ...(told.cause > 0 ? { cause: told.cause } : {}),
      ...(told.detached ? { detached: true as const } : {}),
      ...(told.truncated === true ? { truncated: true as const } : {}),
    };
  }
  if (told.type === "hidden") {
    const nothing = { ppid: 0, argv: [], cwd: "", program: "", hidden: true as const };
    return { type: "exec", pid: told.pid, atMs: told.atMs, ...nothing };
  }
  const { type, pid, exitCode, atMs, durationMs, signal } = told;
  return { type, pid, exitCode, atMs, durationMs, ...(signal === undefined ? {} : { signal }) };
}
