/**
 * What the check worker and its outer side say to each other: one JSON object a line, requests on the worker's stdin, one
 * answer for each on its stdout, in order. The worker runs code of the workspace (its compiler), so every answer is
 * validated before it is believed.
 */
import { z } from "zod";

/** Where the worker finds things inside its sandbox. */
export const workerPlaces = {
  /** The directory with checkWorker.cjs and the bundled compiler. */
  program: "/run/holdfast-check/program",
  /** Base content of changed files, by path relative to the workspace. */
  base: "/run/holdfast-check/base",
  /** The only writable directory that lasts. */
  scratch: "/run/holdfast-check/scratch",
} as const;

/** One path that differs between base and shadow; a base file's content is at `base/<path>`. */
export interface ChangedInput {
  readonly path: string;
  readonly base: "file" | "absent";
  readonly shadow: "file" | "absent";
  /** Differs after every later write. */
  readonly stamp?: string;
}

export interface WorkerRequest {
  readonly id: number;
  readonly changed: readonly ChangedInput[];
  /** Configurations whose base answer the outer side already has for good. */
  readonly knownBase: readonly string[];
  /** Instead of a check: which of these files, relative to the workspace, do not parse on that side. */
  readonly parse?: { readonly view: "base" | "shadow"; readonly paths: readonly string[] };
}

const diagnostic = z.object({
  path: z.string(),
  line: z.number().int().min(1),
  column: z.number().int().min(1),
  code: z.string(),
  message: z.string(),
  severity: z.enum(["error", "warning"]),
});

/** `hidden`: an error of configuration, options or syntax hides the rest; `diagnostics` then holds only such errors. */
export const viewAnswer = z.object({
  status: z.enum(["checked", "hidden", "absent"]),
  reason: z.string().optional(),
  diagnostics: z.array(diagnostic),
});

const projectAnswer = z.object({
  config: z.string(),
  compiler: z.string(),
  /** Absent when it was among `knownBase`. */
  base: viewAnswer.optional(),
  /** False while a change that the agent made during the base run may still come to light. */
  baseFinal: z.boolean(),
  shadow: viewAnswer,
});

const nativeProject = z.object({
  config: z.string(),
  program: z.string(),
  version: z.string(),
  /** It references other projects, or another one references it. */
  references: z.boolean(),
  referenced: z.boolean(),
  /** The first of the files that the configuration names, and those of them that the change set touches: relative. */
  first: z.string().optional(),
  edited: z.array(z.string()),
});

export const workerAnswer = z.object({
  id: z.number(),
  projects: z.array(projectAnswer),
  /** Projects of a compiler that is a program of its own (TypeScript 7): left to the outer side. */
  native: z.array(nativeProject),
  /** Names the content of changed files that reach beyond their importers: scripts, global and module augmentations. */
  globalInputs: z.string(),
  /** The answer to `parse`. */
  broken: z.array(z.string()),
  notes: z.array(z.string()),
  /** Set instead of an answer when the worker failed in a way that it could still tell. */
  failure: z.string().optional(),
});

export type ViewAnswer = Readonly<z.infer<typeof viewAnswer>>;
export type ProjectAnswer = Readonly<z.infer<typeof projectAnswer>>;
export type NativeProject = Readonly<z.infer<typeof nativeProject>>;
export type WorkerAnswer = Readonly<z.infer<typeof workerAnswer>>;
