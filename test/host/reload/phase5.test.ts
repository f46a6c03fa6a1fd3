import assert from "node:assert/strict";
import { fileText, waitForState } from "../scriptedRun.ts";
import { kinds, reloadedWindow } from "./reloaded.ts";

describe("loaded anew after an interruption", () => {
  it("the transaction can be reopened, reviewed and committed", async () => {
    const window = await reloadedWindow();
    // The other one still has something to commit, and was shown first.
    await window.call("palette", { title: "Holdfast: Switch Transaction" });
    const row = { selector: ".quick-input-list .monaco-list-row", text: "Never to end" };
    await window.call("wait", row);
    await window.call("click", row);
    await waitForState(window, "interrupted");
    await window.call("palette", { title: "Holdfast: Reopen Interrupted Transaction" });
    await waitForState(window, "sealed");
    assert.deepEqual(
      kinds().filter((kind) => /^transaction\.(interrupted|resumed|sealed)$/.test(kind)),
      ["transaction.interrupted", "transaction.resumed", "transaction.sealed"],
    );
    await window.call("palette", { title: "Holdfast: Commit" });
    await waitForState(window, "committed");
    assert.equal(await fileText("half.txt"), "half\n");
    window.close();
  });
});
