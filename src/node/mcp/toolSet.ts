import * as z from "zod";
import { toolHash, type Pin } from "./toolPins.ts";

const toolList = z.looseObject({
  tools: z.array(
    z.looseObject({
      name: z.string(),
      annotations: z.looseObject({ destructiveHint: z.unknown().optional() }).optional(),
    }),
  ),
  nextCursor: z.string().optional(),
});
type Tool = z.output<typeof toolList>["tools"][number];

/** The tools of one answer to `tools/list`, and where its next page is; undefined when it is no such answer. */
export function toolsIn(
  result: unknown,
): { readonly tools: readonly Tool[]; readonly nextCursor?: string } | undefined {
  const parsed = toolList.safeParse(result);
  if (!parsed.success) return undefined;
  const { tools, nextCursor } = parsed.data;
  return { tools, ...(nextCursor === undefined ? {} : { nextCursor }) };
}

/**
 * The tools of one session: what the gateway itself was told, whole, and whatever else the agent was shown. A server
 * that shows the agent what it does not show us has a tool set of its own, which no earlier trust covers.
 */
export class ToolSet {
  /** Hashes by name: a server may list two tools of one name. */
  #listed: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  readonly #shown = new Map<string, Set<string>>();
  readonly #destructive = new Set<string>();
  #current = false;

  /** False while the set must be asked for (again) before it can be trusted. */
  get current(): boolean {
    return this.#current;
  }

  /** The server says that its tools have changed. */
  outdate(): void {
    this.#current = false;
  }

  /** Everything that the server offers, as asked by the gateway. */
  replace(tools: readonly Tool[]): void {
    const listed = new Map<string, Set<string>>();
    for (const tool of tools)
      listed.set(tool.name, (listed.get(tool.name) ?? new Set()).add(this.#note(tool)));
    this.#listed = listed;
    for (const [name, hashes] of listed) {
      const shown = this.#shown.get(name);
      for (const hash of hashes) shown?.delete(hash);
      if (shown?.size === 0) this.#shown.delete(name);
    }
    this.#current = true;
  }

  /** A page that the agent was given. */
  show(tools: readonly Tool[]): void {
    for (const tool of tools) {
      const hash = this.#note(tool);
      if (this.#listed.get(tool.name)?.has(hash) === true) continue;
      this.#shown.set(tool.name, (this.#shown.get(tool.name) ?? new Set()).add(hash));
      this.#current = false;
    }
  }

  /** True when the server ever said so of a tool of that name. */
  isDestructive(tool: string): boolean {
    return this.#destructive.has(tool);
  }

  pin(definition: string): Pin {
    const tools = new Map([...this.#listed].map(([name, hashes]) => [name, new Set(hashes)]));
    for (const [name, hashes] of this.#shown) {
      const all = tools.get(name) ?? new Set<string>();
      for (const hash of hashes) all.add(hash);
      tools.set(name, all);
    }
    const lists = [...tools].map(([name, hashes]) => [name, [...hashes].sort()]);
    return { definition, tools: Object.fromEntries(lists) as Pin["tools"] };
  }

  #note(tool: Tool): string {
    if (tool.annotations?.destructiveHint === true) this.#destructive.add(tool.name);
    return toolHash(tool);
  }
}
