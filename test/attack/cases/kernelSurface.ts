import { exitsZero } from "../attack.ts";
import type { Attack } from "../attack.ts";

const category = "kernel surface" as const;

/** One call each, by name as test/attack/attack.c knows it. */
const calls = [
  ...[
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "kexec_load",
    "kexec_file_load",
    "reboot",
  ],
  ...[
    "init_module",
    "finit_module",
    "delete_module",
    "swapon",
    "swapoff",
    "settimeofday",
    "clock_settime",
  ],
  ...[
    "acct",
    "syslog",
    "quotactl",
    "lookup_dcookie",
    "perf_event_open",
    "userfaultfd",
    "fanotify_init",
    "bpf",
  ],
  ...[
    "keyctl",
    "add_key",
    "request_key",
    "kcmp",
    "pidfd_getfd",
    "process_madvise",
    "setns",
    "pivot_root",
  ],
  ...["umount2", "move_mount", "open_tree", "fsopen", "fspick", "mount_setattr", "chroot"],
  ...["open_by_handle_at", "name_to_handle_at", "personality", "modify_ldt", "iopl", "sethostname"],
  ...[
    "ptrace",
    "memory",
    "unshare-user",
    "clone-user",
    "clone3-user",
    "mount",
    "tiocsti",
    "tiocsti-high",
  ],
  ...["tiocsetd", "alg", "whiteout", "blockdev", "i386"],
  ...[
    "netlink-audit",
    "netlink-xfrm",
    "netlink-netfilter",
    "netlink-generic",
    "limits",
    "schedule",
  ],
  ...["statmount", "listmount", "file_getattr", "file_setattr", "udplite", "subvolume"],
  ...["setpriority", "setpriority-all", "ioprio_set", "crash-handler"],
];

/** Calls that some kernels do not have, or that want root: they cannot be shown to get in everywhere. */
const marked = "needs root, or a kernel that has the call";

/** The ways into the kernel that DESIGN §4 closes. */
export const kernelSurface: readonly Attack[] = calls.map((call) => ({
  id: `kernel-${call}`,
  category,
  title: `${call.replaceAll("-", " ")} gets in`,
  script: `$ATTACK ${call}`,
  hit: exitsZero,
  marked,
}));
