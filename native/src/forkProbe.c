/* fork-probe: what the filesystem of a directory offers to forks, found by doing it in a temporary directory there. */
#include "commands.h"
#include "common.h"
#include "subvolume.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int probe_share(const char *directory) {
    char *from = must_format("%s/from", directory);
    char *to = must_format("%s/to", directory);
    int a = open(from, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int b = open(to, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    char block[4096] = "holdfast";
    int error = 0;
    if (a < 0 || b < 0 || write_all(a, block, sizeof block) != 0 || ioctl(b, FICLONE, a) != 0) {
        error = errno;
    }
    close(a);
    close(b);
    free(from);
    free(to);
    return error;
}

static int put(const char *path, const char *content) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    int result = fd >= 0 && write_all(fd, content, strlen(content)) == 0 ? 0 : -1;
    close(fd);
    return result;
}

/* In a child: the namespaces that the sandbox would use, the mount, and a write through it. Its exit code is the errno. */
static int overlay_child(const char *directory) {
    uid_t user = geteuid();
    gid_t group = getegid();
    if (!(user == 0 && unshare(CLONE_NEWNS) == 0)) {
        char map[64];
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || put("/proc/self/setgroups", "deny") != 0) {
            return errno;
        }
        snprintf(map, sizeof map, "%u %u 1", user, user);
        if (put("/proc/self/uid_map", map) != 0) {
            return errno;
        }
        snprintf(map, sizeof map, "%u %u 1", group, group);
        if (put("/proc/self/gid_map", map) != 0) {
            return errno;
        }
    }
    if (chdir(directory) != 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0 ||
        mount("holdfast", "merged", "overlay", MS_NODEV | MS_NOSUID,
              "lowerdir=lower,upperdir=upper,workdir=work,userxattr") != 0 ||
        put("merged/file", "written") != 0 || unlink("merged/gone") != 0 || access("upper/file", F_OK) != 0) {
        return errno;
    }
    return 0;
}

static int probe_overlay(const char *directory) {
    static const char *const names[] = {"lower", "upper", "work", "merged"};
    for (size_t i = 0; i < 4; i++) {
        char *path = must_format("%s/%s", directory, names[i]);
        mkdir(path, 0700);
        free(path);
    }
    char *gone = must_format("%s/lower/gone", directory);
    char *file = must_format("%s/lower/file", directory);
    put(gone, "x");
    put(file, "lower");
    free(gone);
    free(file);
    pid_t child = fork();
    if (child == 0) {
        _exit(overlay_child(directory) & 0xff);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0) {
        return errno;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

static int probe_subvolume(const char *directory) {
    char *volume = must_format("%s/volume", directory);
    char *snapshot = must_format("%s/snapshot", directory);
    int error = 0;
    if (subvolume_create(volume) != 0 || subvolume_snapshot(volume, snapshot, false) != 0) {
        error = errno;
    }
    free(volume);
    free(snapshot);
    return error;
}

static void tell(struct text *line, const char *key, int error) {
    json_key(line, key);
    json_string(line, error == 0 ? "" : strerror(error));
}

int fork_probe_main(int argc, char **argv) {
    static const struct option known[] = {
        {"report-fd", required_argument, NULL, 'r'}, {"dir", required_argument, NULL, 'd'}, {NULL, 0, NULL, 0}};
    const char *where = NULL;
    for (int code; (code = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (code) {
        case 'r': report_fd = (int)parse_number(optarg, 0, 1 << 20, "--report-fd"); break;
        case 'd': where = optarg; break;
        default: die(EXIT_USAGE, "arguments", "usage: fork-probe --dir DIR");
        }
    }
    if (!where) {
        die(EXIT_USAGE, "arguments", "usage: fork-probe --dir DIR");
    }
    char *directory = must_format("%s/probe-XXXXXX", where);
    if (!mkdtemp(directory)) {
        die_errno(EXIT_FAILED, "create", "cannot make a directory in %s", where);
    }
    struct text line = {0};
    json_open(&line, '{');
    json_key(&line, "type");
    json_string(&line, "probed");
    tell(&line, "share", probe_share(directory));
    tell(&line, "overlay", probe_overlay(directory));
    tell(&line, "subvolume", probe_subvolume(directory));
    json_close(&line, '}');
    if (remove_tree(AT_FDCWD, directory) != 0) {
        die_errno(EXIT_FAILED, "remove", "cannot remove %s", directory);
    }
    free(directory);
    report(&line);
    return 0;
}
