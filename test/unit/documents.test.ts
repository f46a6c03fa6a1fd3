import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { readRepositoryFile, repositoryFiles, root } from "../support/repository.ts";

describe("documents", () => {
  const documents = repositoryFiles().filter(
    (file) => file.endsWith(".md") && !/^test\/(samples|data|fixtures)\//.test(file),
  );

  it("link to what is there", () => {
    const broken = documents.flatMap((file) =>
      [...readRepositoryFile(file).matchAll(/\]\(([^)\s#]+)(#[^)]*)?\)/g)]
        .map((match) => match[1] ?? "")
        .filter((link) => !/^\w+:/.test(link))
        .filter((link) => !fs.existsSync(path.resolve(root, path.dirname(file), link)))
        .map((link) => `${file} → ${link}`),
    );
    assert.deepEqual(broken, []);
  });

  it("the readme names the two commands, and only scripts that exist", () => {
    const readme = readRepositoryFile("README.md");
    const { scripts } = JSON.parse(readRepositoryFile("package.json")) as {
      scripts: Record<string, string>;
    };
    assert.match(readme, /^npm start\b/m);
    assert.match(readme, /^npm test\b/m);
    for (const [, name = ""] of readme.matchAll(/npm run ([\w:-]+)/g))
      if (!readme.includes(`holdfast run -- npm run ${name}`)) assert.ok(name in scripts, name);
  });

  it("the architecture stays an overview", () => {
    assert.ok(readRepositoryFile("ARCHITECTURE.md").split("\n").length <= 250);
  });
});
