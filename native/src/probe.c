/*
 * probe: what this machine offers to the sandbox, found by doing it in a child that is thrown away. One JSON object on
 * standard output; each finding is true or false, with the errno where doing failed.
 */
#include "commands.h"
#include "common.h"
#include "landlock.h"
#include "plan.h"
#include "seccomp.h"
#include "transparent.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs `attempt` in a child; 0, or the errno it failed with. */
static int try(int (*attempt)(void)) {
    pid_t child = fork();
    if (child == 0) {
        _exit(attempt() == 0 ? 0 : errno & 0xff);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        return EIO;
    }
    return WEXITSTATUS(status);
}

static int put(const char *path, const char *content) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -1 : write_all(fd, content, strlen(content));
}

static int own_user_namespace(unsigned int more) {
    uid_t user = geteuid();
    gid_t group = getegid();
    char map[64];
    if (unshare(CLONE_NEWUSER | (int)more) != 0 || put("/proc/self/setgroups", "deny") != 0) {
        return -1;
    }
    snprintf(map, sizeof map, "%u %u 1", user, user);
    if (put("/proc/self/uid_map", map) != 0) {
        return -1;
    }
    snprintf(map, sizeof map, "%u %u 1", group, group);
    return put("/proc/self/gid_map", map);
}

static int try_user_namespace(void) {
    return own_user_namespace(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS);
}

static int try_overlay(void) {
    if (own_user_namespace(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0 ||
        mount("tmpfs", "/tmp", "tmpfs", 0, NULL) != 0 || mkdir("/tmp/l", 0700) != 0 || mkdir("/tmp/u", 0700) != 0 ||
        mkdir("/tmp/w", 0700) != 0 || mkdir("/tmp/m", 0700) != 0) {
        return -1;
    }
    return mount("overlay", "/tmp/m", "overlay", 0, "lowerdir=/tmp/l,upperdir=/tmp/u,workdir=/tmp/w,userxattr");
}

static int try_denials(void) {
    struct plan nothing = {0};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ? -1 : seccomp_deny(&nothing);
}

static int try_listener(void) {
    pid_t child = fork();
    if (child == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || seccomp_listen() < 0) {
            _exit(errno & 0xff);
        }
        /* An exit of its own would wait for an answer that nobody gives. */
        raise(SIGKILL);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return -1;
    }
    errno = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : -1;
}

static int try_pidfd(void) {
    return syscall(__NR_pidfd_open, getpid(), 0) < 0 ? -1 : 0;
}

static int try_transparent(void) {
    struct transparent made;
    if (own_user_namespace(CLONE_NEWNET) != 0) {
        return -1;
    }
    transparent_open(&made);
    errno = strchr(made.kinds, TRANSPARENT_ANY) != NULL ? 0 : made.kinds[0] != '\0' ? EPROTONOSUPPORT : ENETUNREACH;
    return errno == 0 ? 0 : -1;
}

static void tell(struct text *line, const char *name, int error) {
    json_key(line, name);
    json_open(line, '{');
    json_key(line, "ok");
    json_bool(line, error == 0);
    json_key(line, "reason");
    json_string(line, error == 0 ? "" : strerror(error));
    json_close(line, '}');
}

int probe_main(int argc, char **argv) {
    (void)argv;
    if (argc != 1) {
        die(EXIT_USAGE, "arguments", "usage: probe");
    }
    struct text line = {0};
    json_open(&line, '{');
    json_key(&line, "root");
    json_bool(&line, geteuid() == 0);
    tell(&line, "userNamespaces", try(try_user_namespace));
    tell(&line, "overlay", try(try_overlay));
    tell(&line, "denials", try(try_denials));
    tell(&line, "execNotification", try(try_listener));
    tell(&line, "pidfd", try(try_pidfd));
    tell(&line, "transparent", try(try_transparent));
    json_key(&line, "landlock");
    json_number(&line, landlock_version());
    json_close(&line, '}');
    puts(line.bytes);
    text_free(&line);
    return 0;
}
