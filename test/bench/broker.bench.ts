import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { open } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { againstTarget, figureOf, type Bench, type Figure } from "../support/bench.ts";
import { load, paced, quantile, share, upload, type Way } from "../support/brokerBenchClient.ts";
import type { Role } from "../support/brokerBenchInput.ts";
import { startWorker } from "../support/brokerBenchProcess.ts";
import { root } from "../support/repository.ts";

const rounds = Math.max(1, Math.round(5 * share));
const mockttpVersion = "4.6.0";
const steadyRate = 400;

/** mockttp is no dependency of ours: 200 packages for one column. Installed once, beside the other caches. */
function installedMockttp(): string | undefined {
  const place = path.join(root, ".cache/bench-mockttp");
  const entry = path.join(place, "node_modules/mockttp/dist/main.js");
  if (fs.existsSync(entry)) return entry;
  fs.mkdirSync(place, { recursive: true });
  try {
    const args = ["install", "--prefix", place, "--no-save", "--ignore-scripts"];
    execFileSync("npm", [...args, `mockttp@${mockttpVersion}`], { stdio: "ignore" });
  } catch {
    return undefined; // No registry: the column is left out.
  }
  return fs.existsSync(entry) ? entry : undefined;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function run(): Promise<readonly Figure[]> {
  const children: { kill(): boolean }[] = [];
  const origin = await startWorker({ role: "origin" });
  children.push(origin.child);
  const { port: originPort, ca: originCa = "" } = origin.ready;
  const ways: Way[] = [{ name: "direct TLS", host: "localhost", port: originPort, ca: originCa }];
  const add = async (name: string, role: Role, host: string, extra: object = {}): Promise<void> => {
    const worker = await startWorker({ role, originPort, originCa, ...extra });
    children.push(worker.child);
    const { port, ca = originCa } = worker.ready;
    const target = host === "localhost" ? originPort : 443;
    ways.push({ name, host, port: target, proxy: port, ca, memory: worker.memory });
  };
  try {
    await add("CONNECT", "connect", "localhost");
    await add("bare Node proxy, no policy", "bare", "localhost");
    await add("holdfast", "holdfast", "origin.test", { bridgePort: await freePort() });
    await add("holdfast, journal on disk", "holdfast-journal", "origin.test", {
      bridgePort: await freePort(),
    });
    const mockttp = installedMockttp();
    if (mockttp !== undefined)
      await add(`mockttp ${mockttpVersion}`, "mockttp", "localhost", { mockttp });
    return [...(await sideBySide(ways)), await diskFigure(), ...(await growth(ways))];
  } finally {
    for (const child of children) child.kill();
  }
}

/** What the disk alone takes for the one line that must be on it before a call may leave. */
async function diskFigure(): Promise<Figure> {
  const directory = fs.mkdtempSync(path.join(tmpdir(), "holdfast-bench-"));
  const file = await open(path.join(directory, "lines"), "a");
  const times: number[] = [];
  try {
    for (let turn = 0; turn < 500; turn += 1) {
      const begun = performance.now();
      await file.write("x".repeat(700));
      await file.datasync();
      times.push(performance.now() - begun);
      await pause(2);
    }
  } finally {
    await file.close();
    fs.rmSync(directory, { recursive: true });
  }
  const name = "one line onto the disk (write, fdatasync), p50";
  return figureOf(name, "ms", [quantile(times, 0.5)], `p99 ${quantile(times, 0.99).toFixed(1)} ms`);
}

/** Samples of one quantity of one way, a round each. */
class Samples {
  readonly #values = new Map<string, { readonly unit: string; readonly values: number[] }>();

  note(name: string, way: Way, unit: string, value: number): void {
    const key = `${name}: ${way.name}`;
    const entry = this.#values.get(key) ?? { unit, values: [] };
    entry.values.push(value);
    this.#values.set(key, entry);
  }

  of(name: string, way: Way): readonly number[] {
    return this.#values.get(`${name}: ${way.name}`)?.values ?? [];
  }

  figures(): Figure[] {
    return [...this.#values]
      .map(([name, { unit, values }]) => figureOf(name, unit, values))
      .sort((one, other) => (group(one) < group(other) ? -1 : group(one) > group(other) ? 1 : 0));
  }
}

const steady = `1 KB, 16 connections, ${String(steadyRate)} requests/s in all`;

/** Rounds are interleaved, so that a noisy minute hits every way alike. */
async function sideBySide(ways: readonly Way[]): Promise<Figure[]> {
  const samples = new Samples();
  for (let round = 0; round < rounds; round += 1) {
    for (const way of ways) {
      const one = await load(way, "/1k", 400, 1);
      samples.note("1 KB, one connection, p50", way, "ms", quantile(one.times, 0.5));
      samples.note("1 KB, one connection, p99", way, "ms", quantile(one.times, 0.99));
      const calm = await paced(way, "/1k", 800, 16, steadyRate);
      samples.note(`${steady}, p50`, way, "ms", quantile(calm, 0.5));
      samples.note(`${steady}, p99`, way, "ms", quantile(calm, 0.99));
      const many = await load(way, "/1k", 1600, 16);
      samples.note("1 KB, 16 connections, p50", way, "ms", quantile(many.times, 0.5));
      samples.note("1 KB, 16 connections, p99", way, "ms", quantile(many.times, 0.99));
      samples.note("1 KB, 16 connections", way, "requests/s", many.perSecond);
      const big = await load(way, "/1m", 40, 1);
      samples.note("1 MB, p50", way, "ms", quantile(big.times, 0.5));
      const events = await load(way, "/sse", 20, 1);
      samples.note("first event (sent after 10 ms), p50", way, "ms", quantile(events.first, 0.5));
    }
  }
  return [...samples.figures(), ...compared(samples, ways)];
}

/** Ours beside the others, round by round. */
function compared(samples: Samples, ways: readonly Way[]): Figure[] {
  const [direct] = ways;
  const mockttp = ways.find(({ name }) => name.startsWith("mockttp"));
  const bare = ways.find(({ name }) => name.startsWith("bare"));
  const figures: Figure[] = [];
  for (const way of ways.filter(({ name }) => name.startsWith("holdfast"))) {
    const joined = (name: string, other: Way | undefined, join: (a: number, b: number) => number) =>
      samples
        .of(name, way)
        .map((value, round) =>
          join(value, (other && samples.of(name, other)[round]) ?? Number.NaN),
        );
    const added = (name: string) => joined(name, direct, (ours, theirs) => ours - theirs);
    const times = (name: string, other: Way | undefined) =>
      joined(name, other, (ours, theirs) => ours / theirs);
    const told = (what: string) => `${what}: ${way.name}`;
    const rate = "1 KB, 16 connections";
    figures.push(figureOf(told(`${rate}, rate against the bare proxy`), "×", times(rate, bare)));
    if (mockttp !== undefined) {
      figures.push(
        againstTarget(told(`${rate}, rate against mockttp`), "×", times(rate, mockttp), {
          atLeast: 2,
        }),
      );
    }
    figures.push(
      againstTarget(told(`${steady}, added p50`), "ms", added(`${steady}, p50`), { atMost: 0.5 }),
      againstTarget(told(`${steady}, added p99`), "ms", added(`${steady}, p99`), { atMost: 3 }),
      againstTarget(told("1 MB, against direct"), "×", times("1 MB, p50", direct), {
        atMost: 3.5,
      }),
      againstTarget(
        told("first event, later than direct"),
        "ms",
        added("first event (sent after 10 ms), p50"),
        { atMost: 2 },
      ),
    );
  }
  return figures;
}

function group(figure: Figure): string {
  return figure.name.split(":")[0] ?? "";
}

async function growth(ways: readonly Way[]): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const way of ways.filter(({ name }) => name === "holdfast")) {
    const memory = way.memory ?? (() => Promise.resolve(NaN));
    await load(way, "/1k", 2000, 16);
    const before = await memory();
    await load(way, "/1k", 10_000, 16);
    figures.push(
      againstTarget(
        `memory growth over 10,000 requests: ${way.name}`,
        "MB",
        [((await memory()) - before) / 1e6],
        { atMost: 20 },
      ),
    );
    await upload(way, 64 * 1024 * 1024);
    const start = await memory();
    const rate = await upload(way, Math.round(1024 ** 3 * share));
    const grown = ((await memory()) - start) / 1e6;
    figures.push(
      againstTarget(
        `memory growth over a 1 GB upload: ${way.name}`,
        "MB",
        [grown],
        { atMost: 20 },
        "placeholders filled",
      ),
      figureOf(`1 GB upload: ${way.name}`, "MB/s", [rate], "placeholders filled"),
    );
  }
  return figures;
}

/** Every way has the same clients, connections and bodies, in a process of its own. Clients reach ours through the native
 * bridge, as in the sandbox; ours also judges, journals, and looks for secrets in all that passes. As fast as they go, 16
 * connections wait for each other and the time of a call is the inverse of the rate; what a call costs by itself shows
 * at a steady rate. What is the machine's noise shows in the direct way; what is the runtime's in the bare proxy; what is
 * the disk's in one line written onto it. */
export const bench: Bench = {
  title: "Broker: TLS through the door, beside other ways",
  peers: () => ({ mockttp: mockttpVersion, "Node's own TLS and CONNECT": process.version }),
  unavailable: () =>
    fs.existsSync(path.join(root, "native/build/holdfast-native"))
      ? undefined
      : "the native program is not built (make -C native)",
  run,
};
