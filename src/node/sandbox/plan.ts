/**
 * The launch plan as data, and its encoding for `holdfast-native supervise` (native/PROTOCOL.md, section "supervise").
 * The order of mounts is the order of the records, parents before what lies in them.
 */
export type PlanRecord =
  | readonly ["bwrap", path: string]
  | readonly ["bare"]
  | readonly ["uid" | "gid", id: string]
  | readonly ["hostname", name: string]
  | readonly ["read" | "read-try" | "write" | "copy", source: string, target: string]
  | readonly ["tmpfs" | "directory", target: string, mode: string]
  | readonly ["symlink", points: string, target: string]
  | readonly ["file", target: string, mode: string, content: string]
  | readonly ["seal" | "dev" | "proc", target: string]
  | readonly ["overlay", at: string, lower: string, upper: string, work: string]
  | readonly ["overlay-read", at: string, lower: string, upper: string]
  | readonly ["overlay-memory", at: string, top: string, bottom: string]
  | readonly ["argument", text: string]
  | readonly ["variable", name: string, value: string]
  | readonly ["cwd", path: string]
  | readonly ["terminal", columns: string, rows: string]
  | readonly ["bridge", port: string, socket: string]
  | readonly ["transparent"]
  | readonly ["limit", name: string, value: string]
  | readonly ["allow", name: string]
  | readonly ["unobserved"]
  | readonly ["background"]
  | readonly ["ablate", name: string];

/** NUL-framed: each field ends in NUL. Throws a RangeError when a field holds a NUL, which nothing in a plan may. */
export function encodePlan(records: readonly PlanRecord[]): Buffer {
  const parts: string[] = [];
  for (const record of records) {
    for (const field of record) {
      if (field.includes("\0"))
        throw new RangeError(`a launch plan cannot hold a NUL (${record[0]})`);
      parts.push(field, "\0");
    }
  }
  return Buffer.from(parts.join(""), "utf8");
}
