/*
 * attack NAME [ARGUMENT…]: one attempt on the kernel or on another process, by the call itself and not by a tool that
 * may be missing. Exit code 0: it went through, or reached the code behind the call (which then found fault with the
 * harmless arguments); 1: it was refused (EPERM, EACCES, ENOSYS, EAFNOSUPPORT, ENOTTY, ENOSPC), with the reason on standard output.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define NEW_USER 0x10000000
#define NEW_MOUNT 0x00020000

static long call(long number, long a, long b, long c, long d, long e) {
    errno = 0;
    return syscall(number, a, b, c, d, e);
}

/* Calls with arguments that do no harm; what matters is whether they get in. */
static const struct {
    const char *name;
    long number;
    long arguments[5];
} calls[] = {
    {"io_uring_enter", SYS_io_uring_enter, {-1, 0, 0, 0, 0}},
    {"io_uring_register", SYS_io_uring_register, {-1, 0, 0, 0, 0}},
    {"kexec_load", SYS_kexec_load, {0, 0, 0, 0xffff, 0}},
    {"kexec_file_load", SYS_kexec_file_load, {-1, -1, 0, 0, 0}},
    {"reboot", SYS_reboot, {0, 0, 0, 0, 0}},
    {"init_module", SYS_init_module, {0, 0, 0, 0, 0}},
    {"finit_module", SYS_finit_module, {-1, 0, 0, 0, 0}},
    {"delete_module", SYS_delete_module, {(long)"holdfast_none", 0x800, 0, 0, 0}},
    {"swapon", SYS_swapon, {(long)"/nonesuch", 0, 0, 0, 0}},
    {"swapoff", SYS_swapoff, {(long)"/nonesuch", 0, 0, 0, 0}},
    {"settimeofday", SYS_settimeofday, {0, 1, 0, 0, 0}},
    {"clock_settime", SYS_clock_settime, {0, 1, 0, 0, 0}},
    {"acct", SYS_acct, {(long)"/nonesuch", 0, 0, 0, 0}},
    {"syslog", SYS_syslog, {10, 0, 0, 0, 0}},
    {"quotactl", SYS_quotactl, {0x800007 << 8, (long)"/nonesuch", 0, 0, 0}},
    {"lookup_dcookie", SYS_lookup_dcookie, {0, 0, 0, 0, 0}},
    {"perf_event_open", SYS_perf_event_open, {0, 0, -1, -1, 0}},
    {"userfaultfd", SYS_userfaultfd, {1, 0, 0, 0, 0}},
    {"fanotify_init", SYS_fanotify_init, {0x200, 0, 0, 0, 0}},
    {"bpf", SYS_bpf, {0, 0, 0, 0, 0}},
    {"keyctl", SYS_keyctl, {0, -3, 1, 0, 0}},
    {"add_key", SYS_add_key, {(long)"user", (long)"holdfast", (long)"x", 1, -2}},
    {"request_key", SYS_request_key, {(long)"user", (long)"holdfast-none", 0, 0, 0}},
    {"pidfd_getfd", SYS_pidfd_getfd, {-1, 0, 0, 0, 0}},
    {"process_madvise", SYS_process_madvise, {-1, 0, 0, 0, 0}},
    {"setns", SYS_setns, {-1, 0, 0, 0, 0}},
    {"pivot_root", SYS_pivot_root, {(long)"/nonesuch", (long)"/nonesuch", 0, 0, 0}},
    {"umount2", SYS_umount2, {(long)"/nonesuch", 0, 0, 0, 0}},
    {"move_mount", SYS_move_mount, {-1, (long)"", -1, (long)"", 0}},
    {"open_tree", SYS_open_tree, {-100, (long)"/nonesuch", 0, 0, 0}},
    {"fsopen", SYS_fsopen, {(long)"tmpfs", 0, 0, 0, 0}},
    {"fspick", SYS_fspick, {-100, (long)"/nonesuch", 0, 0, 0}},
    {"mount_setattr", SYS_mount_setattr, {-100, (long)"/nonesuch", 0, 0, 0}},
    {"chroot", SYS_chroot, {(long)"/nonesuch", 0, 0, 0, 0}},
    {"open_by_handle_at", SYS_open_by_handle_at, {-1, 0, 0, 0, 0}},
    {"name_to_handle_at", SYS_name_to_handle_at, {-1, 0, 0, 0, 0}},
    {"personality", SYS_personality, {0x0400000, 0, 0, 0, 0}},
    {"statmount", 457, {0, 0, 0, 0, 0}},
    {"listmount", 458, {0, 0, 0, 0, 0}},
    {"file_getattr", 468, {-1, 0, 0, 0, 0}},
    {"file_setattr", 469, {-1, 0, 0, 0, 0}},
    {"setpriority", SYS_setpriority, {0, 1, 0, 0, 0}},
    {"setpriority-all", SYS_setpriority, {2, 0, 0, 0, 0}},
    {"ioprio_set", SYS_ioprio_set, {1, 1, 0, 0, 0}},
#if defined(__x86_64__)
    {"modify_ldt", SYS_modify_ldt, {0, 0, 0, 0, 0}},
    {"iopl", SYS_iopl, {0, 0, 0, 0, 0}},
#endif
    {"sethostname", SYS_sethostname, {0, -1, 0, 0, 0}},
};

static long io_uring_setup(void) {
    char parameters[120] = {0};
    return call(SYS_io_uring_setup, 1, (long)parameters, 0, 0, 0);
}

static long ptrace_child(void) {
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    long result = call(SYS_ptrace, 16 /* PTRACE_ATTACH */, child, 0, 0, 0);
    int error = errno;
    kill(child, SIGKILL);
    errno = error;
    return result;
}

/* process_vm_readv of a given process: its first mapped bytes. */
static long read_memory(pid_t pid) {
    char path[64];
    char line[128] = "";
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "r");
    if (maps == NULL || fgets(line, sizeof line, maps) == NULL) {
        return -1;
    }
    char bytes[16];
    struct iovec local = {bytes, sizeof bytes};
    struct iovec remote = {(void *)(uintptr_t)strtoull(line, NULL, 16), sizeof bytes};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

static long clone_user(void) {
    long child = call(SYS_clone, NEW_USER | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        _exit(0);
    }
    return child;
}

static long clone3_user(void) {
    uint64_t arguments[11] = {NEW_USER};
    arguments[4] = SIGCHLD;
    long child = call(SYS_clone3, (long)arguments, sizeof arguments, 0, 0, 0);
    if (child == 0) {
        _exit(0);
    }
    return child;
}

static long mount_tmpfs(void) {
    /* In a mount namespace of its own where it may have one: nothing stays. */
    (void)!unshare(NEW_MOUNT);
    return call(SYS_mount, (long)"none", (long)"/tmp", (long)"tmpfs", 0, 0);
}

/* Types into a terminal of its own: TIOCSTI works there or nowhere. */
static long inject(unsigned long request) {
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    grantpt(master);
    unlockpt(master);
    pid_t child = fork();
    if (child == 0) {
        setsid();
        int slave = open(ptsname(master), O_RDWR);
        ioctl(slave, TIOCSCTTY, 0);
        char bytes[2] = {'x', 0};
        int discipline = 0;
        errno = 0;
        int result = ioctl(slave, request, request == TIOCSETD ? (void *)&discipline : (void *)bytes);
        _exit(result == 0 ? 0 : errno);
    }
    int status;
    waitpid(child, &status, 0);
    errno = WEXITSTATUS(status);
    return errno == 0 ? 0 : -1;
}

/* Like `inject`, with high bits in the request that the kernel does not look at. */
static long inject_high(void) {
    return inject(TIOCSTI | 0x100000000UL);
}

/* Sets a limit of another process's, to what it is. */
static long limit_other(pid_t pid) {
    unsigned long limit[2];
    long got = call(SYS_prlimit64, pid, 7 /* NOFILE */, 0, (long)limit, 0);
    return got != 0 ? got : call(SYS_prlimit64, pid, 7, (long)limit, 0, 0);
}

/* Sets how the first process is scheduled, to what that is as a rule. */
static long schedule_first(void) {
    int priority = 0;
    return call(SYS_sched_setscheduler, 1, 0 /* OTHER */, (long)&priority, 0, 0);
}

/* The bound on core files at nothing: the kernel then gives a crash to the machine's own handler, which runs as root. One byte
 * is the value that it starts no handler for. */
static long crash_handler(void) {
    struct rlimit limit = {0, 0};
    long result = setrlimit(RLIMIT_CORE, &limit);
    if (getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 1) {
        errno = EPERM;
        result = -1;
    }
    return result;
}

static long family(int domain, int type, int protocol) {
    errno = 0;
    return socket(domain, type, protocol);
}

/* What btrfs is asked for its features: of another filesystem that answers ENOTTY too. */
static long subvolume(void) {
    char name[4096] = {0};
    errno = 0;
    return ioctl(open(".", O_RDONLY | O_DIRECTORY), 0x5000940e, name);
}

static long device(mode_t kind) {
    char path[64];
    snprintf(path, sizeof path, "holdfast-node-%d", getpid());
    long result = mknod(path, kind | 0600, 0);
    int error = errno;
    unlink(path);
    errno = error;
    return result;
}

#if defined(__x86_64__)
static long call_i386(void) {
    long result;
    /* getpid of i386 is 20. */
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
    errno = result < 0 ? (int)-result : 0;
    return result;
}
#else
static long call_i386(void) {
    errno = ENOSYS;
    return -1;
}
#endif

static struct sockaddr_un unix_address(const char *path, socklen_t *length) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + (path[0] == '@' ? 0 : 1));
    if (path[0] == '@') {
        address.sun_path[0] = '\0';
    }
    return address;
}

/* Connects to a unix socket; a leading @ makes it an abstract one. Says `argument` to it. */
static long connect_unix(const char *path, const char *text) {
    socklen_t length;
    struct sockaddr_un address = unix_address(path, &length);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, length) != 0) {
        return -1;
    }
    return write(fd, text, strlen(text));
}

/* Prints what connections say, for ever. */
static long listen_unix(const char *path) {
    socklen_t length;
    struct sockaddr_un address = unix_address(path, &length);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 8) != 0) {
        return -1;
    }
    alarm(0);
    (void)!write(1, "listening\n", 10);
    for (;;) {
        char bytes[256];
        int client = accept(listener, NULL, NULL);
        ssize_t got = read(client, bytes, sizeof bytes);
        (void)!write(1, bytes, got > 0 ? (size_t)got : 0);
        close(client);
    }
}

static long run(int count, char **words) {
    const char *name = words[1];
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(calls[i].name, name) == 0) {
            const long *a = calls[i].arguments;
            return call(calls[i].number, a[0], a[1], a[2], a[3], a[4]);
        }
    }
    if (strcmp(name, "io_uring_setup") == 0) return io_uring_setup();
    if (strcmp(name, "kcmp") == 0) return call(SYS_kcmp, getpid(), getpid(), 0, 0, 0);
    if (strcmp(name, "ptrace") == 0) return ptrace_child();
    if (strcmp(name, "ptrace-pid") == 0) return call(SYS_ptrace, 0x4206 /* SEIZE */, atoi(words[2]), 0, 0, 0);
    if (strcmp(name, "memory") == 0) return read_memory(count > 2 ? atoi(words[2]) : getpid());
    if (strcmp(name, "unshare-user") == 0) return call(SYS_unshare, NEW_USER, 0, 0, 0, 0);
    if (strcmp(name, "clone-user") == 0) return clone_user();
    if (strcmp(name, "clone3-user") == 0) return clone3_user();
    if (strcmp(name, "mount") == 0) return mount_tmpfs();
    if (strcmp(name, "tiocsti") == 0) return inject(TIOCSTI);
    if (strcmp(name, "tiocsti-high") == 0) return inject_high();
    if (strcmp(name, "tiocsetd") == 0) return inject(TIOCSETD);
    if (strcmp(name, "vsock") == 0) return family(40, SOCK_STREAM, 0);
    if (strcmp(name, "packet") == 0) return family(17, SOCK_RAW, 0);
    if (strcmp(name, "alg") == 0) return family(38, SOCK_SEQPACKET, 0);
    if (strcmp(name, "raw") == 0) return family(AF_INET, SOCK_RAW, 1);
    if (strcmp(name, "subvolume") == 0) return subvolume();
    if (strcmp(name, "udplite") == 0) return family(AF_INET, SOCK_DGRAM, 136);
    if (strcmp(name, "netlink-audit") == 0) return family(AF_NETLINK, SOCK_RAW, 9);
    if (strcmp(name, "netlink-xfrm") == 0) return family(AF_NETLINK, SOCK_RAW, 6);
    if (strcmp(name, "netlink-netfilter") == 0) return family(AF_NETLINK, SOCK_RAW, 12);
    if (strcmp(name, "netlink-generic") == 0) return family(AF_NETLINK, SOCK_RAW, 16);
    if (strcmp(name, "schedule") == 0) return schedule_first();
    if (strcmp(name, "crash-handler") == 0) return crash_handler();
    if (strcmp(name, "limits") == 0) return limit_other(count > 2 ? atoi(words[2]) : getppid());
    if (strcmp(name, "whiteout") == 0) return device(S_IFCHR);
    if (strcmp(name, "blockdev") == 0) return device(S_IFBLK);
    if (strcmp(name, "i386") == 0) return call_i386();
    if (strcmp(name, "listen") == 0) return listen_unix(words[2]);
    if (strcmp(name, "connect") == 0) return connect_unix(words[2], words[3]);
    fprintf(stderr, "no attack named %s\n", name);
    exit(2);
}

int main(int count, char **words) {
    if (count < 2) {
        return 2;
    }
    signal(SIGALRM, SIG_DFL);
    alarm(5);
    errno = 0;
    long result = run(count, words);
    int error = errno;
    if (result < 0 && (error == EPERM || error == EACCES || error == ENOSYS || error == EAFNOSUPPORT ||
                       error == ENOENT || error == EPROTONOSUPPORT || error == ENOTTY || error == ECONNREFUSED || error == ESRCH || error == ENOSPC)) {
        /* ENOENT of a call whose argument names nothing means that it got in; of a socket, that it is not there. */
        int got_in = error == ENOENT && strcmp(words[1], "connect") != 0 && strcmp(words[1], "memory") != 0;
        if (!got_in) {
            printf("refused: %s\n", strerror(error));
            return 1;
        }
    }
    printf("went through: %ld %s\n", result, result < 0 ? strerror(error) : "");
    return 0;
}
