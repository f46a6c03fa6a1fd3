import assert from "node:assert/strict";
import { readRepositoryFile, repositoryFiles } from "../support/repository.ts";

const longest = 450;

/** The user's card, then what every repository has. */
const topLevel = new Set([
  ...["package.json", "tsconfig.json", "src", "webview", "native", "test", "media"],
  ...[
    "package-lock.json",
    "package.nls.json",
    "README.md",
    "CHANGELOG.md",
    "ARCHITECTURE.md",
    "LICENSE",
    "docs",
  ],
]);

describe("size and place of files", () => {
  const files = repositoryFiles();

  it(`no source file has more than ${longest} lines`, () => {
    const long = files
      .filter((file) => /\.(ts|mjs|cjs|c|h|css)$/.test(file))
      .map((file) => ({ file, lines: readRepositoryFile(file).split("\n").length - 1 }))
      .filter(({ lines }) => lines > longest);
    assert.deepEqual(long, []);
  });

  it("the top level has only what belongs there", () => {
    const entries = new Set(files.map((file) => file.split("/")[0] ?? ""));
    const strangers = [...entries].filter((name) => !name.startsWith(".") && !topLevel.has(name));
    assert.deepEqual(strangers, []);
  });

  it("file names are whole words in camel case", () => {
    const odd = files
      .filter((file) =>
        /^(src|webview|test\/(unit|integration|attack|crash|host|support))\//.test(file),
      )
      .map((file) => file.split("/").pop() ?? "")
      .filter((name) => /\.ts$/.test(name) && !/^[a-z][A-Za-z0-9]*(\.test|\.d)?\.ts$/.test(name));
    assert.deepEqual(odd, []);
  });

  it("names say what a thing is", () => {
    const vague = files.filter((file) =>
      /^(src|webview)\/.*(Manager|Helper|Util|Utils|Service|V2)\.ts$/.test(file),
    );
    assert.deepEqual(vague, []);
  });
});
