import assert from "node:assert/strict";
import { commentPrompt, type ReviewComment } from "../../src/vscode/changes/commentPrompt.ts";

const comment = (
  path: string,
  line: number,
  text: string,
  more?: Partial<ReviewComment>,
): ReviewComment => ({
  path,
  side: "shadow",
  line,
  text,
  sent: false,
  ...more,
});

describe("comments as a prompt", () => {
  it("stand by file and line, each with the line it is about", () => {
    const comments = [
      comment("src/b.ts", 0, "Why?"),
      comment("src/a.ts", 11, "Rename it.\nAnd say so in the docs.\n"),
      comment("src/a.ts", 2, "Keep this.", { side: "base" }),
    ];
    const lines: Readonly<Record<number, string>> = { 11: "  const x = 1;", 2: "const kept = 1;" };
    assert.equal(
      commentPrompt(comments, ({ line }) => lines[line]),
      `Please look at 3 review comments on your changes.

1. src/a.ts, line 3 before your change:
   > const kept = 1;
   Keep this.

2. src/a.ts, line 12:
   > const x = 1;
   Rename it.
   And say so in the docs.

3. src/b.ts, line 1:
   Why?`,
    );
  });
});
