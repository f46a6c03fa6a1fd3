import type { Entry } from "../../src/core/journal/entry.ts";

/** The calls of a journal as `tool status`, below each the calls of its sub-agent, indented. */
export function callLines(entries: readonly Entry[]): string[] {
  const finished = entries.filter((entry) => entry.kind === "tool.finished");
  const started = entries.filter((entry) => entry.kind === "tool.started");
  const below = (parent: number | undefined, indent: string): string[] =>
    started
      .filter((entry) => entry.parent === parent)
      .flatMap(({ seq, call, tool }) => {
        const end = finished.find((entry) => entry.call === call);
        return [`${indent}${tool} ${end?.status ?? "unfinished"}`, ...below(seq, `${indent}  `)];
      });
  return below(undefined, "");
}
