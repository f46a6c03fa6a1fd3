import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ReviewMemory, type RememberedReview } from "../../src/vscode/changes/reviewMemory.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

const id = "t20260101-120000-abcdef";
const review: RememberedReview = {
  ticked: [["a.txt", true]],
  rejected: ["h1"],
  sides: [["b.txt", "theirs"]],
  edits: [["a.txt", "bWluZQ=="]],
  merges: [["b.txt", { content: "bWluZQ==", mine: null }]],
  comments: [{ path: "a.txt", side: "shadow", line: 3, text: "Why?", sent: false }],
};

describe("what a review remembers over a reload", () => {
  const newFolder = temporaryFolders();
  const errors: unknown[] = [];
  afterEach(() => errors.splice(0));
  const memoryIn = (folder: string | undefined): ReviewMemory =>
    new ReviewMemory(folder, (error) => errors.push(error));

  it("is there again, and gone when it is forgotten", () => {
    const folder = newFolder();
    const memory = memoryIn(folder);
    memory.keep(id, () => review);
    memory.dispose();
    assert.deepEqual(memoryIn(folder).read(id), review);
    memoryIn(folder).forget(id);
    assert.equal(memoryIn(folder).read(id), undefined);
    assert.deepEqual(errors, []);
  });

  it("is nothing where it cannot be read, and without a folder", () => {
    const folder = newFolder();
    mkdirSync(path.join(folder, "reviews"));
    writeFileSync(path.join(folder, "reviews", `${id}.json`), '{"ticked":1}');
    assert.equal(memoryIn(folder).read(id), undefined);
    assert.equal(memoryIn(folder).read("../../etc/passwd"), undefined);
    assert.equal(memoryIn(undefined).read(id), undefined);
  });

  it("that the disk refuses is told of, and ends nothing else", () => {
    const folder = newFolder();
    // A file stands where the folder is to be.
    writeFileSync(path.join(folder, "reviews"), "");
    const memory = memoryIn(folder);
    memory.keep(id, () => review);
    assert.doesNotThrow(() => memory.dispose());
    assert.ok(errors.length > 0);
    assert.doesNotThrow(() => memory.forget(id));
  });

  it("is kept for the newest fifty alone", () => {
    const folder = newFolder();
    const memory = memoryIn(folder);
    for (let n = 10; n < 65; n++) memory.keep(`t20260101-1200${n}-abcdef`, () => review);
    memory.dispose();
    assert.equal(readdirSync(path.join(folder, "reviews")).length, 50);
    assert.ok(!existsSync(path.join(folder, "reviews", "t20260101-120010-abcdef.json")));
  });
});
