import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { OutputFollower, outputLogOf } from "../../src/node/state/outputLog.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";
import { until } from "../support/waiting.ts";

describe("the output of an agent, followed", () => {
  const folder = temporaryFolders();
  const followers: OutputFollower[] = [];
  afterEach(() => {
    for (const one of followers.splice(0)) one.dispose();
  });

  function follow(state: string): { text: string } {
    const seen = { text: "" };
    followers.push(new OutputFollower(state, (text) => (seen.text += text)));
    return seen;
  }

  it("comes from its beginning, also when there is none yet", async () => {
    const state = folder();
    const seen = follow(state);
    fs.writeFileSync(outputLogOf(state), "one\n");
    await until("the first line", () => seen.text === "one\n");
    fs.appendFileSync(outputLogOf(state), "two\n");
    await until("the second line", () => seen.text === "one\ntwo\n");
  });

  it("is text: without colours and cursor movements, in whole characters, however it is cut", async () => {
    const state = folder();
    const seen = follow(state);
    const told = Buffer.from("\u001b[1;31mrot\u001b[0m \u001b[2K€ 5\r\nnext\n");
    for (const byte of told) {
      const before = seen.text;
      fs.appendFileSync(outputLogOf(state), Buffer.from([byte]));
      // Each byte is read alone where it makes something to see.
      if (byte === 0x74) await until("what was written is read", () => seen.text !== before);
    }
    await until("the last line", () => seen.text.endsWith("next\n"));
    assert.equal(seen.text.replaceAll("\r", ""), "rot € 5\nnext\n");
    assert.doesNotMatch(seen.text, /\u001b/);
  });

  it("of long ago is shown from its last part on", async () => {
    const state = folder();
    fs.writeFileSync(outputLogOf(state), `${"x".repeat(80)}\n`.repeat(10_000));
    fs.appendFileSync(outputLogOf(state), "the end\n");
    const seen = follow(state);
    await until("the end", () => seen.text.endsWith("the end\n"));
    assert.ok(seen.text.length <= 256 * 1024);
  });

  it("is not followed through a link", async () => {
    const state = folder();
    const elsewhere = path.join(folder(), "other.txt");
    fs.writeFileSync(elsewhere, "not ours\n");
    fs.symlinkSync(elsewhere, outputLogOf(state));
    const errors: unknown[] = [];
    const seen = { text: "" };
    followers.push(
      new OutputFollower(
        state,
        (text) => (seen.text += text),
        (error) => errors.push(error),
      ),
    );
    await until("the refusal", () => errors.length > 0);
    assert.equal(seen.text, "");
  });
});
