import assert from "node:assert/strict";
import fc from "fast-check";
import { hiddenCount, visibleLine, visibleParts } from "../../src/base/visibleText.ts";

describe("visible text", () => {
  const check = (name: string, text: string, line: string, count: number): void => {
    it(name, () => {
      assert.equal(visibleLine(text), line);
      assert.equal(hiddenCount(text), count);
    });
  };
  check("leaves plain text alone", "POST /a?b=ü", "POST /a?b=ü", 0);
  check("spells out a right-to-left override", "a\u202Eb", "a⟨U+202E⟩b", 1);
  check("spells out zero-width characters", "pay\u200Bpal", "pay⟨U+200B⟩pal", 1);
  check(
    "spells out controls but not tab and line feed",
    "a\tb\nc\rd\u0000",
    "a b c⟨U+000D⟩d⟨U+0000⟩",
    2,
  );
  check("takes a line end of either kind for one", "a\r\nb\nc", "a b c", 0);
  check("spells out a carriage return that ends no line", "a\rb\r\nc", "a⟨U+000D⟩b c", 1);
  check("spells out tag characters", "hi\u{E0041}", "hi⟨U+E0041⟩", 1);
  check("spells out a no-break space", "a\u00A0b", "a⟨U+00A0⟩b", 1);
  check("spells out fillers that have no width", "a\u3164b", "a⟨U+3164⟩b", 1);
  check("keeps emoji and combining letters", "e\u0301 🙂", "e\u0301 🙂", 0);
  check("spells out a lone surrogate", "a\uD800b", "a⟨U+D800⟩b", 1);

  it("loses nothing", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        assert.equal(
          visibleParts(text)
            .map((part) => part.text)
            .join(""),
          text,
        );
      }),
    );
  });
});
