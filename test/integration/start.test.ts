import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { root } from "../support/repository.ts";

/** `npm start -- --headless`, as a newcomer runs it. */
describe("npm start", () => {
  let output: string;
  let temporary: string;

  before(async function () {
    this.timeout(300_000);
    temporary = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-start-"));
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [path.join(root, ".config", "start.mjs"), "--headless"],
      { env: { ...process.env, TMPDIR: temporary }, maxBuffer: 16 * 1024 * 1024 },
    );
    output = stdout + stderr;
  });
  after(() => fs.rmSync(temporary, { recursive: true, force: true }));

  const shown: Readonly<Record<string, RegExp>> = {
    "the agent at work": /• Rename src\/catalogue\/productList\.ts to catalogue\.ts/,
    "a failing test run": / ○ failed · Run npm test\n/,
    "the held call": /■ └─ held \(default\.unmatched\) · POST hooks\.chat\.example/,
    "an edit": /change +modified src\/orders\/orderBook\.ts/,
    "the rename": /renamed +src\/catalogue\/productList\.ts → src\/catalogue\/catalogue\.ts/,
    "ignored output apart": /ignored +added +build\/cart\/coupon\.js/,
    "the error that the agent made": /\+ src\/checkout\/receipt\.ts:16:22 TS2554/,
    "the error that it fixed": /- src\/orders\/orderBook\.ts:22:11 TS2322/,
    "that the files are untouched": /untouched: git status has nothing to say/,
  };
  for (const [what, pattern] of Object.entries(shown))
    it(`shows ${what}`, () => assert.match(output, pattern));

  it("never shows the real value of the key", () => {
    assert.match(output, /SHOP_/);
    assert.doesNotMatch(output, /sk_test_FAKE/);
  });

  it("leaves nothing behind", () => {
    assert.deepEqual(
      fs.readdirSync(temporary).filter((name) => name.startsWith("holdfast-")),
      [],
    );
  });
});
