import * as z from "zod";
import { messageOf } from "../../base/errors.ts";
import { repeatsRepetition } from "../policy/patternSafety.ts";
import { namedMatchers } from "./tools/problemMatcher.ts";

/**
 * What a person says about checks: `$XDG_CONFIG_HOME/holdfast/checks.json`, and the editor's settings of the same names. A
 * workspace cannot say any of it.
 */

/** Names of the checks that come with Holdfast. */
export const builtInChecks = ["typescript", "cargo", "go", "pyright", "mypy", "eslint"] as const;

const group = z.int().min(0).optional();

/** A regular expression that can be read and does not run for hours on a hostile line. */
const regexp = z.string().superRefine((pattern, context) => {
  try {
    new RegExp(pattern);
  } catch (error) {
    context.addIssue({ code: "custom", message: messageOf(error) });
    return;
  }
  if (repeatsRepetition(pattern)) {
    const message = "this pattern repeats a repetition: it can run for hours";
    context.addIssue({ code: "custom", message });
  }
});

/** As in an editor's tasks; members that say nothing about diagnostics (`kind`, `endLine`, …) are taken and not used. */
const pattern = z.looseObject({
  regexp,
  file: group,
  location: group,
  line: group,
  column: group,
  severity: group,
  code: group,
  message: group,
  loop: z.boolean().optional(),
});

const matcher = z.looseObject({
  pattern: z.union([pattern, z.array(pattern).min(1)]),
  severity: z.enum(["error", "warning", "info"]).optional(),
  fileLocation: z
    .union([z.enum(["absolute", "relative", "autoDetect"]), z.tuple([z.string(), z.string()])])
    .optional(),
});

const known = Object.keys(namedMatchers);

const commandCheck = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z][\w-]*$/, "a name has letters, digits, dashes and underscores")
    .refine((name) => !(builtInChecks as readonly string[]).includes(name) && name !== "all", {
      error: "a check that comes with Holdfast has this name",
    }),
  command: z.string().min(1),
  problemMatcher: z.union([
    z.string().refine((name) => known.includes(name), {
      error: `not a known problem matcher: one of ${known.join(", ")}, or a matcher of your own`,
    }),
    matcher,
  ]),
});

const limits = z.strictObject({
  seconds: z.int().min(1).max(86_400).optional(),
  memoryMb: z.int().min(64).max(1_048_576).optional(),
});

export const checkSettings = z.strictObject({
  /** Checks that are off. */
  disabled: z.array(z.string()).optional(),
  /** Own checks. */
  commands: z.array(commandCheck).optional(),
  /** Bounds of each run of each check. */
  limits: limits.optional(),
  /** Bounds of one check, by its name. */
  limitsOf: z.record(z.string(), limits).optional(),
  /** A commit of introduced errors, or of what could not be checked, is refused. */
  commitOnlyWhenClean: z.boolean().optional(),
});

/** The file: the settings and its version. */
export const checkSettingsFile = checkSettings.extend({ version: z.literal(1) });

export type CheckSettings = z.output<typeof checkSettings>;
export type CheckLimitSettings = z.output<typeof limits>;

/** Names that the settings turn off or bound, and that no check has. */
export function unknownChecks(settings: CheckSettings): readonly string[] {
  const own = (settings.commands ?? []).map(({ name }) => name);
  const checks = new Set<string>([...builtInChecks, ...own]);
  const named = [...(settings.disabled ?? []), ...Object.keys(settings.limitsOf ?? {})];
  return named.filter((name) => !checks.has(name));
}

/** Several sources as one: lists are joined, the later bound counts, and what one of them demands is demanded. */
export function mergedCheckSettings(all: readonly CheckSettings[]): CheckSettings {
  const commands = new Map(all.flatMap((one) => one.commands ?? []).map((one) => [one.name, one]));
  return {
    disabled: [...new Set(all.flatMap((one) => one.disabled ?? []))],
    commands: [...commands.values()],
    limits: Object.assign({}, ...all.map((one) => one.limits)) as CheckLimitSettings,
    limitsOf: Object.assign({}, ...all.map((one) => one.limitsOf)) as Record<
      string,
      CheckLimitSettings
    >,
    commitOnlyWhenClean: all.some((one) => one.commitOnlyWhenClean === true),
  };
}
