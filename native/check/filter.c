/*
 * What the filters of src/seccomp.c say to a call, for the processor that this is compiled for: they are caught where they
 * would be installed and run here, by their own rules. TAP on standard output; ends with 1 when a line is not ok.
 */
#include "../src/plan.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static struct sock_filter caught[1024];
static unsigned short caught_count;

static long catch_filter(long call, ...) {
    va_list arguments;
    va_start(arguments, call);
    (void)va_arg(arguments, int);
    (void)va_arg(arguments, unsigned long);
    const struct sock_fprog *program = va_arg(arguments, const struct sock_fprog *);
    va_end(arguments);
    caught_count = program->len;
    memcpy(caught, program->filter, program->len * sizeof *caught);
    return 0;
}

#include <unistd.h>
#define syscall catch_filter
#include "../src/seccomp.c"
#undef syscall

static uint32_t run(const struct seccomp_data *data) {
    uint32_t a = 0;
    for (unsigned at = 0; at < caught_count; at++) {
        const struct sock_filter *step = &caught[at];
        switch (step->code) {
            case BPF_LD | BPF_W | BPF_ABS:
                memcpy(&a, (const char *)data + step->k, sizeof a);
                break;
            case BPF_ALU | BPF_AND | BPF_K:
                a &= step->k;
                break;
            case BPF_JMP | BPF_JEQ | BPF_K:
                at += a == step->k ? step->jt : step->jf;
                break;
            case BPF_JMP | BPF_JGT | BPF_K:
                at += a > step->k ? step->jt : step->jf;
                break;
            case BPF_JMP | BPF_JGE | BPF_K:
                at += a >= step->k ? step->jt : step->jf;
                break;
            case BPF_JMP | BPF_JSET | BPF_K:
                at += (a & step->k) != 0 ? step->jt : step->jf;
                break;
            case BPF_RET | BPF_K:
                return step->k;
            default:
                printf("not ok - instruction %u is none that is known here\n", at);
                return 0;
        }
    }
    printf("not ok - the filter has no end\n");
    return 0;
}

static int wrong;

static void expect_of(const char *what, const struct seccomp_data *data, uint32_t action) {
    bool same = run(data) == action;
    wrong += same ? 0 : 1;
    printf("%sok - %s\n", same ? "" : "not ", what);
}

static void expect(const char *what, uint32_t arch, int call, uint64_t first, uint64_t second, uint64_t third, uint32_t action) {
    const struct seccomp_data data = {.nr = call, .arch = arch, .args = {first, second, third}};
    expect_of(what, &data, action);
}

#if defined(__x86_64__)
#define OWN_ARCH 0xc000003eu
#define OTHER_ARCH 0x40000003u /* i386 */
enum { PTRACE = 101, MOUNT = 165, CLONE = 56, EXECVE = 59, EXIT_GROUP = 231, EXIT = 60, OPENAT = 257 };
#else
#define OWN_ARCH 0xc00000b7u
#define OTHER_ARCH 0x40000028u /* arm */
enum { PTRACE = 117, MOUNT = 40, CLONE = 220, EXECVE = 221, EXIT_GROUP = 94, EXIT = 93, OPENAT = 56 };
#endif
enum { IO_URING_SETUP = 425 };

int main(void) {
    const uint32_t pass = SECCOMP_RET_ALLOW;
    const uint32_t no = SECCOMP_RET_ERRNO | EPERM;
    const uint32_t none = SECCOMP_RET_ERRNO | ENOSYS;
    const uint32_t own = OWN_ARCH;
    struct plan plan = {0};
    seccomp_deny(&plan);
    /* The numbers are the processor's own, not the header's: a wrong header would be wrong here too. */
    expect("other architectures are closed", OTHER_ARCH, OPENAT, 0, 0, 0, none);
    expect("files open", own, OPENAT, 0, 0, 0, pass);
    expect("programs start", own, EXECVE, 0, 0, 0, pass);
    struct seccomp_data by_descriptor = {.nr = __NR_execveat, .arch = own, .args = {[4] = AT_EMPTY_PATH}};
    expect_of("and by descriptor", &by_descriptor, pass);
    by_descriptor.args[4] |= AT_EXECVE_CHECK;
    expect_of("none is only asked about", &by_descriptor, SECCOMP_RET_ERRNO | EINVAL);
    expect("no submission queues", own, IO_URING_SETUP, 0, 0, 0, none);
    expect("no tracing", own, PTRACE, 0, 0, 0, no);
    expect("no mounts", own, MOUNT, 0, 0, 0, no);
    expect("processes fork", own, CLONE, 17, 0, 0, pass);
    expect("no new user namespace", own, CLONE, CLONE_NEWUSER | 17, 0, 0, no);
    expect("nor with high bits set", own, CLONE, CLONE_NEWUSER | (1ULL << 40), 0, 0, no);
    expect("clone3 is not there", own, __NR_clone3, 0, 0, 0, none);
    expect("unshare of files alone", own, __NR_unshare, CLONE_FILES, 0, 0, pass);
    expect("no terminal injection", own, __NR_ioctl, 0, TIOCSTI, 0, no);
    expect("nor with high bits set", own, __NR_ioctl, 0, TIOCSTI | (1ULL << 32), 0, no);
    expect("other terminal requests", own, __NR_ioctl, 0, TIOCGWINSZ, 0, pass);
    expect("no whiteouts", own, __NR_mknodat, 0, 0, S_IFCHR | 0600, no);
    expect("FIFOs", own, __NR_mknodat, 0, 0, S_IFIFO | 0600, pass);
    expect("unix sockets", own, __NR_socket, AF_UNIX, SOCK_STREAM, 0, pass);
    expect("no vsock", own, __NR_socket, AF_VSOCK, SOCK_STREAM, 0, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
    expect("routes can be read", own, __NR_socket, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, pass);
    expect("sockets can be listed", own, __NR_socket, AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG, pass);
    expect("no packet filter", own, __NR_socket, AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
    expect("no such protocol elsewhere", own, __NR_socket, AF_INET, SOCK_RAW, NETLINK_NETFILTER, SECCOMP_RET_ERRNO | EPROTONOSUPPORT);
    expect("TCP", own, __NR_socket, AF_INET, SOCK_STREAM, 0, pass);
    expect("over several paths", own, __NR_socket, AF_INET6, SOCK_STREAM, 262, pass);
    expect("no SCTP", own, __NR_socket, AF_INET6, SOCK_STREAM, 132, SECCOMP_RET_ERRNO | EPROTONOSUPPORT);
    expect("any number of a local socket", own, __NR_socket, AF_UNIX, SOCK_STREAM, 132, pass);
    expect("own limits", own, __NR_prlimit64, 0, 7, 0, pass);
    expect("no limits of others", own, __NR_prlimit64, 1, 7, 0, no);
    expect("the bound on core files is read", own, __NR_prlimit64, 0, RLIMIT_CORE, 0, pass);
    expect("and not set, which is not said", own, __NR_prlimit64, 0, RLIMIT_CORE, 4096, SECCOMP_RET_ERRNO);
    expect("nor from far up", own, __NR_prlimit64, 0, RLIMIT_CORE, 1ULL << 32, SECCOMP_RET_ERRNO);
    expect("nor by the older call", own, __NR_setrlimit, RLIMIT_CORE, 4096, 0, SECCOMP_RET_ERRNO);
    expect("other bounds by that", own, __NR_setrlimit, RLIMIT_NOFILE, 4096, 0, pass);
    expect("own scheduling, and of threads", own, __NR_sched_setscheduler, 4711, 0, 0, pass);
    expect("no scheduling of the first process", own, __NR_sched_setscheduler, 1, 0, 0, no);
    expect("nor by attributes", own, __NR_sched_setattr, 1, 0, 0, no);
    expect("own priority, and of others", own, __NR_setpriority, PRIO_PROCESS, 0, 10, pass);
    expect("no priority of the first process", own, __NR_setpriority, PRIO_PROCESS, 1, 19, no);
    expect("nor of its group", own, __NR_setpriority, PRIO_PGRP, 1, 19, no);
    expect("nor of all the user's", own, __NR_setpriority, PRIO_USER, 0, 19, no);
    expect("own place in the queue of a disk", own, __NR_ioprio_set, 1, 0, 0, pass);
    expect("not of the first process", own, __NR_ioprio_set, 1, 1, 0, no);
    expect("nor of all the user's", own, __NR_ioprio_set, 3, 0, 0, no);
    expect("files share blocks", own, __NR_ioctl, 0, FICLONE, 0, pass);
    expect("parts of them", own, __NR_ioctl, 0, FICLONERANGE, 0, pass);
    expect("equal parts", own, __NR_ioctl, 0, FIDEDUPERANGE, 0, pass);
    expect("no subvolumes", own, __NR_ioctl, 0, BTRFS_IOC_SUBVOL_CREATE, 0, SECCOMP_RET_ERRNO | ENOTTY);
    expect("none is made read-only", own, __NR_ioctl, 0, BTRFS_IOC_SUBVOL_SETFLAGS, 0, SECCOMP_RET_ERRNO | ENOTTY);
    expect("the newest call that was read", own, 466, 0, 0, 0, pass);
    expect("none that is newer", own, 468, 0, 0, 0, none);
    expect("nor far beyond", own, 100000, 0, 0, 0, none);
    expect("nor a negative one", own, -1, 0, 0, 0, none);
    expect("the first that all processors count alike", own, 424, 0, 0, 0, pass);
    expect("none in the gap before it", own, 423, 0, 0, 0, none);
    expect("nor at its beginning", own, FIRST_UNREAD_CALL, 0, 0, 0, none);
    expect("the last before the gap", own, __NR_rseq, 0, 0, 0, pass);
#if defined(__x86_64__)
    expect("x32 is closed", own, (int)(X32_BIT | 39), 0, 0, 0, none);
#endif
    seccomp_listen();
    expect("execs are told", own, EXECVE, 0, 0, 0, SECCOMP_RET_USER_NOTIF);
    expect("and by descriptor", own, __NR_execveat, 0, 0, 0, SECCOMP_RET_USER_NOTIF);
    expect("ends are told", own, EXIT_GROUP, 0, 0, 0, SECCOMP_RET_USER_NOTIF);
    expect("and ends of threads", own, EXIT, 0, 0, 0, SECCOMP_RET_USER_NOTIF);
    expect("the rest is not", own, OPENAT, 0, 0, 0, pass);
    return wrong > 0 || caught_count == 0;
}
