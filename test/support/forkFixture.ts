import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { BackendName } from "../../src/core/journal/entry.ts";
import { workspaces } from "../../src/node/fork/workspaces.ts";
import type {
  ChangedPath,
  Fork,
  ForkReader,
  TransactionPaths,
  Workspaces,
} from "../../src/runtime/ports.ts";

const repository = path.resolve(import.meta.dirname, "../..");

/** The native program, built when it is not there; `san` is the one with sanitizers. */
export function nativeProgram(kind: "plain" | "san" = "plain"): string {
  const file = path.join(
    repository,
    "native/build",
    kind === "san" ? "san" : ".",
    "holdfast-native",
  );
  const fromOutside = process.env["HOLDFAST_TEST_NATIVE"];
  if (fromOutside !== undefined && kind === "plain") return fromOutside;
  if (!existsSync(file)) {
    const make = [
      "-s",
      "-C",
      path.join(repository, "native"),
      ...(kind === "san" ? ["SAN=1"] : []),
    ];
    execFileSync("make", make, { stdio: "pipe" });
  }
  return file;
}

/** Runs git with a fixed identity and nobody's configuration. */
export function git(cwd: string, ...args: readonly string[]): string {
  return execFileSync(
    "git",
    ["-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", ...args],
    {
      cwd,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        PATH: process.env["PATH"],
        HOME: cwd,
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_AUTHOR_NAME: "A",
        GIT_AUTHOR_EMAIL: "a@example.com",
        GIT_COMMITTER_NAME: "A",
        GIT_COMMITTER_EMAIL: "a@example.com",
      },
    },
  );
}

/** A workspace, a home and forks between them, all below one temporary directory. */
export class ForkFixture {
  readonly root: string;
  readonly workspace: string;
  readonly home: string;
  readonly port: Workspaces;
  readonly nativePath: string;
  #count = 0;

  /** `home`: the state's directory, where it is not to lie beside the workspace. */
  constructor(parent: string = tmpdir(), kind: "plain" | "san" = "plain", home?: string) {
    this.root = mkdtempSync(path.join(parent, "holdfast-fork-"));
    this.workspace = path.join(this.root, "work");
    this.home = home ?? path.join(this.root, "home");
    mkdirSync(this.workspace);
    mkdirSync(this.home, { mode: 0o700, recursive: true });
    this.nativePath = nativeProgram(kind);
    this.port = workspaces({ nativePath: this.nativePath });
  }

  /** Directories of a new transaction. */
  paths(): TransactionPaths {
    const root = path.join(this.home, "transactions", `t${++this.#count}`);
    for (const name of ["base", "door", "state"])
      mkdirSync(path.join(root, name), { recursive: true, mode: 0o700 });
    const below = (name: string): string => path.join(root, name);
    return { root, base: below("base"), door: below("door"), state: below("state") };
  }

  write(relative: string, content: string | Uint8Array = "", mode = 0o644): void {
    const file = path.join(this.workspace, relative);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content, { mode });
  }

  async fork(backend: "auto" | BackendName = "auto"): Promise<ForkedFixture> {
    const paths = this.paths();
    const fork = await this.port.fork({
      workspace: this.workspace,
      paths,
      backend,
      onProgress: () => undefined,
      signal: new AbortController().signal,
    });
    return new ForkedFixture(this, fork, paths);
  }

  [Symbol.dispose](): void {
    execFileSync("chmod", ["-R", "u+rwX", this.root]);
    rmSync(this.root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

/** One fork of a fixture, with the calls that tests make. */
export class ForkedFixture {
  readonly fork: Fork;
  readonly paths: TransactionPaths;
  readonly reader: ForkReader;
  readonly #fixture: ForkFixture;

  constructor(fixture: ForkFixture, fork: Fork, paths: TransactionPaths) {
    this.#fixture = fixture;
    this.fork = fork;
    this.paths = paths;
    this.reader = fixture.port.reader(fork, fixture.workspace, paths);
  }

  /** A path in the shadow. */
  at(relative: string): string {
    return path.join(this.fork.shadow, relative);
  }

  changes(): Promise<readonly ChangedPath[]> {
    return this.#fixture.port.changes(this.fork, this.#fixture.workspace, this.paths);
  }

  /** The changes as lines `kind path`, with `<- from` and `(ignored)` where they apply. */
  async changeLines(): Promise<readonly string[]> {
    return (await this.changes()).map((one) => {
      const from = one.from === undefined ? "" : ` <- ${one.from}`;
      return `${one.change} ${one.path}${from}${one.ignored ? " (ignored)" : ""}`;
    });
  }

  remove(): Promise<void> {
    return this.#fixture.port.remove(this.fork, this.paths);
  }
}
