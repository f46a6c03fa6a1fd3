import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import type {
  AgentLaunch,
  Fork,
  Sandbox,
  SandboxEvent,
  SandboxSpec,
} from "../../src/runtime/ports.ts";
import { sandboxes } from "../../src/node/sandbox/sandboxes.ts";
import type { SandboxOptions } from "../../src/node/sandbox/sandboxes.ts";

const repository = path.resolve(import.meta.dirname, "../..");

/** The native program as `make -C native` builds it. */
export const nativePath =
  process.env["HOLDFAST_TEST_NATIVE"] ?? path.join(repository, "native/build/holdfast-native");

/** A transaction's directories with an empty shadow, as a fork would leave them; removed by `remove`. */
export interface SandboxFixture {
  readonly root: string;
  readonly workspace: string;
  readonly shadow: string;
  readonly door: string;
  readonly spec: (argv: readonly string[], more?: SpecChanges) => SandboxSpec;
  remove(): void;
}

export interface SpecChanges extends Partial<Omit<SandboxSpec, "launch">> {
  readonly launch?: Partial<AgentLaunch>;
}

export function makeSandboxFixture(): SandboxFixture {
  const root = mkdtempSync("/tmp/holdfast-sandbox-");
  const at = (name: string): string => {
    const directory = path.join(root, name);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return directory;
  };
  const workspace = at("work/project");
  const shadow = at("home/transactions/1/state/shadow");
  const door = at("home/transactions/1/door");
  const paths = {
    root: path.join(root, "home/transactions/1"),
    base: at("home/transactions/1/base"),
    door,
    state: path.join(root, "home/transactions/1/state"),
  };
  const fork: Fork = {
    backend: "clone",
    shadow,
    overlays: [],
    manifest: path.join(paths.state, "manifest"),
    forkMs: 0,
    files: 0,
    bytes: 0,
    notes: [],
  };
  const spec = (argv: readonly string[], more: SpecChanges = {}): SandboxSpec => {
    const { launch, ...rest } = more;
    return {
      workspace,
      fork,
      paths,
      cwd: workspace,
      ...rest,
      launch: { argv, env: {}, files: [], readOnly: [], modelHosts: [], ...launch },
    };
  };
  const remove = (): void => {
    rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  };
  return { root, workspace, shadow, door, spec, remove };
}

export interface Ran {
  readonly exitCode: number | null;
  readonly signal?: string;
  readonly left?: number;
  readonly limit?: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly events: readonly SandboxEvent[];
}

async function collect(stream: NodeJS.ReadableStream | undefined): Promise<string> {
  if (stream === undefined) return "";
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(Buffer.from(part as Uint8Array));
  return Buffer.concat(parts).toString("utf8");
}

/** Runs to the end and keeps all it said. */
export async function finish(sandbox: Sandbox, input = ""): Promise<Ran> {
  const events: SandboxEvent[] = [];
  const listening = sandbox.onEvent((event) => events.push(event));
  sandbox.stdin.on("error", () => sandbox.stdin.end());
  sandbox.stdin.end(input);
  const [exited, stdout, stderr] = await Promise.all([
    sandbox.exited,
    collect(sandbox.stdout),
    collect(sandbox.stderr),
  ]);
  listening[Symbol.dispose]();
  return { ...exited, stdout, stderr, events };
}

/** Launches and runs to the end. */
export async function run(
  spec: SandboxSpec,
  options: Partial<SandboxOptions> & { readonly input?: string } = {},
): Promise<Ran> {
  const { input, ...rest } = options;
  const sandbox = await sandboxes({ nativePath, ...rest }).launch(spec);
  return finish(sandbox, input);
}

/** Runs a bash command in the fixture's sandbox and compares what it said and how it ended (exit code 0 if not given). */
export async function checkShell(
  fixture: SandboxFixture,
  command: string,
  expected: {
    readonly stdout?: string | RegExp;
    readonly stderr?: string;
    readonly exitCode?: number | null;
  },
  more: SpecChanges = {},
  input = "",
): Promise<void> {
  const ran = await run(fixture.spec(["bash", "-c", command], more), { input });
  const { stdout, stderr, exitCode = 0 } = expected;
  if (typeof stdout === "string") assert.equal(ran.stdout, stdout, ran.stderr);
  else if (stdout !== undefined) assert.match(ran.stdout, stdout, ran.stderr);
  if (stderr !== undefined) assert.equal(ran.stderr, stderr);
  assert.equal(ran.exitCode, exitCode, ran.stderr);
}
