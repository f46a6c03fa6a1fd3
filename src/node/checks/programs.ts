import { existsSync, openSync, readSync, closeSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Shown } from "./checkSandbox.ts";

/** A program of this machine as the sandbox can run it: its path, and what has to be shown for it. */
export interface Program {
  readonly path: string;
  readonly shown: readonly Shown[];
}

const systemPrefixes = ["/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/"];

/** The real directory of the running Node, to be shown inside when it is not a system directory. */
export function nodeDirectory(): string | undefined {
  const directory = dirname(realpathSync(process.execPath));
  return isSystem(directory) ? undefined : directory;
}

/** Folders of a program's prefix that it may need; never the prefix itself, which can be a home with secrets in it. */
const partsOfPrefix = ["bin", "lib", "lib64", "libexec", "include", "pkg", "src"];

/** Finds a program by name in PATH, with what it stands on. */
export function findProgram(name: string, path = process.env["PATH"] ?? ""): Program | undefined {
  const found = path
    .split(":")
    .filter((directory) => directory.startsWith("/"))
    .map((directory) => join(directory, name))
    .find(isFile);
  if (found === undefined) return undefined;
  const prefixes = new Set([prefixOf(found), prefixOf(realpathSync(found))]);
  const interpreter = interpreterOf(found);
  if (interpreter !== undefined) prefixes.add(prefixOf(realpathSync(interpreter)));
  return { path: found, shown: [...prefixes].flatMap(partsToShow) };
}

/** A directory of PATH that is not for us to look into has no program for us. */
function isFile(candidate: string): boolean {
  try {
    return statSync(candidate).isFile();
  } catch (error) {
    if (error instanceof Error && "code" in error) return false;
    throw error;
  }
}

function prefixOf(program: string): string {
  const directory = dirname(program);
  return basename(directory) === "bin" ? dirname(directory) : directory;
}

function partsToShow(prefix: string): readonly Shown[] {
  if (isSystem(prefix)) return [];
  if (prefix === "/" || prefix === homedir()) {
    const bin = join(prefix, "bin");
    return existsSync(bin) ? [{ from: bin, to: bin }] : [];
  }
  return partsOfPrefix
    .map((part) => join(prefix, part))
    .filter((part) => existsSync(part))
    .map((part) => ({ from: part, to: part }));
}

function isSystem(directory: string): boolean {
  return systemPrefixes.some((system) => `${directory}/`.startsWith(system));
}

/** The interpreter in the first line of a script. */
function interpreterOf(script: string): string | undefined {
  const file = openSync(script, "r");
  try {
    const start = Buffer.alloc(256);
    const length = readSync(file, start, 0, start.length, 0);
    const match = /^#!\s*(\/\S+)/.exec(start.toString("latin1", 0, length));
    const path = match?.[1];
    return path !== undefined && existsSync(path) ? path : undefined;
  } finally {
    closeSync(file);
  }
}
