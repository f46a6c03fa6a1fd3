import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { Failure, messageOf } from "../base/errors.ts";
import type { ChangeSet } from "../core/change/changeSet.ts";
import { checkSettings, type CheckSettings } from "../core/check/checkSettings.ts";
import { sha256 } from "../node/journal/journalFile.ts";
import type { Fork, TransactionPaths } from "../runtime/ports.ts";

/** Writes a state file whole or not at all. */
export function writeWhole(file: string, text: string): void {
  const fd = openSync(`${file}.new`, "w", 0o600);
  try {
    for (let bytes = Buffer.from(text); bytes.length > 0;)
      bytes = bytes.subarray(writeSync(fd, bytes));
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(`${file}.new`, file);
}

function readWhole(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as unknown;
  } catch (error) {
    const fix = "the transaction's state was moved or damaged; `holdfast discard` removes the rest";
    throw new Failure("failed", "state-lost", `${file} cannot be read: ${messageOf(error)}`, fix);
  }
}

export function saveFork(paths: TransactionPaths, fork: Fork): void {
  writeWhole(path.join(paths.state, "fork.json"), JSON.stringify(fork));
}

/** The fork of a transaction; undefined when it never came to one. Throws a Failure when its file is damaged. */
export function loadFork(paths: TransactionPaths): Fork | undefined {
  const file = path.join(paths.state, "fork.json");
  return existsSync(file) ? (readWhole(file) as Fork) : undefined;
}

/** Keeps what the person said about checks when the transaction began. */
export function saveCheckSettings(paths: TransactionPaths, settings: CheckSettings): void {
  writeWhole(path.join(paths.state, "checks.json"), JSON.stringify(settings));
}

export function loadCheckSettings(paths: TransactionPaths): CheckSettings {
  const file = path.join(paths.state, "checks.json");
  return existsSync(file) ? checkSettings.parse(readWhole(file)) : {};
}

/** Saves an immutable change set; its name holds the hash of its content. */
export function saveChangeSet(paths: TransactionPaths, changeSet: ChangeSet): string {
  const text = JSON.stringify(changeSet);
  const name = `changes-${sha256(text)}.json`;
  writeWhole(path.join(paths.state, name), text);
  return name;
}

/** Loads a change set and proves that it is the one that was sealed. */
export function loadChangeSet(paths: TransactionPaths, name: string): ChangeSet {
  const file = path.join(paths.state, path.basename(name));
  const value = readWhole(file);
  if (`changes-${sha256(readFileSync(file))}.json` !== name) {
    throw new Failure("failed", "change-set-altered", `${file} was altered since the seal`);
  }
  return value as ChangeSet;
}
