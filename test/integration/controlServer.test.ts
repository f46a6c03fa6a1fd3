import assert from "node:assert/strict";
import { connectSupervisor } from "../../src/supervisor/client.ts";
import { concludes, concludingKinds } from "../../src/supervisor/conclusion.ts";
import {
  startControlServer,
  type ControlHandlers,
  type ControlServer,
} from "../../src/supervisor/controlServer.ts";
import type { WireEntry } from "../../src/protocol/control.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

const kindsOfARun = ["transaction.begun", "process.exec", "hold.opened", "process.exit"];

function entry(seq: number, kind: string): WireEntry {
  return { seq, at: "2026-01-01T00:00:00.000Z", kind, source: "kernel", prev: "" };
}

describe("the control socket's subscription", () => {
  const newFolder = temporaryFolders();
  let server: ControlServer | undefined;
  afterEach(async () => await server?.close("the test is over"));

  /** The kinds that a subscriber is told of: of two runs, one over and one to come, and a last entry. */
  async function told(kinds: readonly string[] | undefined): Promise<readonly string[]> {
    const root = newFolder();
    const written = kindsOfARun.map((kind, at) => entry(at + 1, kind));
    const source = { transaction: "t", entriesAfter: (seq: number) => written.slice(seq) };
    server = await startControlServer(root, source, {} as ControlHandlers);
    const connection = await connectSupervisor(root, "test");
    const { caller } = connection;
    const got: string[] = [];
    const ended = new Promise<void>((resolve) => {
      caller.on("entries", (entries) => {
        got.push(...entries.map(({ kind }) => kind));
        if (got.at(-1) === "transaction.sealed") resolve();
      });
    });
    await caller.call("subscribe", { after: 0, ...(kinds && { kinds: [...kinds] }) });
    const later = [...kindsOfARun, "transaction.sealed"];
    later.forEach((kind, at) => server?.publish(entry(written.length + at + 1, kind)));
    await ended;
    connection.close();
    return got;
  }

  it("tells of everything where nothing is said", async () => {
    const all = [...kindsOfARun, ...kindsOfARun, "transaction.sealed"];
    assert.deepEqual(await told(undefined), all);
  });

  it("tells of the kinds that are asked for alone", async () => {
    const kinds = ["hold.opened", ...concludingKinds("review")];
    assert.deepEqual(await told(kinds), ["hold.opened", "hold.opened", "transaction.sealed"]);
  });

  it("lets nobody wait for an end of a kind that is not asked for", () => {
    for (const onExit of ["review", "commit", "discard"] as const)
      for (const kind of concludingKinds(onExit))
        assert.ok(concludes({ kind, code: "not-concluded" }, onExit), `${onExit}: ${kind}`);
  });
});
