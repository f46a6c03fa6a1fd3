import { accessSync, constants, lstatSync, readdirSync, readlinkSync } from "node:fs";
import type { PlanRecord } from "./plan.ts";

/** Directories of the system, shown read-only; links among them (`/bin -> usr/bin`) stay links. */
const systemDirectories = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** Files of /etc that tell programs about the system and hold nothing secret; copied. */
const copiedFiles = [
  "bash.bashrc",
  "bindresvport.blacklist",
  "debian_version",
  "host.conf",
  "inputrc",
  "issue",
  "ld.so.cache",
  "ld.so.conf",
  "localtime",
  "locale.alias",
  "login.defs",
  "magic",
  "mime.types",
  "networks",
  "os-release",
  "profile",
  "protocols",
  "redhat-release",
  "rpc",
  "services",
  "shells",
  "timezone",
];

/** Directories of /etc of the same kind; bound. `ssl/certs` without `ssl/private`. */
const boundDirectories = [
  "alternatives",
  "ca-certificates",
  "crypto-policies",
  "fonts",
  "java-11-openjdk",
  "java-17-openjdk",
  "java-21-openjdk",
  "ld.so.conf.d",
  "maven",
  "perl",
  "pki",
  "profile.d",
  "python3",
  "ssl/certs",
  "terminfo",
];

/** What stands in the sandbox's account files. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly hostname: string;
  /** Whether the bridge answers for names (with made-up addresses that lead to the door). */
  readonly resolver: boolean;
}

function lookAt(path: string): "directory" | "symlink" | "file" | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  return stat.isDirectory() ? "directory" : stat.isSymbolicLink() ? "symlink" : "file";
}

function readable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch {
    return false; // not there, or not for this user: nothing to hide
  }
}

/** `/usr` and what belongs to it. */
export function systemRecords(): readonly PlanRecord[] {
  return systemDirectories.flatMap((directory): readonly PlanRecord[] => {
    const kind = lookAt(directory);
    if (kind === "symlink") return [["symlink", readlinkSync(directory), directory]];
    return kind === "directory" ? [["read", directory, directory]] : [];
  });
}

/** Parts of /proc that are not about processes. Who is root on the host may write some of them without any capability. */
const processForeign = [
  "sys",
  "sysrq-trigger",
  "irq",
  "bus",
  "acpi",
  "scsi",
  "fs",
  "driver",
  "mtrr",
];

/** Of the machine's, not of a process: names of the person's keys, and what only root may read, which who is root is. */
const processHidden = ["keys", "slabinfo", "vmallocinfo", "timer_list"];

/**
 * A /proc of the sandbox's own processes, the kernel's parameters in it read-only. Without `covering`, a sandbox inside can
 * mount its own /proc: only for users to whom the parameters are closed anyway.
 */
export function procRecords(covering: boolean): readonly PlanRecord[] {
  if (!covering) return [["proc", "/proc"]];
  const covered = processForeign
    .map((name) => `/proc/${name}`)
    .filter((file) => lookAt(file) !== undefined)
    .map((file): PlanRecord => ["read", file, file]);
  const hidden = processHidden
    .map((name) => `/proc/${name}`)
    .filter((file) => readable(file))
    .map((file): PlanRecord => ["read", "/dev/null", file]);
  return [["proc", "/proc"], ...covered, ...hidden];
}

/** The files of /etc that are made up: one user, no resolver but the bridge, loopback alone. */
function composedFiles({
  uid,
  gid,
  home,
  hostname,
  resolver,
}: Account): Readonly<Record<string, string>> {
  return {
    passwd: [
      "root:x:0:0:root:/nonexistent:/usr/sbin/nologin",
      `agent:x:${uid}:${gid}:agent:${home}:/bin/bash`,
      "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
      "",
    ].join("\n"),
    group: ["root:x:0:", `agent:x:${gid}:`, "nogroup:x:65534:", ""].join("\n"),
    hosts: `127.0.0.1 localhost ${hostname}\n::1 localhost ip6-localhost ip6-loopback\n`,
    hostname: `${hostname}\n`,
    "resolv.conf": resolver ? "nameserver 127.0.0.1\n" : "",
    "nsswitch.conf": `passwd: files\ngroup: files\nshadow: files\nhosts: files${resolver ? " dns" : ""}\nservices: files\nprotocols: files\n`,
    "machine-id": "",
    "ssl/openssl.cnf": "",
  };
}

const copiedMost = 4;

/** A directory as it is: bound, or copied when it holds a few files alone. A mount costs as much as five copies. */
function directoryRecords(directory: string): readonly PlanRecord[] {
  const entries = readable(directory) ? readdirSync(directory, { withFileTypes: true }) : [];
  if (entries.length > copiedMost || !entries.every((entry) => entry.isFile()))
    return [["read-try", directory, directory]];
  return [
    ["directory", directory, "0755"],
    ...entries.map((entry): PlanRecord => {
      const file = `${directory}/${entry.name}`;
      return ["copy", file, file];
    }),
  ];
}

/**
 * /etc put together: made-up accounts and hosts, copies and binds of what describes the system, and the given files.
 * Sealed after the last file, so that the agent cannot change its own managed settings.
 */
export function etcRecords(
  account: Account,
  files: readonly { readonly path: string; readonly content: string; readonly mode: number }[],
): readonly PlanRecord[] {
  const records: PlanRecord[] = [["tmpfs", "/etc", "0755"]];
  for (const [name, content] of Object.entries(composedFiles(account))) {
    records.push(["file", `/etc/${name}`, "0644", content]);
  }
  for (const name of copiedFiles) {
    if (lookAt(`/etc/${name}`) !== undefined)
      records.push(["copy", `/etc/${name}`, `/etc/${name}`]);
  }
  for (const name of boundDirectories) {
    if (lookAt(`/etc/${name}`) === "directory") records.push(...directoryRecords(`/etc/${name}`));
  }
  for (const { path, content, mode } of files) {
    records.push(["file", path, mode.toString(8).padStart(4, "0"), content]);
  }
  records.push(["seal", "/etc"]);
  return records;
}
