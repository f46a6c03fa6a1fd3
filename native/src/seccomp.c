/*
 * Classic BPF, built at run time. Denied calls answer EPERM, except those that programs probe for and go without
 * (ENOSYS). Other architectures of the same processor (i386, x32) are closed whole: their numbers differ, and a filter
 * for each would be one more place for a hole.
 */
#include "seccomp.h"

#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/btrfs.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "holdfast-native knows x86_64 and aarch64"
#endif

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif
#ifndef __NR_lsm_set_self_attr
#define __NR_lsm_set_self_attr 460
#endif
#ifndef __NR_memfd_secret
#define __NR_memfd_secret 447
#endif
#ifndef __NR_statmount
#define __NR_statmount 457
#define __NR_listmount 458
#endif
#ifndef AT_EXECVE_CHECK
#define AT_EXECVE_CHECK 0x10000
#endif
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

/* The calls that were read for this filter. What a kernel has beyond them is not there: all processors count alike from 424
 * on, and what stands between that and their own numbers is of newer kernels too. */
enum { NEWEST_CALL = 466 /* removexattrat, 6.13 */, FIRST_COMMON_CALL = 424 };
#if defined(__x86_64__)
enum { FIRST_UNREAD_CALL = 335 /* uretprobe */ };
#else
enum { FIRST_UNREAD_CALL = 295 };
#endif

#define X32_BIT 0x40000000u
#define NEW_NAMESPACES \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#define NEW_TIME_NAMESPACE 0x80

enum { FILTER_MOST = 1024 };

struct filter {
    struct sock_filter code[FILTER_MOST];
    unsigned short count;
};

static void put(struct filter *filter, struct sock_filter instruction) {
    if (filter->count == FILTER_MOST) {
        die(EXIT_FAILED, "seccomp", "filter too long");
    }
    filter->code[filter->count++] = instruction;
}

static void load(struct filter *filter, size_t offset) {
    put(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void load_call(struct filter *filter) {
    load(filter, offsetof(struct seccomp_data, nr));
}

/* The low half of an argument: where the kernel itself looks at 32 bits only, so must the filter. */
static void load_argument(struct filter *filter, int index) {
    load(filter, offsetof(struct seccomp_data, args) + (size_t)index * sizeof(uint64_t));
}

static void jump_equal(struct filter *filter, uint32_t value, uint8_t yes, uint8_t no) {
    put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no));
}

static void answer(struct filter *filter, uint32_t action) {
    put(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static uint32_t error_action(int error) {
    return SECCOMP_RET_ERRNO | (uint32_t)error;
}

static void deny_call(struct filter *filter, int call, int error) {
    jump_equal(filter, (uint32_t)call, 0, 1);
    answer(filter, error_action(error));
}

static void begin(struct filter *filter) {
    load(filter, offsetof(struct seccomp_data, arch));
    jump_equal(filter, NATIVE_ARCH, 1, 0);
    answer(filter, error_action(ENOSYS));
    load_call(filter);
#if defined(__x86_64__)
    put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1));
    answer(filter, error_action(ENOSYS));
#endif
}

/* Kernel surface that a build, a test run or an agent has no use for. */
static const struct {
    int call;
    int error;
} always_denied[] = {
    /* Submission queues run calls that no filter sees. */
    {__NR_io_uring_setup, ENOSYS}, {__NR_io_uring_enter, ENOSYS}, {__NR_io_uring_register, ENOSYS},
    /* Keyrings are not namespaced. */
    {__NR_keyctl, EPERM}, {__NR_add_key, EPERM}, {__NR_request_key, EPERM},
    /* Other processes' memory and descriptors. */
    {__NR_process_vm_readv, EPERM}, {__NR_process_vm_writev, EPERM}, {__NR_kcmp, EPERM}, {__NR_pidfd_getfd, EPERM},
    {__NR_process_madvise, EPERM},
    /* The machine itself. */
    {__NR_kexec_load, EPERM}, {__NR_kexec_file_load, EPERM}, {__NR_reboot, EPERM}, {__NR_init_module, EPERM},
    {__NR_finit_module, EPERM}, {__NR_delete_module, EPERM}, {__NR_swapon, EPERM}, {__NR_swapoff, EPERM},
    {__NR_settimeofday, EPERM}, {__NR_clock_settime, EPERM}, {__NR_clock_adjtime, EPERM}, {__NR_adjtimex, EPERM},
    {__NR_sethostname, EPERM}, {__NR_setdomainname, EPERM}, {__NR_syslog, EPERM}, {__NR_acct, EPERM},
    {__NR_quotactl, EPERM}, {__NR_quotactl_fd, EPERM}, {__NR_vhangup, EPERM}, {__NR_nfsservctl, ENOSYS},
    {__NR_lookup_dcookie, EPERM}, {__NR_lsm_set_self_attr, EPERM}, {__NR_statmount, ENOSYS}, {__NR_listmount, ENOSYS},
    /* Large subsystems with a history. */
    {__NR_bpf, EPERM}, {__NR_perf_event_open, EPERM}, {__NR_userfaultfd, EPERM}, {__NR_fanotify_init, EPERM},
    {__NR_open_by_handle_at, EPERM}, {__NR_name_to_handle_at, EPERM}, {__NR_memfd_secret, ENOSYS},
#if defined(__x86_64__)
    {__NR_iopl, EPERM}, {__NR_ioperm, EPERM}, {__NR_modify_ldt, EPERM}, {__NR_uselib, ENOSYS}, {__NR_ustat, ENOSYS},
    {__NR_sysfs, ENOSYS}, {__NR__sysctl, ENOSYS}, {__NR_create_module, ENOSYS},
#endif
    {__NR_setns, EPERM},
};

/* What builds namespaces and mounts; an agent that brings its own sandbox needs them. */
static const int mount_family[] = {
    __NR_mount,  __NR_umount2, __NR_pivot_root, __NR_chroot, __NR_move_mount,    __NR_open_tree,
    __NR_fsopen, __NR_fsconfig, __NR_fsmount,   __NR_fspick, __NR_mount_setattr, __NR_open_tree_attr,
};

/* Denies `call` when the argument has any of `bits`. */
static void deny_bits(struct filter *filter, int call, int argument, uint32_t bits, int error) {
    jump_equal(filter, (uint32_t)call, 0, 4);
    load_argument(filter, argument);
    put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1));
    answer(filter, error_action(error));
    load_call(filter);
}

/* Answers `call` so when the argument, masked, is `value`. */
static void answer_value(struct filter *filter, int call, int argument, uint32_t mask, uint32_t value, int error) {
    jump_equal(filter, (uint32_t)call, 0, 5);
    load_argument(filter, argument);
    put(filter, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    jump_equal(filter, value, 0, 1);
    answer(filter, error_action(error));
    load_call(filter);
}

static void deny_value(struct filter *filter, int call, int argument, uint32_t mask, uint32_t value) {
    answer_value(filter, call, argument, mask, value, EPERM);
}

/* Lets `call` through only when the argument is one of the values. */
static void allow_values(struct filter *filter, int call, int argument, const uint32_t *values, uint8_t count, int error) {
    jump_equal(filter, (uint32_t)call, 0, (uint8_t)(count + 3));
    load_argument(filter, argument);
    for (uint8_t i = 0; i < count; i++) {
        jump_equal(filter, values[i], (uint8_t)(count - i), 0);
    }
    answer(filter, error_action(error));
    load_call(filter);
}

/* The sandbox's first process and the bridge have the agent's user: it must not set their limits, nor let the first wait for
 * a processor for ever (as idle), which has to stop everything else. */
static void deny_control_of_first(struct filter *filter) {
    static const uint32_t own[] = {0};
    static const int schedulers[] = {__NR_sched_setscheduler, __NR_sched_setattr, __NR_sched_setparam, __NR_sched_setaffinity};
    allow_values(filter, __NR_prlimit64, 0, own, sizeof own / sizeof *own, EPERM);
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers; i++) {
        deny_value(filter, schedulers[i], 0, UINT32_MAX, 1);
    }
    /* As a process, as its group, and as one of the user's. */
    deny_value(filter, __NR_setpriority, 1, UINT32_MAX, 1);
    deny_value(filter, __NR_setpriority, 0, UINT32_MAX, PRIO_USER);
    deny_value(filter, __NR_ioprio_set, 1, UINT32_MAX, 1);
    deny_value(filter, __NR_ioprio_set, 0, UINT32_MAX, IOPRIO_WHO_USER);
}

/* The bound on core files stays what init has set. Programs that want no core file set it to nothing, and some end when they
 * may not: they are told that it is done, as there is none. */
static void keep_core_limit(struct filter *filter) {
    const int pointer = 2;
    answer_value(filter, __NR_setrlimit, 0, UINT32_MAX, RLIMIT_CORE, 0);
    jump_equal(filter, __NR_prlimit64, 0, 8);
    load_argument(filter, 1);
    jump_equal(filter, RLIMIT_CORE, 0, 5);
    load_argument(filter, pointer);
    jump_equal(filter, 0, 0, 2);
    load(filter, offsetof(struct seccomp_data, args) + pointer * sizeof(uint64_t) + sizeof(uint32_t));
    jump_equal(filter, 0, 1, 0);
    answer(filter, error_action(0));
    load_call(filter);
}

/* Denies `call` with such a first argument unless its third is one of the values. */
static void allow_thirds(struct filter *filter, int call, uint32_t first, const uint32_t *values, uint8_t count, int error) {
    jump_equal(filter, (uint32_t)call, 0, (uint8_t)(count + 5));
    load_argument(filter, 0);
    jump_equal(filter, first, 0, (uint8_t)(count + 2));
    load_argument(filter, 2);
    for (uint8_t i = 0; i < count; i++) {
        jump_equal(filter, values[i], (uint8_t)(count - i), 0);
    }
    answer(filter, error_action(error));
    load_call(filter);
}

/* Interfaces and routes, sockets, devices that come and go: what libraries ask for. The other families are the machine's
 * (audit, packet filter, keys of tunnels) and speak to anybody who can open them. */
static void deny_netlink_families(struct filter *filter) {
    static const uint32_t protocols[] = {NETLINK_ROUTE, NETLINK_SOCK_DIAG, NETLINK_KOBJECT_UEVENT};
    allow_thirds(filter, __NR_socket, AF_NETLINK, protocols, sizeof protocols / sizeof *protocols, EAFNOSUPPORT);
}

/* What the kernel would load a module for, for anybody who asks: none leads out of the sandbox. */
static void deny_transports(struct filter *filter) {
    static const uint32_t protocols[] = {0, IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMPV6, IPPROTO_RAW, IPPROTO_MPTCP};
    static const uint32_t families[] = {AF_INET, AF_INET6};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        allow_thirds(filter, __NR_socket, families[i], protocols, sizeof protocols / sizeof *protocols, EPROTONOSUPPORT);
    }
}

static void deny_unread(struct filter *filter) {
    put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, NEWEST_CALL, 2, 0));
    put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_COMMON_CALL, 2, 0));
    put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_UNREAD_CALL, 0, 1));
    answer(filter, error_action(ENOSYS));
}

/* A subvolume that the sandbox makes, or makes read-only, is one that nobody can discard. Of all that btrfs is asked, only
 * the sharing of blocks is another filesystem's too. */
static void deny_btrfs(struct filter *filter) {
    static const uint32_t shared[] = {FICLONE, FICLONERANGE, FIDEDUPERANGE};
    const uint8_t count = sizeof shared / sizeof *shared;
    jump_equal(filter, __NR_ioctl, 0, count + 5);
    load_argument(filter, 1);
    for (uint8_t i = 0; i < count; i++) {
        jump_equal(filter, shared[i], (uint8_t)(count + 2 - i), 0);
    }
    put(filter, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, _IOC_TYPEMASK << _IOC_TYPESHIFT));
    jump_equal(filter, BTRFS_IOCTL_MAGIC << _IOC_TYPESHIFT, 0, 1);
    answer(filter, error_action(ENOTTY));
    load_call(filter);
}

/* Terminal injection, line disciplines, devices, execution domains and address families, by argument. */
static void deny_by_argument(struct filter *filter) {
    static const uint32_t requests[] = {TIOCSTI, TIOCLINUX, TIOCSETD};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        deny_value(filter, __NR_ioctl, 1, UINT32_MAX, requests[i]);
    }
    deny_btrfs(filter);
#if defined(__x86_64__)
    deny_value(filter, __NR_mknod, 1, S_IFMT, S_IFCHR);
    deny_value(filter, __NR_mknod, 1, S_IFMT, S_IFBLK);
#endif
    /* A character device 0:0 is how overlayfs writes "deleted": nobody but the kernel may make one. */
    deny_value(filter, __NR_mknodat, 2, S_IFMT, S_IFCHR);
    deny_value(filter, __NR_mknodat, 2, S_IFMT, S_IFBLK);
    static const uint32_t personalities[] = {0, 8, 0x20000, 0x20008, 0x40000, UINT32_MAX};
    allow_values(filter, __NR_personality, 0, personalities, sizeof personalities / sizeof *personalities, EPERM);
    /* Vsock reaches the hypervisor and packet sockets the wire whatever the network namespace says. */
    static const uint32_t families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
    allow_values(filter, __NR_socket, 0, families, sizeof families / sizeof *families, EAFNOSUPPORT);
    allow_values(filter, __NR_socketpair, 0, families, sizeof families / sizeof *families, EAFNOSUPPORT);
}

static void deny_namespaces(struct filter *filter) {
    for (size_t i = 0; i < sizeof mount_family / sizeof *mount_family; i++) {
        deny_call(filter, mount_family[i], EPERM);
    }
    deny_bits(filter, __NR_unshare, 0, NEW_NAMESPACES | NEW_TIME_NAMESPACE, EPERM);
    deny_bits(filter, __NR_clone, 0, NEW_NAMESPACES, EPERM);
    /* Its flags are in memory, out of a filter's sight; the C library falls back to clone. */
    deny_call(filter, __NR_clone3, ENOSYS);
}

static int install(const struct filter *filter, unsigned long flags) {
    struct sock_fprog program = {.len = filter->count, .filter = (struct sock_filter *)filter->code};
    return (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

int seccomp_deny(const struct plan *plan) {
    struct filter *filter = must_alloc(sizeof *filter);
    filter->count = 0;
    begin(filter);
    for (size_t i = 0; i < sizeof always_denied / sizeof *always_denied; i++) {
        deny_call(filter, always_denied[i].call, always_denied[i].error);
    }
    if (!plan_allows(plan, "ptrace")) {
        deny_call(filter, __NR_ptrace, EPERM);
    }
    if (!plan_allows(plan, "user-namespaces")) {
        deny_namespaces(filter);
    }
    deny_by_argument(filter);
    deny_netlink_families(filter);
    deny_transports(filter);
    deny_unread(filter);
    /* It asks whether a program may run: told like one that did, it would be a way to have programs told that never ran. */
    deny_bits(filter, __NR_execveat, 4, AT_EXECVE_CHECK, EINVAL);
    deny_control_of_first(filter);
    keep_core_limit(filter);
    answer(filter, SECCOMP_RET_ALLOW);
    int result = install(filter, 0);
    free(filter);
    return result;
}

int seccomp_listen(void) {
    struct filter *filter = must_alloc(sizeof *filter);
    filter->count = 0;
    begin(filter);
    static const int noticed[] = {__NR_execve, __NR_execveat, __NR_exit_group, __NR_exit};
    for (size_t i = 0; i < sizeof noticed / sizeof *noticed; i++) {
        jump_equal(filter, (uint32_t)noticed[i], 0, 1);
        answer(filter, SECCOMP_RET_USER_NOTIF);
    }
    answer(filter, SECCOMP_RET_ALLOW);
    /* Killable only: else each signal of a busy runtime would restart the call and its notification (since 5.19). */
    int listener = install(filter, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    if (listener < 0 && errno == EINVAL) {
        listener = install(filter, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    }
    free(filter);
    return listener;
}
