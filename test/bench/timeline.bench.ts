/** The timeline over 100,000 steps: folding, order and search in the host; rows, frames and heap in a headless browser. */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import type { Page } from "playwright-core";
import { hasEditor } from "../../.config/setupEditor.mjs";
import type { Entry } from "../../src/core/journal/entry.ts";
import { everything, webviewVersion, type ToWebview } from "../../src/protocol/webview.ts";
import { figureOf, timed, type Bench, type Figure } from "../support/bench.ts";
import type { HostSamples } from "../support/hostResult.ts";
import { largeJournal } from "../support/largeJournal.ts";
import { root } from "../support/repository.ts";
import { sampleHost, type SampleHost } from "../support/sampleStates.ts";
import { frames, late, p95, plainScroll, scroll, stopFrames } from "../support/timelineProbe.ts";
import { launchBrowser, openWebview } from "../support/webviewPage.ts";

const roots = 100_000;
const note = `${roots.toLocaleString("en-US")} steps`;

async function heapMegabytes(page: Page): Promise<number> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("HeapProfiler.collectGarbage");
  return (await page.evaluate<number>("performance.memory.usedJSHeapSize")) / 1e6;
}

interface FirstRows {
  /** What the webview and the host do themselves. */
  readonly own: number;
  /** With the test driver's way from the page to here and back in between; in the editor that is another one. */
  readonly whole: number;
}

/**
 * Milliseconds from a snapshot's arrival in the webview to the frame that shows its first rows, which the webview asks the
 * host for in between. Each part is timed where it is done: in the page up to the question, in the host for the answer, in
 * the page again from the answer's arrival on.
 */
async function firstRows(host: SampleHost, page: Page): Promise<FirstRows> {
  const snapshots: ToWebview[] = [];
  host.answer({ type: "ready", version: webviewVersion }, (message) => {
    snapshots.push(message);
    return Promise.resolve();
  });
  answering.ms = 0;
  // As text: what the loader adds to functions to keep their names is not there in the page.
  const inPage = await page.evaluate<{
    readonly own: number;
    readonly whole: number;
  }>(`new Promise((resolve) => {
    const say = globalThis.said;
    const begun = performance.now();
    let asked = begun;
    globalThis.said = (message) => {
      if (message.type === "window") asked = performance.now();
      return say(message);
    };
    addEventListener("message", function onRows({ data }) {
      if (data.type !== "rows") return;
      const came = performance.now();
      removeEventListener("message", onRows);
      globalThis.said = say;
      // After the frame in which the rows are drawn.
      requestAnimationFrame(() => setTimeout(() => {
        const drawn = performance.now();
        resolve({ own: asked - begun + drawn - came, whole: drawn - begun });
      }));
    });
    postMessage(${JSON.stringify(snapshots[0])}, "*");
  })`);
  return { own: inPage.own + answering.ms, whole: inPage.whole };
}

/** How long the host took for the answers since this was set back. */
const answering = { ms: 0 };

const streamedPerSecond = 500;
const streamSeconds = 4;

/** Entries that come while the list is shown: frames in the webview, and how long the host's loop is kept waiting. */
async function streaming(
  host: SampleHost,
  rest: readonly Entry[],
  page: Page,
  send: (message: ToWebview) => Promise<void>,
): Promise<readonly Figure[]> {
  const what = `${streamedPerSecond} entries a second into ${note}`;
  const shown = page.evaluate<number[]>(frames);
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const everyMs = 20;
  const slice = (streamedPerSecond * everyMs) / 1000;
  for (let at = 0; at < streamedPerSecond * streamSeconds; at += slice) {
    const changed = host.view.apply(rest.slice(at, at + slice));
    if (changed !== undefined) void send(changed);
    await wait(everyMs);
  }
  delay.disable();
  await page.evaluate(stopFrames);
  const times = await shown;
  return [
    figureOf("frame while entries stream in", "ms", times, what),
    figureOf(
      "frames over 25 ms while entries stream in",
      "frames",
      [late(times)],
      `of ${times.length}`,
    ),
    figureOf(
      "event loop of the host, p99 over its 5 ms",
      "ms",
      [delay.percentile(99) / 1e6 - 5],
      what,
    ),
    figureOf("event loop of the host, longest over its 5 ms", "ms", [delay.max / 1e6 - 5], what),
  ];
}

async function inBrowser(host: SampleHost, rest: readonly Entry[]): Promise<readonly Figure[]> {
  const browser = await launchBrowser();
  try {
    const shown = await openWebview(browser, {
      theme: "dark",
      onMessage: (message, send) => {
        const begun = performance.now();
        host.answer(message, send);
        if (message.type === "window") answering.ms += performance.now() - begun;
      },
    });
    await shown.page.locator(".row .verb").first().waitFor();
    const first: FirstRows[] = [];
    for (let round = 0; round < 5; round++) first.push(await firstRows(host, shown.page));
    const times = await shown.page.evaluate<number[]>(scroll);
    const plain = await shown.page.evaluate<number[]>(plainScroll);
    const heap = await heapMegabytes(shown.page);
    const streamed = await streaming(host, rest, shown.page, shown.send);
    await shown.close();
    return [
      figureOf(
        "first rows after the layout is there",
        "ms",
        first.map(({ own }) => own),
        note,
      ),
      figureOf(
        "first rows, with the test driver's way there and back",
        "ms",
        first.map(({ whole }) => whole),
        note,
      ),
      figureOf("frame on fast scroll", "ms", times, note),
      figureOf("frame on fast scroll, p95", "ms", [p95(times)], note),
      figureOf("frames over 25 ms of 150", "frames", [late(times)], note),
      ...plainFigures("", plain),
      figureOf("heap of the webview", "MB", [heap], "after collection"),
      ...streamed,
    ];
  } finally {
    await browser.close();
  }
}

/** Of a list that a browser scrolls without any script: what no timeline can do better on this machine. */
function plainFigures(place: string, times: readonly number[]): readonly Figure[] {
  return [
    figureOf(
      `${place}a plain list: frame on fast scroll, p95`,
      "ms",
      [p95(times)],
      "150 lines of text",
    ),
    figureOf(
      `${place}a plain list: frames over 25 ms of 150`,
      "frames",
      [late(times)],
      "150 lines of text",
    ),
  ];
}

/** The same in the real editor, when it is installed: see test/host/bench. */
function inEditor(): readonly Figure[] {
  if (!hasEditor()) return [];
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-bench-"));
  const samples = path.join(folder, "samples.json");
  try {
    execFileSync(process.execPath, [path.join(root, ".config", "host.mjs"), "bench"], {
      cwd: root,
      env: { ...process.env, HOLDFAST_HOST_SAMPLES: samples },
      // Its output beside the report is for whoever waits.
      stdio: ["ignore", 2, 2],
    });
    const taken = JSON.parse(fs.readFileSync(samples, "utf8")) as HostSamples;
    return taken.map(({ name, unit, samples: each, note: about }) =>
      figureOf(`in the editor: ${name}`, unit, each, about),
    );
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

export const bench: Bench = {
  title: "Timeline",
  run: async () => {
    const all = largeJournal(roots + (streamedPerSecond * streamSeconds) / 2);
    const later = all.length - streamedPerSecond * streamSeconds;
    const journal = all.slice(0, later);
    const begun = performance.now();
    const host = sampleHost("running", journal);
    const fold = figureOf("fold", "ms", [performance.now() - begun], `${journal.length} entries`);
    const { view } = host;
    const order = await timed("change of order", 5, (run) =>
      view.setFilter({ ...everything, grouping: run % 2 === 0 ? "time" : "tool" }),
    );
    const search = await timed("search", 5, (run) =>
      view.setFilter({ ...everything, text: `file4242${Math.max(0, run)}` }),
    );
    view.setFilter(everything);
    return [fold, order, search, ...(await inBrowser(host, all.slice(later))), ...inEditor()];
  },
};
