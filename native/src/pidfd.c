#include "pidfd.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PIDFD_INFO_EXIT (1UL << 3)

/* PIDFD_GET_INFO's first published form (kernel 6.13, exit code since 6.15). */
struct pidfd_info {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
    int32_t exit_code;
};
#define PIDFD_GET_INFO _IOWR(0xFF, 11, struct pidfd_info)

int pidfd_of(pid_t pid) {
    return (int)syscall(__NR_pidfd_open, pid, 0);
}

bool pidfd_parent(int pidfd, pid_t *parent) {
    struct pidfd_info info = {0};
    if (pidfd < 0 || ioctl(pidfd, PIDFD_GET_INFO, &info) != 0 || info.pid == 0) {
        return false;
    }
    *parent = (pid_t)info.ppid;
    return true;
}

static size_t read_proc(pid_t pid, const char *name, char *bytes, size_t capacity) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    ssize_t got = read(fd, bytes, capacity - 1);
    close(fd);
    bytes[got < 0 ? 0 : got] = '\0';
    return got < 0 ? 0 : (size_t)got;
}

bool read_status(pid_t pid, pid_t *group, pid_t *parent) {
    char bytes[512];
    if (read_proc(pid, "status", bytes, sizeof bytes) == 0) {
        return false;
    }
    /* The name comes first and its newlines are escaped, so a line start is a line start. */
    const char *group_line = strstr(bytes, "\nTgid:");
    const char *parent_line = strstr(bytes, "\nPPid:");
    if (group_line == NULL || parent_line == NULL) {
        return false;
    }
    *group = (pid_t)atoi(group_line + 6);
    *parent = (pid_t)atoi(parent_line + 6);
    return true;
}

int newest_open(void) {
    struct statfs filesystem;
    int newest = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    /* Containers may have a file of another's there, that is made up now and then. */
    if (newest >= 0 && (fstatfs(newest, &filesystem) != 0 || filesystem.f_type != PROC_SUPER_MAGIC)) {
        close(newest);
        newest = -1;
    }
    return newest;
}

bool newest_is(int newest, pid_t pid) {
    char bytes[128];
    ssize_t got = newest < 0 ? -1 : pread(newest, bytes, sizeof bytes - 1, 0);
    bytes[got < 0 ? 0 : got] = '\0';
    const char *last = strrchr(bytes, ' ');
    return last != NULL && atoi(last + 1) == pid;
}

int64_t pidfd_wait_status(int pidfd, pid_t pid, bool *later) {
    struct pidfd_info info = {.mask = PIDFD_INFO_EXIT};
    bool tells = ioctl(pidfd, PIDFD_GET_INFO, &info) == 0;
    if (tells && (info.mask & PIDFD_INFO_EXIT) != 0) {
        return info.exit_code;
    }
    char bytes[1024];
    if (read_proc(pid, "stat", bytes, sizeof bytes) > 0) {
        const char *fields = strrchr(bytes, ')');
        const char *last = strrchr(bytes, ' ');
        if (fields != NULL && last > fields && fields[1] == ' ' && fields[2] == 'Z') {
            return atoll(last + 1);
        }
    }
    *later = tells;
    return -1;
}
