import path from "node:path";

/**
 * The profile that confines a program on macOS. As on Linux, what is not named is denied; of two rules that match, the later
 * one counts, so the denials stand after what they take from. No path is ever a part of the text: it says `(param "P0")`,
 * and `sandbox-exec -DP0=PATH` gives the path, so that no character of one can be read as a rule.
 */
export interface SeatbeltProfile {
  readonly text: string;
  /** By name, what `-D` gives. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** What a program may see and do. Paths as the file system itself spells them: Seatbelt compares bytes. */
export interface SeatbeltView {
  /** Read, with all that lies below. */
  readonly reads: readonly string[];
  /** Below one of `reads` and not shown: credentials among tools. */
  readonly hidden: readonly string[];
  /** Ours; not shown, whatever else is allowed, but for `writes` and `shown`. */
  readonly state: readonly string[];
  /** Read and written, with all that lies below. */
  readonly writes: readonly string[];
  /** Read, also where it lies in `state`. */
  readonly shown: readonly string[];
  /** Unix sockets that may be connected to. */
  readonly sockets: readonly string[];
  /** The port of 127.0.0.1 that leads to the broker; left out: no way out. */
  readonly bridgePort?: number;
}

/** Read by every program that starts. Not all of /System: the data volume is below it once more. */
const systemReads = [
  "/usr/lib",
  "/usr/bin",
  "/usr/sbin",
  "/usr/share",
  "/usr/libexec",
  "/usr/local",
  "/bin",
  "/sbin",
  "/System/Library",
  "/System/Cryptexes",
  "/System/Volumes/Preboot/Cryptexes",
  "/System/iOSSupport",
  "/Library/Apple",
  "/Library/Developer",
  "/opt/homebrew",
  "/private/etc/hosts",
  "/private/etc/localtime",
  "/private/etc/passwd",
  "/private/etc/protocols",
  "/private/etc/services",
  "/private/etc/shells",
  "/private/etc/ssl",
  "/private/var/db/dyld",
  "/private/var/db/timezone",
  "/private/var/select",
];

/** Directories and links on the way to them, seen and not listed. */
const systemWay = ["/", "/etc", "/tmp", "/var", "/private", "/private/etc", "/private/var"];

/** Of Homebrew's trees: what its services keep, databases among them. */
const systemHidden = ["/opt/homebrew/var", "/usr/local/var"];

/** What a runtime asks of machine and system. Not `kern.proc…`: the arguments and environments of the person's processes. */
const systemValues = [
  ...["kern.argmax", "kern.boottime", "kern.hostname", "kern.hv_vmm_present", "kern.maxfiles"],
  ...["kern.maxfilesperproc", "kern.maxproc", "kern.ngroups", "kern.osproductversion"],
  ...["kern.osproductversioncompat", "kern.osrelease", "kern.ostype", "kern.osvariant_status"],
  ...["kern.osversion", "kern.secure_kernel", "kern.usrstack64", "kern.version"],
  ...["kern.willshutdown", "machdep.ptrauth_enabled", "security.mac.lockdown_mode_state"],
  ...["sysctl.proc_cputype", "sysctl.proc_translated", "vm.loadavg"],
];
const systemValuePrefixes = ["hw.", "machdep.cpu."];

/** Descriptors of whoever opens them. */
const ownDescriptors = "/dev/fd";
const waysToDescriptors = ["/dev", "/dev/stdin", "/dev/stdout", "/dev/stderr"];

const devices = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/ptmx"];

const quoted = (word: string): string => `"${word}"`;

type Filter = "literal" | "subpath" | "sysctl-name" | "sysctl-name-prefix";

const filters = (name: Filter, words: readonly string[]): string =>
  words.map((word) => ` (${name} ${word})`).join("");

/** Every directory above, so that a path can be resolved without its neighbours being listed. */
function above(directory: string): readonly string[] {
  const found: string[] = [];
  for (let at = path.dirname(directory); at !== "/"; at = path.dirname(at)) found.push(at);
  return found;
}

/** Names paths by parameter, each once. */
class Parameters {
  readonly names = new Map<string, string>();

  of(paths: readonly string[]): readonly string[] {
    return paths.map((one) => {
      const name = this.names.get(one) ?? `P${this.names.size}`;
      this.names.set(one, name);
      return `(param ${quoted(name)})`;
    });
  }

  get byName(): ReadonlyMap<string, string> {
    return new Map([...this.names].map(([value, name]) => [name, value]));
  }
}

/** A rule over paths; none where there is no path, as a rule without one would be about everything. */
function rule(
  verdict: "allow" | "deny",
  operations: string,
  kind: "literal" | "subpath",
  words: readonly string[],
): readonly string[] {
  return words.length === 0 ? [] : [`(${verdict} ${operations}${filters(kind, words)})`];
}

export function seatbeltProfile(view: SeatbeltView): SeatbeltProfile {
  const { reads, hidden, state, writes, shown, sockets, bridgePort } = view;
  const given = new Parameters();
  const way = [...new Set([...reads, ...writes, ...shown, ...sockets].flatMap(above))];
  const lines = [
    "(version 1)",
    "(deny default)",
    "(allow process-fork)",
    "(allow signal (target same-sandbox))",
    "(allow process-info* (target same-sandbox))",
    `(allow sysctl-read${filters("sysctl-name", systemValues.map(quoted))}${filters("sysctl-name-prefix", systemValuePrefixes.map(quoted))})`,
    '(allow mach-lookup (global-name "com.apple.system.notification_center") (global-name "com.apple.system.opendirectoryd.libinfo"))',
    // What may not be read may not be run either: a program can hold a secret.
    `(allow file-read* process-exec${filters("subpath", systemReads.map(quoted))})`,
    `(deny file-read* process-exec${filters("subpath", systemHidden.map(quoted))})`,
    `(allow file-read-metadata${filters("literal", systemWay.map(quoted))})`,
    `(allow file-read* file-write-data file-ioctl${filters("literal", devices.map(quoted))})`,
    `(allow file-read* file-write-data${filters("subpath", [quoted(ownDescriptors)])})`,
    `(allow file-read-metadata${filters("literal", waysToDescriptors.map(quoted))})`,
    // Terminals that it opened itself; the person's own would take keystrokes from it.
    "(allow pseudo-tty)",
    '(allow file-read* file-write-data file-ioctl (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))',
    ...rule("allow", "file-read-metadata", "literal", given.of(way)),
    ...rule("allow", "file-read* process-exec", "subpath", given.of(reads)),
    ...rule(
      "deny",
      "file-read* file-write* process-exec",
      "subpath",
      given.of([...hidden, ...state]),
    ),
    ...rule("allow", "file-read* process-exec", "subpath", given.of(shown)),
    ...rule("allow", "file-read* file-write* process-exec", "subpath", given.of(writes)),
    "(deny file-write-setugid)",
    "(deny network*)",
    // There is no network of its own: the person's services listen on this loopback too, so one port of it is open.
    '(allow network-bind network-inbound (local ip "localhost:*"))',
    ...(bridgePort === undefined
      ? []
      : [`(allow network-outbound (remote ip "localhost:${bridgePort}"))`]),
    ...rule("allow", "network-outbound", "literal", given.of(sockets)),
  ];
  return { text: `${lines.join("\n")}\n`, parameters: given.byName };
}
