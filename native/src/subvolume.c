#include "subvolume.h"

#include "commands.h"
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <linux/btrfs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Opens the directory that holds the last component, which is copied to `name`. */
static int open_parent(const char *path, char *name, size_t room) {
    char *copy = must_strdup(path);
    char *last = basename(copy);
    int fd = -1;
    if (strlen(last) >= room) {
        errno = ENAMETOOLONG;
    } else {
        strcpy(name, last);
        strcpy(copy, path);
        fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    free(copy);
    return fd;
}

static int ask(int fd, unsigned long request, void *arguments) {
    int result = ioctl(fd, request, arguments);
    int error = errno;
    close(fd);
    errno = error;
    return result < 0 ? -1 : 0;
}

int subvolume_create(const char *path) {
    struct btrfs_ioctl_vol_args arguments = {0};
    int fd = open_parent(path, arguments.name, sizeof arguments.name);
    return fd < 0 ? -1 : ask(fd, BTRFS_IOC_SUBVOL_CREATE, &arguments);
}

int subvolume_snapshot(const char *from, const char *path, bool read_only) {
    struct btrfs_ioctl_vol_args_v2 arguments = {.flags = read_only ? BTRFS_SUBVOL_RDONLY : 0};
    int source = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (source < 0) {
        return -1;
    }
    arguments.fd = source;
    int fd = open_parent(path, arguments.name, sizeof arguments.name);
    int result = fd < 0 ? -1 : ask(fd, BTRFS_IOC_SNAP_CREATE_V2, &arguments);
    int error = errno;
    close(source);
    errno = error;
    return result;
}

int subvolume_delete(const char *path) {
    struct btrfs_ioctl_vol_args arguments = {0};
    int fd = open_parent(path, arguments.name, sizeof arguments.name);
    return fd < 0 ? -1 : ask(fd, BTRFS_IOC_SNAP_DESTROY, &arguments);
}

bool subvolume_is(const char *path) {
    struct stat stat;
    struct statfs system;
    return lstat(path, &stat) == 0 && S_ISDIR(stat.st_mode) && stat.st_ino == SUBVOLUME_INODE &&
           statfs(path, &system) == 0 && system.f_type == 0x9123683e;
}

/* subvolume create PATH: PROTOCOL.md. */
int subvolume_main(int argc, char **argv) {
    static const struct option known[] = {{"report-fd", required_argument, NULL, 'r'}, {NULL, 0, NULL, 0}};
    for (int code; (code = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (code != 'r') {
            die(EXIT_USAGE, "arguments", "usage: subvolume create PATH");
        }
        report_fd = (int)parse_number(optarg, 0, 1 << 20, "--report-fd");
    }
    if (argc - optind != 2 || strcmp(argv[optind], "create") != 0) {
        die(EXIT_USAGE, "arguments", "usage: subvolume create PATH");
    }
    const char *path = argv[optind + 1];
    if (subvolume_create(path) != 0) {
        die_errno(EXIT_FAILED, "create", "cannot create %s", path);
    }
    struct text line = {0};
    json_open(&line, '{');
    json_key(&line, "type");
    json_string(&line, "done");
    json_close(&line, '}');
    report(&line);
    return 0;
}
