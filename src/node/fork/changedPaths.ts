import { Failure } from "../../base/errors.ts";
import type { ChangedPath } from "../../runtime/ports.ts";
import type { Reader } from "./reader.ts";
import { findRenames, type RenameSide } from "./renames.ts";
import type { IgnoreRules } from "./ignoreRules.ts";
import type { ScanRecord } from "./scanRecords.ts";

function kindOf(record: ScanRecord, reader: Reader): ChangedPath["change"] {
  switch (record.code) {
    case "A":
      return "added";
    case "D":
      return "deleted";
    case "P":
      return "mode";
    case "T":
      return "symlink";
    case "L":
      return reader.baseHasDirectory(record.path) ? "modified" : "added";
    case "M":
    case "U":
    case "S":
    case "E":
    case "O":
      return "modified";
  }
}

function typeOf(record: ScanRecord): "file" | "symlink" | "directory" {
  return record.type === "directory" || record.type === "symlink" ? record.type : "file";
}

function sideOf(record: ScanRecord, ignored: ReadonlySet<string>): RenameSide {
  return { ...record, ignored: ignored.has(record.path) };
}

/** What masking itself has changed is no change of the agent's: the masked text is the base. */
async function withoutMasks(records: readonly ScanRecord[], reader: Reader): Promise<ScanRecord[]> {
  const kept: ScanRecord[] = [];
  for (const record of records) {
    const masked = reader.masks.masked(record.path);
    const base = masked === undefined ? undefined : await reader.stat("base", record.path);
    if (masked === undefined || base === undefined) {
      kept.push(record);
    } else if (record.code === "D") {
      kept.push({ ...record, size: masked.length });
    } else {
      const bytes = await reader.read("shadow", record.path);
      const same = record.code !== "T" && bytes !== undefined && masked.equals(bytes);
      if (!same) kept.push(record);
      else if (record.mode !== base.mode) kept.push({ ...record, code: "P" });
    }
  }
  return kept;
}

/** The base of a file; where it is gone, because the person has changed the file too, what is next best. */
async function unlessLost(
  reader: Reader,
  path: string,
  nextBest: () => Uint8Array | undefined = () => undefined,
): Promise<Uint8Array | undefined> {
  try {
    return await reader.read("base", path);
  } catch (error) {
    if (error instanceof Failure && error.code === "base-lost") return nextBest();
    throw error;
  }
}

/** The change set's paths from the records of a scan: kinds, renames by content, the base's ignore rules. */
export async function changedPaths(
  records: readonly ScanRecord[],
  reader: Reader,
  rules: IgnoreRules,
): Promise<readonly ChangedPath[]> {
  const deep = new Set(records.filter(({ code }) => code === "L").map((one) => one.path));
  const readable = records.filter(
    ({ code, path }) => code !== "E" && code !== "O" && (code === "L" || !deep.has(path)),
  );
  const kept = await withoutMasks(readable, reader);
  const ignored = await rules.excluded(
    kept.map((record) => ({ path: record.path, directory: record.type === "directory" })),
    (path) => unlessLost(reader, path, () => reader.readHost(path)),
  );
  const files = kept.filter((record) => record.type === "file");
  const renames = await findRenames(
    files.filter((record) => record.code === "D").map((record) => sideOf(record, ignored)),
    files.filter((record) => record.code === "A").map((record) => sideOf(record, ignored)),
    {
      deleted: (side) => unlessLost(reader, side.path),
      added: (side) => reader.read("shadow", side.path),
    },
  );
  const moved = new Set(renames.values());
  const goneAt = deletionTimes(reader);
  return kept
    .filter((record) => record.code !== "D" || !moved.has(record.path))
    .map((record) => {
      const from = renames.get(record.path);
      return {
        path: record.path,
        change: from === undefined ? kindOf(record, reader) : "renamed",
        ...(from !== undefined && { from }),
        ...(record.code !== "D" && { mode: record.mode }),
        bytes: record.size,
        type: typeOf(record),
        ...(record.code === "L" && { nestedTooDeep: true as const }),
        ignored: ignored.has(record.path),
        ...(record.code === "D"
          ? goneAt(record.path)
          : {
              stamp: `${record.ino}.${record.ctime}`,
              changedAtMs: Number(BigInt(record.ctime) / 1_000_000n),
            }),
      };
    });
}

/** Tells when a path was deleted, at the latest; one look a directory. */
function deletionTimes(reader: Reader): (path: string) => { readonly changedAtMs?: number } {
  const known = new Map<string, { readonly changedAtMs?: number }>();
  return (path) => {
    const above = path.slice(0, Math.max(0, path.lastIndexOf("/")));
    let told = known.get(above);
    if (told === undefined) {
      const changedAtMs = reader.namesChangedMs(path);
      told = changedAtMs === undefined ? {} : { changedAtMs };
      known.set(above, told);
    }
    return told;
  };
}
