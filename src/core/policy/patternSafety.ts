/** Why a condition does not compile; `offset` counts characters of the expression from 0. */
export interface ConditionProblem {
  readonly message: string;
  readonly offset: number;
}

/**
 * What is wrong with the regular expressions of a parsed CEL expression. CEL promises linear time; the engine below runs
 * on backtracking, where some expressions take hours on a text that the agent chooses. So a workspace, which nobody has
 * read, may use none; the user's must be written down, not taken from the call, and must not repeat a repetition.
 */
export function patternProblem(ast: unknown, trusted: boolean): ConditionProblem | undefined {
  for (const node of nodesOf(ast)) {
    if ((node.op !== "rcall" && node.op !== "call") || !Array.isArray(node.args)) continue;
    const [name, ...rest] = node.args as readonly unknown[];
    if (name !== "matches") continue;
    const offset = node.start;
    if (!trusted) return { message: "matches() is for the user's own policy only", offset };
    const given = rest.at(-1);
    const pattern = isNode(Array.isArray(given) ? given.at(-1) : given);
    if (pattern?.op !== "value" || typeof pattern.args !== "string") {
      return { message: "matches() takes a pattern that is written down", offset };
    }
    if (repeatsRepetition(pattern.args)) {
      return { message: "this pattern repeats a repetition: it can run for hours", offset };
    }
  }
  return undefined;
}

/** `(a+)+`, `(a|b*)*`, `(a?){9}`: a group that holds a quantifier or a choice and is itself repeated. */
export function repeatsRepetition(pattern: string): boolean {
  const plain = pattern.replaceAll(/\\./g, "x").replaceAll(/\[[^\]]*\]/g, "x");
  const groups: boolean[] = [];
  for (let at = 0; at < plain.length; at++) {
    const character = plain[at] ?? "";
    if (character === "(") groups.push(false);
    else if (character === ")") {
      const inside = groups.pop() ?? false;
      if (inside && /[*+{]/.test(plain[at + 1] ?? "")) return true;
      if (inside && groups.length > 0) groups[groups.length - 1] = true;
    } else if (/[*+{|]/.test(character) || (character === "?" && plain[at - 1] !== "(")) {
      if (groups.length > 0) groups[groups.length - 1] = true;
    }
  }
  return false;
}

interface Node {
  readonly op: string;
  readonly args: unknown;
  readonly start: number;
}

/** Every node of the tree, in the order of the text. */
function* nodesOf(value: unknown): Generator<Node> {
  const node = isNode(value);
  if (node !== undefined) yield node;
  const below = node === undefined ? value : node.args;
  if (!Array.isArray(below)) {
    if (node !== undefined && typeof below === "object") yield* nodesOf(below);
    return;
  }
  for (const one of below as readonly unknown[]) yield* nodesOf(one);
}

function isNode(value: unknown): Node | undefined {
  if (typeof value !== "object" || value === null || !("op" in value) || !("args" in value)) {
    return undefined;
  }
  const start = "start" in value && typeof value.start === "number" ? value.start : 0;
  return { op: String(value.op), args: value.args, start };
}
