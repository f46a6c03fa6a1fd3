import assert from "node:assert/strict";
import { commandWords, limitsOf } from "../../src/vscode/start/commandWords.ts";

describe("words of a command line", () => {
  const check = (line: string, words: readonly string[]): void => {
    it(line, () => assert.deepEqual(commandWords(line), words));
  };
  check("node agent.mjs  --fast", ["node", "agent.mjs", "--fast"]);
  check(`sh -c "npm test && echo 'done'"`, ["sh", "-c", "npm test && echo 'done'"]);
  check(`a 'b "c"' d`, ["a", 'b "c"', "d"]);
  check(`a\\ b c`, ["a b", "c"]);
  check(`"say \\"hi\\""`, ['say "hi"']);
  check(`a "" b`, ["a", "", "b"]);
  check(`--name="x y"`, ["--name=x y"]);
  check("   ", []);

  it("refuses a quote that is not closed", () => {
    assert.throws(() => commandWords(`echo "a`), /not closed/);
  });

  it("reads limits", () => {
    assert.deepEqual(limitsOf("records=50 hosts=a.example,b.example"), {
      records: "50",
      hosts: "a.example,b.example",
    });
    assert.throws(() => limitsOf("many"), /NAME=VALUE/);
  });
});
