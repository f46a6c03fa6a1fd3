import assert from "node:assert/strict";
import { verbs } from "../../src/cli/verbs.ts";
import { readRepositoryFile, repositoryFiles } from "../support/repository.ts";

/** Documents whose commands somebody runs to see whether we say the truth. */
const documents = ["docs/questions.md", "docs/threat-model.md", "docs/troubleshooting.md"];

const { scripts } = JSON.parse(readRepositoryFile("package.json")) as {
  scripts: Readonly<Record<string, string>>;
};
const files = new Set(repositoryFiles());

/** Commands in `inline code`, one each. */
function commandsIn(text: string): readonly string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? "");
}

/** What is wrong with a command; undefined when it could be run, or is none. */
function problemOf(command: string): string | undefined {
  const words = command.split(/\s+/);
  const [program = "", first = "", second = ""] = words;
  if (program === "npm" && first === "run") return second in scripts ? undefined : "no such script";
  if (program === "npm" && first === "test")
    return "test" in scripts ? undefined : "no such script";
  if (program === "npx") {
    const named = words.filter((word) => /^(test|\.config)\//.test(word));
    const missing = named.filter((file) => !files.has(file));
    return missing.length === 0 && named.length > 0 ? undefined : `missing: ${missing.join(", ")}`;
  }
  if (program === "holdfast") {
    const verb = [`${first} ${second}`, first].find((name) => Object.hasOwn(verbs, name));
    if (verb === undefined) return "no such verb";
    const own = words.includes("--") ? words.slice(0, words.indexOf("--")) : words;
    const options = own.filter((word) => word.startsWith("--")).map((word) => word.slice(2));
    const known = { workspace: "", json: "", help: "", ...verbs[verb]?.options };
    const unknown = options.filter((name) => !(name in known));
    return unknown.length === 0 ? undefined : `no such option: ${unknown.join(", ")}`;
  }
  return /^(test|src|docs)\/.*\.\w+$/.test(command) && !files.has(command)
    ? "no such file"
    : undefined;
}

describe("documents that name their proof", () => {
  it("can tell a command that is not there", () => {
    for (const command of [
      "npm run bench:nothing",
      "npx mocha --config .config/mocharc.json test/unit/nothing.test.ts",
      "holdfast vanish",
      "holdfast stop --everything",
      "src/core/nothing.ts",
    ])
      assert.notEqual(problemOf(command), undefined, command);
  });

  for (const document of documents)
    it(`${document} names only commands and files that exist`, () => {
      const commands = commandsIn(readRepositoryFile(document));
      assert.ok(commands.length > 5);
      const wrong = commands.flatMap((command) => {
        const problem = problemOf(command);
        return problem === undefined ? [] : [`${command}: ${problem}`];
      });
      assert.deepEqual(wrong, []);
    });

  it("each of the six questions has an answer, its proof, and what is not covered", () => {
    const parts = readRepositoryFile("docs/questions.md").split(/^## /m).slice(1);
    assert.equal(parts.length, 6);
    for (const [index, part] of parts.entries()) {
      assert.match(part, new RegExp(`^${index + 1}\\. .*\\?\n`));
      assert.match(part, /\n- `(npm|npx|holdfast) /);
      assert.match(part, /\n\*\*Not covered:\*\* \S/);
    }
  });

  it("the number of attacks is the one that was run", () => {
    const all = /\| all +\| (\d+) /.exec(readRepositoryFile("docs/attacks.md"))?.[1] ?? "none";
    assert.match(readRepositoryFile("docs/questions.md"), new RegExp(`each of ${all} attacks`));
  });
});
