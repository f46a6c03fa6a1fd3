import assert from "node:assert/strict";
import { messageOf } from "../../src/base/errors.ts";
import { checkRecovered, crashFixture, wholeCommit } from "../support/publishCrash.ts";
import { assertNoSanitizerReports, nativeBuild } from "../support/nativeBuild.ts";
import { snapshotTree } from "../support/treeSnapshot.ts";

type Faults = (call: number) => Readonly<Record<string, string>>;

/** One publish with a fault, then recovery. True when the publish went through as if there had been none. */
async function attempt(
  native: string,
  env: Readonly<Record<string, string>>,
  after: readonly string[],
  call: number,
): Promise<boolean> {
  using fixture = crashFixture(native, env);
  const before = snapshotTree(fixture.workspace, true);
  const failure = await fixture.commit().then(
    () => undefined,
    (error: unknown) => messageOf(error),
  );
  const label = `call ${call}: ${failure ?? "committed"}`;
  const plain = before.map((line) => line.replace(/ \d{10,}$/, ""));
  const state = await checkRecovered(fixture, plain, after, label);
  if (failure === undefined) assert.equal(state, "after", label);
  if (state === "before") assertTimes(before, snapshotTree(fixture.workspace, true), label);
  return failure === undefined;
}

/** Dies at every call until a run meets none. Gives how many calls there were. */
async function killAtEvery(
  native: string,
  after: readonly string[],
  faults: Faults,
): Promise<number> {
  for (let call = 1; call < 400; call++) {
    if (await attempt(native, faults(call), after, call)) return call - 1;
  }
  throw new Error("no end of calls");
}

/** Files that were moved away and back are the same files: inode, content, time. */
function assertTimes(before: readonly string[], now: readonly string[], label: string): void {
  const files = (lines: readonly string[]): readonly string[] =>
    lines.filter((line) => !/^\S+\/ /.test(line));
  assert.deepEqual(files(now), files(before), `${label}: times`);
}

describe("a publish whose native program fails", () => {
  const native = nativeBuild("faults");
  const errors = {
    "a passing error": "once:5",
    "a lasting error": "from:5",
    "a full disk": "from:28",
    "no permission": "once:13",
  };
  let after: readonly string[];

  before(async () => {
    after = await wholeCommit();
  });

  afterEach(assertNoSanitizerReports);

  for (const verb of ["prepare", "apply"]) {
    let calls = 0;
    it(`is killed at every call of ${verb}`, async () => {
      calls = await killAtEvery(native, after, (call) => ({
        HOLDFAST_FAULT: `${verb}:kill:${call}`,
      }));
      assert(calls > 20, `only ${calls} calls`);
    });

    for (const [name, fault] of Object.entries(errors)) {
      it(`meets ${name} at every call of ${verb}`, async () => {
        for (let call = 1; call <= calls; call++) {
          await attempt(native, { HOLDFAST_FAULT: `${verb}:${fault}:${call}` }, after, call);
        }
      });
    }
  }

  it("is killed at every call on a filesystem that cannot exchange", async () => {
    const calls = await killAtEvery(native, after, (call) => ({
      HOLDFAST_FAULT: `apply:kill:${call}`,
      HOLDFAST_FAULT_NO_EXCHANGE: "1",
    }));
    assert(calls > 20, `only ${calls} calls`);
  });
});
