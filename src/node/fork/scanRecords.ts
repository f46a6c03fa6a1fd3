import { decodePath } from "./pathBytes.ts";
import type { EntryType } from "./manifest.ts";

/** One record of `holdfast-native scan`: see native/PROTOCOL.md. Times in nanoseconds. */
export interface ScanRecord {
  /** A added, D deleted, M content, U cannot be compared, P mode, T link target or type, E unreadable directory,
   * S only the time, or the names of the inode, O directory of an overlay whose lower entries do not show through, L directory with
   * entries nested too deep to be told. */
  readonly code: "A" | "D" | "M" | "U" | "P" | "T" | "S" | "E" | "O" | "L";
  readonly type: EntryType | "fifo" | "socket";
  readonly mode: number;
  readonly size: number;
  readonly ino: string;
  readonly btime: string;
  readonly ctime: string;
  readonly mtime: string;
  readonly path: string;
}

const typeNames: Readonly<Record<string, ScanRecord["type"]>> = {
  f: "file",
  l: "symlink",
  d: "directory",
  p: "fifo",
  s: "socket",
  o: "other",
};

function isCode(text: string): text is ScanRecord["code"] {
  return /^[ADMUPTSEOL]$/.test(text);
}

/** Parses the NUL-ended records, in order of path. */
export function parseScanRecords(bytes: Buffer): ScanRecord[] {
  const records: ScanRecord[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(0, start);
    if (end < 0) throw new Error("a scan record is cut off");
    records.push(parseRecord(bytes.subarray(start, end)));
    start = end + 1;
  }
  return records.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

function parseRecord(bytes: Buffer): ScanRecord {
  const fields: string[] = [];
  let at = 0;
  while (fields.length < 8) {
    const space = bytes.indexOf(0x20, at);
    if (space < 0) throw new Error("a scan record is damaged");
    fields.push(bytes.toString("latin1", at, space));
    at = space + 1;
  }
  const [code = "", type = "", mode = "", size = "", ...rest] = fields;
  const [ino = "", btime = "", ctime = "", mtime = ""] = rest;
  if (!isCode(code)) throw new Error(`a scan record has the unknown code ${code}`);
  return {
    code,
    type: typeNames[type] ?? "other",
    mode: Number.parseInt(mode, 8),
    size: Number(size),
    ino,
    btime,
    ctime,
    mtime,
    path: decodePath(bytes.subarray(at)),
  };
}
