import assert from "node:assert/strict";
import { readRepositoryFile } from "../support/repository.ts";

describe("changelog", () => {
  const text = readRepositoryFile("CHANGELOG.md");
  const headings = [...text.matchAll(/^## (.+)$/gm)].map((match) => match[1] ?? "");

  it("begins with what is not released yet", () => {
    assert.equal(headings[0], "Unreleased");
  });

  it("names versions and their dates below", () => {
    for (const heading of headings.slice(1))
      assert.match(heading, /^\d+\.\d+\.\d+ \(\d{4}-\d{2}-\d{2}\)$/);
  });

  it("is made of sentences", () => {
    const items = text.split(/^- /m).slice(1);
    for (const item of items) assert.match(item.split("\n\n")[0]?.trim() ?? "", /\.$/);
  });
});
