import assert from "node:assert/strict";
import { lazily } from "../../src/base/lazily.ts";

describe("what is made lazily", () => {
  it("is made once, for all who want it meanwhile and later", async () => {
    let made = 0;
    const get = lazily(() => Promise.resolve(++made));
    assert.equal(made, 0);
    assert.deepEqual(await Promise.all([get(), get()]), [1, 1]);
    assert.equal(await get(), 1);
  });

  it("is tried again after it has failed", async () => {
    let tries = 0;
    const get = lazily(() =>
      ++tries === 1 ? Promise.reject(new Error("the file is locked")) : Promise.resolve("made"),
    );
    await assert.rejects(get(), /the file is locked/);
    assert.equal(await get(), "made");
    assert.equal(tries, 2);
  });
});
