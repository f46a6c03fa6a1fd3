import assert from "node:assert/strict";
import path from "node:path";
import { readRepositoryFile, repositoryFiles, root } from "../support/repository.ts";

/** Put together here so that this file does not find itself. */
const registries = [
  ["registry", "npmjs", "org"],
  ["registry", "yarnpkg", "com"],
  ["deb", "debian", "org"],
  ["archive", "ubuntu", "com"],
].map((parts) => parts.join("."));

/** What is known about publishing to a registry names it: product data, and the tests and words about that. */
const aboutRegistries =
  /^(src\/core\/policy\/|test\/(unit|integration|attack|fixtures|support)\/|docs\/)/;

describe("repository text", () => {
  const texts = repositoryFiles()
    .filter((file) => !/\.(png|ico|ttf|wasm|gz|zip|vsix)$/.test(file))
    .map((file) => ({ file, text: readRepositoryFile(file) }));
  const holding = (needle: string): string[] =>
    texts.filter(({ text }) => text.includes(needle)).map(({ file }) => file);

  /** Files with an absolute path below `folder`; the same words further down another path are something else. */
  const holdingPath = (folder: string): string[] => {
    const pattern = new RegExp(`(?<![\\w.)}/-])${folder.replaceAll(/[^\w/]/g, String.raw`\$&`)}/`);
    return texts.filter(({ text }) => pattern.test(text)).map(({ file }) => file);
  };

  it("names no folder of the machine it was written on", () => {
    assert.deepEqual(holdingPath(root), []);
    // The folder around it tells too, unless it is one that every machine has.
    const around = path.dirname(root);
    if (!["/", "/tmp", "/home", "/root", "/srv", "/opt", "/var/tmp", "/usr/src"].includes(around))
      assert.deepEqual(holdingPath(around), []);
  });

  for (const host of registries)
    it(`needs no registry by name: ${host}`, () => {
      assert.deepEqual(
        holding(host).filter((file) => !aboutRegistries.test(file)),
        [],
      );
    });

  it("locks versions, not where they came from", () => {
    assert.doesNotMatch(readRepositoryFile("package-lock.json"), /"resolved":/);
  });
});
