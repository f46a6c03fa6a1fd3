import assert from "node:assert/strict";
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { monitorEventLoopDelay, type IntervalHistogram } from "node:perf_hooks";
import readline from "node:readline";
import type { Readable, Writable } from "node:stream";
import * as vscode from "vscode";
import { makeTransaction } from "../../../src/node/state/home.ts";
import { openHome } from "../../../src/node/state/homeDirectory.ts";
import type { Totals } from "../../../src/protocol/webview.ts";
import type { HostEnvironment, HostSamples } from "../../support/hostResult.ts";
import { frames, late, p95, plainScroll, scroll, stopFrames } from "../../support/timelineProbe.ts";
import { until, workspaceFolder } from "../scriptedRun.ts";
import { openHostWindow, type HostWindow } from "../window.ts";

const steps = 100_000;
const perSecond = 500;
const seconds = 4;
const rounds = 5;
const note = `${steps.toLocaleString("en-US")} steps`;
const streamed = `${perSecond} entries a second into ${note}`;
const resolutionMs = 5;
/** As the search field waits for the next key. */
const searchDelayMs = 120;

const nothing: Totals = {
  held: 0,
  irreversible: 0,
  recoverable: 0,
  reversible: 0,
  shown: 1,
  all: 1,
  tools: [],
  spanMs: 1,
};

/**
 * Milliseconds from the arrival of a snapshot to the frame that shows its rows, which the webview asks the host for in between.
 * A change that it must have missed makes the webview ask for the snapshot.
 */
const firstRows = `new Promise((resolve) => {
  let begun = 0;
  addEventListener("message", function onMessage({ data }) {
    if (data.type === "snapshot") begun = performance.now();
    if (data.type !== "rows" || begun === 0) return;
    removeEventListener("message", onMessage);
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begun)));
  });
  postMessage(${JSON.stringify({ type: "changed", generation: 1e9, splices: [], rows: [], totals: nothing })}, "*");
})`;

/** Milliseconds from the end of the wait for the next key to the arrival of what was found. */
function search(text: string): string {
  return `new Promise((resolve) => {
    const field = document.querySelector("vscode-text-field");
    let begun = 0;
    addEventListener("message", function onMessage({ data }) {
      if (data.type !== "layout") return;
      removeEventListener("message", onMessage);
      resolve(performance.now() - begun);
    });
    field.value = ${JSON.stringify(text)};
    setTimeout(() => (begun = performance.now()), ${searchDelayMs});
    field.dispatchEvent(new Event("input"));
  })`;
}

describe("timeline of a long transaction", () => {
  let window: HostWindow;
  let supervisor: ChildProcessByStdio<Writable, Readable, null> | undefined;
  const taken: HostSamples[number][] = [];
  const take = (name: string, unit: string, samples: readonly number[], about?: string): void => {
    taken.push({ name, unit, samples, ...(about === undefined ? {} : { note: about }) });
  };

  const inPanel = (expression: string): Promise<unknown> =>
    window.call("evaluate", { expression, panel: true });

  before(async () => {
    window = await openHostWindow();
    await window.call("resize", { width: 1360, height: 1000 });
  });
  after(() => {
    supervisor?.stdin.end();
    window.close();
    const file = (process.env as NodeJS.ProcessEnv & HostEnvironment).HOLDFAST_HOST_SAMPLES;
    fs.writeFileSync(file, JSON.stringify(taken));
  });

  it("what activation takes when there is nothing to do", async () => {
    const row = /^\| holdfast\.holdfast +\|(.*)$/m;
    let columns: readonly string[] = [];
    await until("the editor has its own figures", async () => {
      await vscode.commands.executeCommand("workbench.action.closeAllEditors");
      await vscode.commands.executeCommand("perfview.show");
      const shown = vscode.workspace.textDocuments.find(({ uri }) => uri.scheme === "perf");
      const text = shown?.getText() ?? "";
      columns =
        row
          .exec(text)?.[1]
          ?.split("|")
          .map((cell) => cell.trim()) ?? [];
      return columns.length > 4;
    });
    const [, load, call, finish] = columns.map(Number);
    assert.ok(load !== undefined && call !== undefined && finish !== undefined);
    const about = "the editor's own figure, while everything starts";
    take("activation with nothing to do: code loading", "ms", [load], about);
    take("activation with nothing to do: call of activate", "ms", [call], about);
    take("activation with nothing to do: until it has finished", "ms", [finish], about);
    take("activation with nothing to do: code loading, its processor time", "ms", loadTimes());
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
  });

  it("from its beginning to its last row", async () => {
    await vscode.commands.executeCommand("workbench.view.explorer");
    const before = await window.call("heap", {});
    const home = openHome(process.env);
    const { root } = makeTransaction(home, "t20261129-093000-0000ff");
    const program = path.join(process.env["HOLDFAST_HOST_SUITES"] ?? "", "playedSupervisor.cjs");
    const workspace = fs.realpathSync(workspaceFolder().fsPath);
    const coming = String(perSecond * seconds);
    supervisor = spawn(process.execPath, [program, root, workspace, String(steps), coming], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, ELECTRON_RUN_AS_NODE: "1" },
    });
    await says("ready");
    const delay = loopDelay();
    await vscode.commands.executeCommand("holdfast.timeline.focus");
    await window.call("wait", { selector: `body[data-state="running"]`, panel: true });
    await until("every step is there", async () => {
      const height = await inPanel(`document.querySelector(".rows").offsetHeight`);
      return Number(height) >= steps * 24;
    });
    delay.disable();
    take(
      "event loop of the host while it opens, longest over its 5 ms",
      "ms",
      [longest(delay)],
      note,
    );
    await window.call("wait", { selector: ".row .verb", panel: true });
    const own = (await window.call("heap", {})) - before;
    take(
      "heap of the window, more than without the timeline",
      "MB",
      [own / 1e6],
      "after collection",
    );
    await window.call("screenshot", { name: "long-timeline" });
  });

  it("first rows", async () => {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) times.push(Number(await inPanel(firstRows)));
    take("first rows after the layout is there", "ms", times, note);
  });

  it("search", async () => {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++)
      times.push(Number(await inPanel(search(`file4242${round}`))));
    await inPanel(search(""));
    take("search", "ms", times, `${note}, with the way to the host and back`);
  });

  it("frames on fast scroll", async () => {
    const times = (await inPanel(scroll)) as number[];
    take("frame on fast scroll", "ms", times, note);
    take("frame on fast scroll, p95", "ms", [p95(times)], note);
    take("frames over 25 ms of 150", "frames", [late(times)], note);
    const plain = (await inPanel(plainScroll)) as number[];
    take("a plain list: frame on fast scroll, p95", "ms", [p95(plain)], "150 lines of text");
    take("a plain list: frames over 25 ms of 150", "frames", [late(plain)], "150 lines of text");
  });

  it("frames and the host's loop while entries come", async () => {
    const shown = inPanel(frames);
    const delay = loopDelay();
    supervisor?.stdin.write(`${perSecond}\n`);
    await says("done");
    delay.disable();
    await inPanel(stopFrames);
    const times = (await shown) as number[];
    take("frame while entries stream in", "ms", times, streamed);
    take(
      "frames over 25 ms while entries stream in",
      "frames",
      [late(times)],
      `of ${times.length}`,
    );
    const p99 = delay.percentile(99) / 1e6 - resolutionMs;
    take("event loop of the host, p99 over its 5 ms", "ms", [p99], streamed);
    take("event loop of the host, longest over its 5 ms", "ms", [longest(delay)], streamed);
  });

  async function says(word: string): Promise<void> {
    assert.ok(supervisor !== undefined);
    const lines = readline.createInterface({ input: supervisor.stdout });
    const ended = once(supervisor, "exit").then(() => ["nothing: it has ended"]);
    const [line] = await Promise.race([once(lines, "line"), ended]);
    lines.close();
    assert.equal(line, word);
  }
});

/** Processor time, milliseconds, that what the editor loads at a start takes to load, once more in the same process. */
function loadTimes(): readonly number[] {
  const extension = vscode.extensions.getExtension("holdfast.holdfast");
  assert.ok(extension !== undefined);
  const file = path.join(extension.extensionPath, "dist", "extension.cjs");
  const load = createRequire(file);
  return Array.from({ length: rounds }, () => {
    Reflect.deleteProperty(load.cache, file);
    const before = process.cpuUsage();
    load(file);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
}

function loopDelay(): IntervalHistogram {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  return delay;
}

function longest(delay: IntervalHistogram): number {
  return delay.max / 1e6 - resolutionMs;
}
