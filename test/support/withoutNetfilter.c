/* Runs a command as on a kernel without nf_tables: its netlink sockets cannot be had, by this process or any after it. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define ALLOW_UNLESS(value, to_allow) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (to_allow))

int main(int argc, char **argv) {
    struct sock_filter code[] = {
        LOAD(nr),
        ALLOW_UNLESS(__NR_socket, 5),
        LOAD(args[0]),
        ALLOW_UNLESS(AF_NETLINK, 3),
        LOAD(args[2]),
        ALLOW_UNLESS(NETLINK_NETFILTER, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("withoutNetfilter");
        return 1;
    }
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 1;
}
