import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { whenWeEnd } from "./whenWeEnd.ts";

const makers = {
  ext4: ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
  xfs: ["mkfs.xfs", "-q", "-m", "reflink=1"],
  btrfs: ["mkfs.btrfs", "-q"],
} as const;

/** A filesystem in a sparse file, mounted for the length of a suite, and not longer than we live. Root only. */
export class LoopFilesystem {
  readonly point: string;
  readonly #root: string;

  constructor(kind: keyof typeof makers, gigabytes = 4) {
    this.#root = mkdtempSync(path.join(tmpdir(), "holdfast-loop-"));
    this.point = path.join(this.#root, "mount");
    const image = path.join(this.#root, "image");
    const [program, ...args] = makers[kind];
    mkdirSync(this.point);
    // Lazily: what is still at work there has no more than its last moments.
    whenWeEnd('umount -l "$1/mount"; rm -f "$1/image"; rmdir "$1/mount" "$1"', this.#root);
    execFileSync("truncate", ["-s", `${gigabytes}G`, image]);
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
