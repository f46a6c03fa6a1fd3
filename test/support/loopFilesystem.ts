import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const makers = {
  xfs: ["mkfs.xfs", "-q", "-m", "reflink=1"],
  btrfs: ["mkfs.btrfs", "-q"],
} as const;

/** A filesystem in a sparse file of 4 GB, mounted for the length of a suite. Root only. */
export class LoopFilesystem {
  readonly point: string;
  readonly #root: string;

  constructor(kind: keyof typeof makers) {
    this.#root = mkdtempSync(path.join(tmpdir(), "holdfast-loop-"));
    this.point = path.join(this.#root, "mount");
    const image = path.join(this.#root, "image");
    const [program, ...args] = makers[kind];
    mkdirSync(this.point);
    execFileSync("truncate", ["-s", "4G", image]);
    execFileSync(program, [...args, image], { stdio: "pipe" });
    execFileSync("mount", ["-o", "loop", image, this.point]);
  }

  /** Whether this user on this machine can make one. */
  static possible(kind: keyof typeof makers): boolean {
    return (
      process.getuid?.() === 0 &&
      existsSync("/dev/loop-control") &&
      existsSync(`/sbin/mkfs.${kind}`)
    );
  }

  [Symbol.dispose](): void {
    execFileSync("umount", ["-R", this.point]);
    rmSync(this.#root, { recursive: true, force: true });
  }
}
