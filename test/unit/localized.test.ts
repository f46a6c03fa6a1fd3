import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { readsAsWords, textsBelow } from "../support/localizedText.ts";
import { root } from "../support/repository.ts";

/** Texts that are no prose: names of products and files, examples of input, markup, lines of the log. */
const notProse = [
  /^Claude Code$/,
  /^Gemini CLI$/,
  /^holdfast doctor\.txt$/,
  /^held call X\.http$/,
  /^node agent\.mjs --fast$/,
  /^records=50 calls=20$/,
  /^<!DOCTYPE html>/,
  /^the timeline sent a message of the wrong shape/,
  /^cannot watch /,
  /^choices of a review are not kept: X$/,
  /^the agent's output: X$/,
  /^run `holdfast stop --all` in a terminal$/,
];

describe("texts of the extension", () => {
  const { localized, plain } = textsBelow(path.join(root, "src", "vscode"));

  it("go through the editor's localization", () => {
    const missed = plain
      .filter(({ text }) => readsAsWords(text) && !notProse.some((known) => known.test(text)))
      .map(({ place, text }) => `${place}: ${text}`);
    assert.deepEqual(missed, []);
    assert.ok(localized.length > 100);
  });

  it("are in the bundle that translators begin from: npm run localize", () => {
    const file = path.join(root, "media", "l10n", "bundle.l10n.json");
    const bundle = JSON.parse(fs.readFileSync(file, "utf8")) as Record<string, string>;
    const texts = [...new Set(localized.map(({ text }) => text))].sort();
    assert.deepEqual(Object.keys(bundle), texts);
    assert.deepEqual(Object.values(bundle), texts);
    const { l10n } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")) as {
      l10n: string;
    };
    assert.equal(path.normalize(l10n), path.join("media", "l10n"));
  });
});
