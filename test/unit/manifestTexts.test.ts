import assert from "node:assert/strict";
import { readsAsWords } from "../support/localizedText.ts";
import { manifestTexts, textKey } from "../support/manifestTexts.ts";
import { readRepositoryFile } from "../support/repository.ts";

interface Text {
  readonly place: string;
  readonly text: string;
}

/** Parts of the manifest that the editor never shows. */
const unshown =
  /^(scripts|keywords|dependencies|devDependencies|contributes\.menus|contributes\.keybindings)\b/;
const condition = /\.(when|command|pattern)$/;

function textsOf(value: unknown, place: string): readonly Text[] {
  if (typeof value === "string") return [{ place, text: value }];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    textsOf(inner, place === "" ? name : `${place}.${name}`),
  );
}

describe("texts of the manifest", () => {
  const all = textsOf(JSON.parse(readRepositoryFile("package.json")), "");
  const named = all.flatMap(({ text }) => textKey(text) ?? []);
  const texts = manifestTexts();

  it("have an entry for every key, and no entry is left over", () => {
    assert.deepEqual([...new Set(named)].sort(), Object.keys(texts).sort());
    assert.ok(named.length > 50);
    for (const [key, text] of Object.entries(texts)) assert.notEqual(text.trim(), "", key);
  });

  it("are nowhere written in the manifest itself, where none could translate them", () => {
    const plain = all.filter(
      ({ place, text }) => readsAsWords(text) && !unshown.test(place) && !condition.test(place),
    );
    assert.deepEqual(
      plain.filter(({ place }) => !/^(license|categories\.)/.test(place)),
      [],
    );
    const titles = all.filter(({ place }) => /\.commands\.\d+\.title$/.test(place));
    assert.ok(titles.every(({ text }) => textKey(text) !== undefined));
  });
});
