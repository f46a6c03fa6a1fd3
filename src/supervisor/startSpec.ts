import * as z from "zod";
import { checkSettings } from "../core/check/checkSettings.ts";

/** What a supervisor needs to begin a transaction. */
const startSpec = z.object({
  workspace: z.string(),
  agent: z.string(),
  command: z.array(z.string()),
  task: z.string().optional(),
  prompt: z.string().optional(),
  backend: z.enum(["auto", "snapshot", "clone", "overlay", "copy"]),
  policyFile: z.string().optional(),
  limits: z.record(z.string(), z.string()),
  secrets: z.array(z.string()),
  /** Values of secrets that the editor keeps, by name. They come this way alone, and are written nowhere. */
  editorSecrets: z.record(z.string(), z.string()).optional(),
  onExit: z.enum(["review", "commit", "discard"]),
  /** OTLP endpoint of the editor's setting, before the user's own file. */
  traceEndpoint: z.string().optional(),
  cwd: z.string(),
  terminal: z.object({ columns: z.number(), rows: z.number() }).optional(),
  /** An agent that is spoken to stays for further prompts after the first one. */
  keepSession: z.boolean().optional(),
  /** The agent's output waits for the first client. */
  waitForClient: z.boolean(),
  unsafeNoSandbox: z.boolean(),
  /** What the person says about checks. */
  checks: checkSettings,
  /** What is not denied as it is by default; each makes the sandbox weaker. */
  allow: z.array(z.enum(["user-namespaces", "ptrace"])).optional(),
});
export type StartSpec = z.output<typeof startSpec>;

/** What a supervisor that shall begin a transaction reads on its standard input, as one JSON document. */
export const startOrder = z.object({
  /** The transaction's directory. */
  root: z.string(),
  spec: startSpec,
});

/** One line of the supervisor's standard output while it starts. After `started` or `failed` the stream ends. */
export const startReport = z.discriminatedUnion("type", [
  z.object({ type: z.literal("progress"), text: z.string() }),
  z.object({ type: z.literal("started") }),
  z.object({
    type: z.literal("failed"),
    kind: z.enum(["failed", "usage", "refused", "conflict", "held"]),
    code: z.string(),
    message: z.string(),
    fix: z.string().optional(),
  }),
]);
export type StartReport = z.output<typeof startReport>;
