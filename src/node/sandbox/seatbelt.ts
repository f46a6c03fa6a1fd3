import path from "node:path";
import { Failure } from "../../base/errors.ts";
import type { SandboxSpec } from "../../runtime/ports.ts";

/**
 * The macOS sandbox: a Seatbelt profile for `sandbox-exec -f`. Not yet run on a Mac; what it says is tested. It is weaker
 * than Linux's: no namespaces, so the shadow stands at its own path and processes see each other's names. As on Linux,
 * what is not named is denied, and the only way out is the door's socket.
 */

/** Read by every program that starts; the same list as Apple's own profiles begin with. */
const systemReads = [
  "/usr/lib",
  "/usr/bin",
  "/usr/sbin",
  "/usr/share",
  "/usr/libexec",
  "/usr/local",
  "/bin",
  "/sbin",
  "/System",
  "/Library/Apple",
  "/Library/Developer",
  "/Library/Preferences/Logging",
  "/opt/homebrew",
  "/private/etc/hosts",
  "/private/etc/localtime",
  "/private/etc/passwd",
  "/private/etc/protocols",
  "/private/etc/services",
  "/private/etc/shells",
  "/private/etc/ssl",
  "/private/var/db/timezone",
  "/private/var/select",
];

const devices = [
  "/dev/null",
  "/dev/zero",
  "/dev/random",
  "/dev/urandom",
  "/dev/tty",
  "/dev/ptmx",
  "/dev/dtracehelper",
];

/** A string of the profile's language. A control character has no place in a path that decides about access. */
function quoted(text: string): string {
  if (/[\u0000-\u001f\u007f]/.test(text)) {
    const fix = "rename the directory";
    throw new Failure(
      "refused",
      "path-control",
      "a path with control characters cannot be confined",
      fix,
    );
  }
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

const subpaths = (paths: readonly string[]): string =>
  paths.map((one) => `(subpath ${quoted(one)})`).join(" ");

const literals = (paths: readonly string[]): string =>
  paths.map((one) => `(literal ${quoted(one)})`).join(" ");

/** Every directory above, so that a path can be resolved without its neighbours being listed. */
function above(directory: string): readonly string[] {
  const found: string[] = [];
  for (let at = path.dirname(directory); at !== "/"; at = path.dirname(at)) found.push(at);
  return [...found, "/"];
}

/** Where things are on the Mac: a private home and a private temporary directory, made for the transaction. */
export interface SeatbeltPlaces {
  readonly home: string;
  readonly temporary: string;
  /** Port on 127.0.0.1 that leads to the door. */
  readonly bridgePort: number;
}

/** The profile's text. Later rules win over earlier ones, so the denials of secrets come last. */
export function seatbeltProfile(spec: SandboxSpec, places: SeatbeltPlaces): string {
  const { fork, paths, launch } = spec;
  if (fork.overlays.length > 0) {
    const fix = "run with --backend clone or copy";
    throw new Failure("refused", "no-overlays", "macOS has no overlay mounts", fix);
  }
  const writes = [
    ...(spec.shadowReadOnly === true ? [] : [fork.shadow]),
    places.home,
    places.temporary,
  ];
  const reads = [...systemReads, ...launch.readOnly, fork.shadow, places.home, places.temporary];
  const door = spec.door === false ? [] : [paths.door];
  const lines = [
    "(version 1)",
    "(deny default)",
    "(allow process-exec process-fork)",
    "(allow signal (target same-sandbox))",
    "(allow process-info* (target same-sandbox))",
    "(allow sysctl-read)",
    "(allow pseudo-tty)",
    '(allow mach-lookup (global-name "com.apple.system.notification_center") (global-name "com.apple.system.logger"))',
    `(allow file-read* ${subpaths([...reads, ...door])})`,
    `(allow file-read-metadata ${literals([...new Set(reads.concat(door).flatMap(above))])})`,
    `(allow file-read* file-write-data file-ioctl ${literals(devices)} (regex #"^/dev/ttys[0-9]+$"))`,
    `(allow file-write* ${subpaths(writes)})`,
    "(deny network*)",
    '(allow network-bind network-inbound (local ip "localhost:*"))',
    // No network namespace here: the host's own services listen on loopback too, so one port of it is open.
    ...door.map((directory) => {
      const ways = `(remote ip "localhost:${places.bridgePort}") ${literals([`${directory}/agent.sock`])}`;
      return `(allow network-outbound ${ways})`;
    }),
    `(deny file-read* file-write* ${subpaths([paths.state, paths.base])} (literal ${quoted(`${paths.root}/journal.jsonl`)}) (literal ${quoted(`${paths.root}/control.sock`)}))`,
    `(allow file-read* ${subpaths([fork.shadow])})`,
    ...(spec.shadowReadOnly === true ? [] : [`(allow file-write* ${subpaths([fork.shadow])})`]),
    "(deny file-write-setugid)",
  ];
  return `${lines.join("\n")}\n`;
}

/** The program and arguments that run the launch under a profile written to `profileFile`. */
export function seatbeltCommand(spec: SandboxSpec, profileFile: string): readonly string[] {
  return ["/usr/bin/sandbox-exec", "-f", profileFile, "--", ...spec.launch.argv];
}
