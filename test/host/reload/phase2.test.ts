import assert from "node:assert/strict";
import { waitForState } from "../scriptedRun.ts";
import { kinds, reloadedWindow } from "./reloaded.ts";

describe("loaded anew on an open hold", () => {
  it("the call still waits, a decision takes effect, and the agent goes on", async () => {
    const window = await reloadedWindow();
    await waitForState(window, "waiting");
    await window.call("wait", { selector: ".statusbar-item", text: "1 call held" });
    assert.ok(!kinds().includes("hold.decided"));
    assert.ok(!kinds().includes("transaction.exited"));
    await window.call("wait", { selector: ".card.armed", panel: true });
    await window.call("screenshot", { name: "reload-held" });
    await window.call("click", { selector: ".card.armed .decide.deny", panel: true });
    await waitForState(window, "running");
    assert.ok(kinds().includes("hold.decided"));
    await window.call("wait", { selector: ".row", text: "Edit ticks.txt", panel: true });
    window.close();
  });
});
