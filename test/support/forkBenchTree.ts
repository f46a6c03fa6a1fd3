import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { BackendName } from "../../src/core/journal/entry.ts";
import { ForkFixture, nativeProgram } from "./forkFixture.ts";
import { LoopFilesystem } from "./loopFilesystem.ts";
import { whenWeEnd } from "./whenWeEnd.ts";

/** A filesystem to measure on, for the whole bench: what was made there goes with it, so that nothing is deleted between. */
export interface Ground extends Disposable {
  readonly name: string;
  readonly point: string;
  readonly backends: readonly BackendName[];
}

/** Room for the trees of all sizes, and for a copy of each by bytes. */
const gigabytes = 24;

const kinds = [
  { name: "ext4", backends: ["clone", "overlay", "copy"] },
  { name: "xfs", backends: ["clone"] },
  { name: "btrfs", backends: ["snapshot", "clone"] },
] as const;

/** Where forks are measured: on filesystems of our own when root, else on that of the temporary files. */
export function makeGrounds(): Ground[] {
  const possible = kinds.filter(({ name }) => LoopFilesystem.possible(name));
  const own = possible.map(({ name, backends }) => {
    const filesystem = new LoopFilesystem(name, gigabytes);
    const { point } = filesystem;
    return { name, point, backends, [Symbol.dispose]: () => filesystem[Symbol.dispose]() };
  });
  return possible.some(({ name }) => name === "ext4") ? own : [temporaryGround(), ...own];
}

function temporaryGround(): Ground {
  const point = mkdtempSync(path.join(tmpdir(), "holdfast-bench-"));
  whenWeEnd('rm -rf "$1"', point);
  return {
    name: "here",
    point,
    backends: ["clone", "overlay", "copy"],
    [Symbol.dispose]: () => {
      execFileSync(nativeProgram(), ["remove", point]);
      rmSync(point, { recursive: true, force: true });
    },
  };
}

/** How many of twenty files stand in `node_modules/`, which is ignored; the others in `src/`. */
export type Ignored = 18 | 0;

/** A tree of a size, made once. */
export class BenchTree {
  readonly fixture: ForkFixture;
  readonly files: number;
  readonly ignored: Ignored;

  constructor(ground: Ground, files: number, ignored: Ignored) {
    this.files = files;
    this.ignored = ignored;
    this.fixture = new ForkFixture(ground.point);
    const { workspace, nativePath } = this.fixture;
    if (ground.backends.includes("snapshot")) {
      rmSync(workspace, { recursive: true });
      execFileSync(nativePath, ["subvolume", "create", workspace], { stdio: "ignore" });
    }
    execFileSync("git", ["init", "-q"], { cwd: workspace });
    this.fixture.write(".gitignore", "node_modules/\n");
    for (let i = 0; i < files; i += 20) {
      const top = (i / 20) % 20 < ignored ? "node_modules" : "src";
      const directory = path.join(workspace, top, `p${i}`);
      mkdirSync(directory, { recursive: true });
      for (let j = 0; j < 20; j++) {
        const text = `// ${i} ${j}\n`.repeat(1 + ((i * j) % 700));
        writeFileSync(path.join(directory, `f${j}.js`), text);
      }
    }
  }

  /** When its youngest entry was made. */
  get madeMs(): number {
    return statSync(this.fixture.workspace).ctimeMs;
  }
}
