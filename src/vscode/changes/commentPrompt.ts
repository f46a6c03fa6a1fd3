import { plural } from "../../base/words.ts";

/** What a reviewer has written to a line of a change. */
export interface ReviewComment {
  readonly path: string;
  readonly side: "base" | "shadow";
  /** From 0. */
  readonly line: number;
  readonly text: string;
  /** The agent was given it. */
  readonly sent: boolean;
}

/**
 * Comments as a prompt for the agent that made the change; `lineText` gives the line that one stands at, where it is known.
 * Comments of one file stand together, in order of line.
 */
export function commentPrompt(
  comments: readonly ReviewComment[],
  lineText: (comment: ReviewComment) => string | undefined,
): string {
  const ordered = [...comments].sort(
    (left, right) =>
      (left.path < right.path ? -1 : left.path > right.path ? 1 : 0) || left.line - right.line,
  );
  const parts = ordered.map((comment, at) => {
    const where = `${comment.path}, line ${comment.line + 1}${comment.side === "base" ? " before your change" : ""}`;
    const line = lineText(comment)?.trim() ?? "";
    return [
      `${at + 1}. ${where}:`,
      ...(line === "" ? [] : [`   > ${line}`]),
      ...comment.text
        .trimEnd()
        .split(/\r?\n/)
        .map((one) => `   ${one}`),
    ].join("\n");
  });
  return [
    `Please look at ${plural(comments.length, "review comment")} on your changes.`,
    ...parts,
  ].join("\n\n");
}
