import type { AttackWorld } from "./world.ts";

/** The eight categories of DESIGN's threat list. */
export type Category =
  | "host damage"
  | "credential reading"
  | "egress"
  | "secrets"
  | "kernel surface"
  | "persistence through commit"
  | "path tricks at publish"
  | "control plane";

/** What one attack's script did. */
export interface Outcome {
  readonly exitCode: number;
  readonly output: string;
}

/**
 * One attack: a bash script that tries something against canaries. It must hit when nothing confines it, else it is no
 * test, and it must not in Holdfast. It runs in the workspace with the world's `context` sourced.
 */
export interface Attack {
  /** Stable and short: names the script's file. */
  readonly id: string;
  readonly category: Category;
  readonly title: string;
  readonly script: string;
  /** Whether it got what it wanted. */
  readonly hit: (world: AttackWorld, outcome: Outcome) => boolean;
  /** Why it cannot be shown to hit unconfined on every machine. */
  readonly marked?: string;
}

/** The script's own exit code tells. */
export const exitsZero = (_: AttackWorld, { exitCode }: Outcome): boolean => exitCode === 0;

/** It printed the canary value of that name. */
export const prints =
  (name: string) =>
  (world: AttackWorld, { output }: Outcome): boolean =>
    output.includes(world.secret(name));

/** A file of the world has other content than it was made with. */
export const spoils =
  (file: string) =>
  (world: AttackWorld): boolean =>
    world.spoilt(file);

/** A listener on the host heard this attack's word. */
export const heard =
  (word: string) =>
  (world: AttackWorld): boolean =>
    world.heard(word);

/** There is something at that path of the workspace now. */
export const appears =
  (file: string) =>
  (world: AttackWorld): boolean =>
    world.present(file);
