import assert from "node:assert/strict";
import path from "node:path";
import {
  DisposableStore,
  Emitter,
  setLifecycleWitness,
  toDisposable,
  type Ending,
} from "../../src/base/lifecycle.ts";
import { unregisteredIn } from "../support/unregistered.ts";
import { root } from "../support/repository.ts";

describe("what must be ended", () => {
  afterEach(() => setLifecycleWitness(undefined));

  it("is told when it is made and when it has ended, each once", () => {
    const open = new Set<Ending>();
    let ended = 0;
    setLifecycleWitness({
      made: (owned) => open.add(owned),
      ended: (owned) => {
        ended++;
        open.delete(owned);
      },
    });
    const store = new DisposableStore();
    const emitter = store.add(new Emitter<number>());
    const heard: number[] = [];
    store.add(emitter.event((value) => heard.push(value)));
    store.add(toDisposable(() => heard.push(0)));
    emitter.fire(1);
    assert.equal(open.size, 4);
    store.dispose();
    store.dispose();
    assert.equal(open.size, 0);
    assert.equal(ended, 4);
    assert.deepEqual(heard, [1, 0]);
  });

  it("is owned where it is made, in the extension", () => {
    assert.deepEqual(unregisteredIn(path.join(root, "src", "vscode")), []);
  });

  it("is found where nobody owns it", () => {
    const source = `
      store.add(vscode.window.registerUriHandler(handler));
      const status = vscode.window.createStatusBarItem();
      transactions.onChange(() => show());
    `;
    assert.deepEqual(
      unregisteredIn("", new Map([["sample.ts", source]])).map((one) => one.split(" ")[0]),
      ["sample.ts:3", "sample.ts:4"],
    );
  });
});
