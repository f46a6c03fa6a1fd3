import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { makeSample } from "../samples/makeSample.mjs";

const agent = fileURLToPath(new URL("../samples/scriptedAgent.mjs", import.meta.url));

/** Type errors of the sample, one line each. */
function typeErrors(folder: string): string[] {
  try {
    execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "--noEmit", "-p", "."], {
      cwd: folder,
      encoding: "utf8",
    });
    return [];
  } catch (error) {
    const { stdout } = error as { stdout: string };
    return stdout.split("\n").filter((line) => line.startsWith("src/"));
  }
}

describe("sample project and scripted agent", () => {
  let folder: string;
  const git = (...args: string[]): string =>
    execFileSync("git", args, { cwd: folder, encoding: "utf8" });

  before(() => {
    folder = makeSample(fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-sample-")));
  });
  after(() => fs.rmSync(folder, { recursive: true }));

  it("has a history of its own, an ignored build and a fake key, and one type error", () => {
    assert.equal(git("log", "--format=%s").trim().split("\n").length, 4);
    assert.equal(git("status", "--short"), "");
    assert.match(git("status", "--short", "--ignored"), /!! \.env\n!! build\/\n!! node_modules\//);
    assert.match(fs.readFileSync(path.join(folder, ".env"), "utf8"), /SHOP_API_KEY=sk_test_FAKE/);
    assert.deepEqual(typeErrors(folder), [
      "src/orders/orderBook.ts(22,11): error TS2322: Type 'Order | undefined' is not assignable to type 'Order'.",
    ]);
  });

  it("is changed by the agent: edits, a rename, new files, one error fixed and one made", () => {
    execFileSync(process.execPath, [agent, "--post", "http://127.0.0.1:9/"], { cwd: folder });
    assert.deepEqual(git("status", "--short").trimEnd().split("\n"), [
      " M docs/prices.md",
      " M src/cart/cart.ts",
      " D src/catalogue/productList.ts",
      " M src/cli.ts",
      " M src/index.ts",
      " M src/money.ts",
      " M src/orders/orderBook.ts",
      "?? src/cart/coupon.ts",
      "?? src/catalogue/catalogue.ts",
      "?? test/coupon.test.mjs",
    ]);
    assert.deepEqual(typeErrors(folder), [
      "src/checkout/receipt.ts(16,22): error TS2554: Expected 2 arguments, but got 1.",
    ]);
  }).timeout(60_000);
});
