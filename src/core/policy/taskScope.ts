/** The declared task as conditions and limits see it. */
export interface TaskScope {
  readonly text: string;
  /** `records`, `refs`, `recipients`, `calls`, `bytes`: numbers; `hosts`: patterns; anything else as it was given. */
  readonly limits: Readonly<Record<string, number | string | readonly string[]>>;
}

/** What a transaction was begun with: `--task TEXT` and `--limit KEY=VALUE`. */
export interface DeclaredTask {
  readonly text?: string;
  readonly limits?: Readonly<Record<string, string>>;
}

type Limits = Readonly<Record<string, number | string | readonly string[]>>;

/** Lists in limits, written with commas on the command line. */
const listLimits = new Set(["hosts"]);

/** Judged by ourselves. */
const builtIn = new Set(["records", "refs", "recipients", "calls", "bytes", "hosts"]);

/** Limits that nothing would judge: neither built in nor named by a condition (`task.limits.NAME`) of these policies. */
export function unjudgedLimits(
  names: readonly string[],
  policies: readonly (string | undefined)[],
): readonly string[] {
  const text = policies.join("\n");
  const named = new Set(
    [...text.matchAll(/task\.limits(?:\.(\w+)|\[\\?["']([^"'\\]+)\\?["']\])/g)].map(
      ([, plain, quoted]) => plain ?? quoted ?? "",
    ),
  );
  return names.filter((name) => !builtIn.has(name) && !named.has(name));
}

/**
 * Reads the limits of a task: whole numbers become numbers, `hosts` a list. Limits of a policy apply where
 * the task sets none; those of the workspace can only lower a number or shorten a list.
 */
export function taskScope(declared: DeclaredTask, user: Limits, workspace: Limits): TaskScope {
  const own = Object.entries(declared.limits ?? {}).map(
    ([name, text]) => [name, parseLimit(name, text)] as const,
  );
  const limits: Record<string, number | string | readonly string[]> = {
    ...user,
    ...Object.fromEntries(own),
  };
  for (const [name, wanted] of Object.entries(workspace)) {
    limits[name] = narrower(limits[name], wanted);
  }
  return { text: declared.text ?? "", limits };
}

function parseLimit(name: string, text: string): number | string | readonly string[] {
  if (listLimits.has(name)) {
    return text
      .split(",")
      .map((one) => one.trim())
      .filter((one) => one !== "");
  }
  return /^\d{1,15}$/.test(text.trim()) ? Number(text) : text;
}

function narrower(
  set: number | string | readonly string[] | undefined,
  wanted: number | string | readonly string[],
): number | string | readonly string[] {
  if (set === undefined) return wanted;
  if (typeof set === "number" && typeof wanted === "number") return Math.min(set, wanted);
  if (Array.isArray(set) && Array.isArray(wanted)) {
    return (set as readonly string[]).filter((one) => wanted.includes(one));
  }
  return set;
}
