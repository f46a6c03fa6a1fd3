import type { BlastRadius } from "../journal/entry.ts";
import { matchesHost } from "./glob.ts";
import type { CallFacts } from "./judge.ts";
import type { Floor } from "./floor.ts";
import type { Meaning } from "./meaning.ts";
import type { TaskScope } from "./taskScope.ts";

/** What a transaction has done so far, by the unit of a limit; see {@link TaskScope.limits}. */
export type Spent = Readonly<Record<string, number>>;

/** How much of each limit one call takes. Reads take none. */
export function spentBy(
  facts: CallFacts,
  meaning: Pick<Meaning, "traffic" | "blastRadius">,
): Spent {
  if (meaning.traffic !== "change") return {};
  const radius = meaning.blastRadius ?? { count: 1, unit: "records" };
  return { [radius.unit]: radius.count, calls: 1, bytes: facts.bodyBytes ?? 0 };
}

/** The sum of what was done before and what one more call does. */
export function addSpent(before: Spent, more: Spent): Spent {
  const sum: Record<string, number> = { ...before };
  for (const [unit, count] of Object.entries(more)) sum[unit] = (sum[unit] ?? 0) + count;
  return sum;
}

/** The blast radius of a call with the limit of the task for its unit. */
export function withLimit(radius: BlastRadius, task: TaskScope): BlastRadius {
  const limit = task.limits[radius.unit];
  return typeof limit === "number" ? { ...radius, limit } : radius;
}

/**
 * Holds a call that goes beyond what the task allows: more things than the limit of their unit, together with what the
 * transaction has done before (else a batch of 214 passes as five of 43), or a host that the task does not name.
 */
export function limitFloor(
  facts: CallFacts,
  meaning: Meaning,
  task: TaskScope,
  before: Spent,
): Floor | undefined {
  const hosts = task.limits["hosts"];
  if (Array.isArray(hosts) && meaning.traffic !== "model") {
    const named = (hosts as readonly string[]).some((one) => matchesHost(one, facts.host));
    if (!named) return floor(`the task is limited to other hosts: ${hosts.join(", ")}`);
  }
  for (const [unit, count] of Object.entries(spentBy(facts, meaning))) {
    const limit = task.limits[unit];
    const earlier = before[unit] ?? 0;
    if (typeof limit !== "number" || earlier + count <= limit) continue;
    const after = earlier === 0 ? "" : ` after ${earlier} earlier in this transaction`;
    return floor(`it is ${amount(count, unit)}${after}; the task allows ${limit}`);
  }
  return undefined;
}

function floor(reason: string): Floor {
  return { id: "limit", verdict: "hold", reason };
}

/** "214 records", "1 record". */
export function amount(count: number, unit: string): string {
  return `${count} ${count === 1 ? unit.replace(/s$/, "") : unit}`;
}
