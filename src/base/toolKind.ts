/** What a tool call does, in the words of the Agent Client Protocol; `agent` is a call that starts another agent. */
export const toolKinds = [
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
  "think",
  "fetch",
  "agent",
  "other",
] as const;
export type ToolKind = (typeof toolKinds)[number];

/** The kind that a name stands for; a name that is not known is `other`. */
export function toolKindOf(name: string): ToolKind {
  return toolKinds.find((kind) => kind === name) ?? "other";
}
