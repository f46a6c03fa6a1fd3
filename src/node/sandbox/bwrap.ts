import { accessSync, constants } from "node:fs";
import path from "node:path";
import { Failure } from "../../base/errors.ts";
import { installFix } from "./distribution.ts";

const usualPlaces = ["/usr/bin", "/usr/local/bin", "/bin"];

/** Where bubblewrap is; throws a Failure `bwrap-missing` that names this distribution's command. */
export function findBwrap(given?: string): string {
  const named = given ?? process.env["HOLDFAST_BWRAP"];
  const onPath = (process.env["PATH"] ?? "")
    .split(":")
    .filter((directory) => path.isAbsolute(directory));
  const candidates =
    named === undefined
      ? [...usualPlaces, ...onPath].map((directory) => path.join(directory, "bwrap"))
      : [named];
  const found = candidates.find((candidate) => runs(candidate));
  if (found !== undefined) return found;
  const where =
    named === undefined ? "bubblewrap (bwrap) is not installed" : `${named} is not a program`;
  throw new Failure("refused", "bwrap-missing", where, installFix("bubblewrap"));
}

function runs(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // not there, or not ours to run: the next candidate
  }
}
