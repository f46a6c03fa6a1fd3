/*
 * settle: makes FIFOs and sockets, and sets the times of what stands below a tree that somebody untrusted has written, to the
 * nanosecond. PROTOCOL.md has the arguments. No link is followed; what has the time already is left as it is.
 */
#include "commands.h"
#include "common.h"
#include "fault.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIELDS = 3 };

/* The directory that a path lies in, and in `name` its last part. -1 with errno. */
static int open_above(int tree, const char *path, const char **name) {
    const char *slash = strrchr(path, '/');
    char *above = must_strdup(path);
    *name = *path == 0 ? "." : slash ? slash + 1 : path;
    above[slash ? slash - path : 0] = 0;
    int fd = FS(open_beneath(tree, above, O_PATH | O_DIRECTORY));
    int error = errno;
    free(above);
    errno = error;
    return fd;
}

static int set_time(int directory, const char *name, int64_t wanted) {
    struct stat stat;
    int64_t seconds = wanted / 1000000000 - (wanted % 1000000000 < 0);
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = seconds, .tv_nsec = wanted - seconds * 1000000000}};
    if (FS(fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW)) != 0) {
        return -1;
    }
    if (NANOSECONDS(stat.st_mtim) == wanted || FS(utimensat(directory, name, times, AT_SYMLINK_NOFOLLOW)) == 0) {
        return 0;
    }
    return errno == EPERM ? 0 : -1; /* somebody else's, whose time only its owner sets */
}

static void settle(int tree, const char *verb, const char *value, const char *path) {
    const char *name;
    int directory = open_above(tree, path, &name);
    int done = -1;
    if (directory >= 0 && strcmp(verb, "time") == 0) {
        done = set_time(directory, name, strtoll(value, NULL, 10));
    } else if (directory >= 0 && strcmp(verb, "fifo") == 0) {
        done = FS(mknodat(directory, name, S_IFIFO | ((mode_t)strtoul(value, NULL, 8) & 07777), 0));
    } else if (directory >= 0 && strcmp(verb, "socket") == 0) {
        done = FS(mknodat(directory, name, S_IFSOCK | ((mode_t)strtoul(value, NULL, 8) & 07777), 0));
    } else if (directory >= 0) {
        die(EXIT_USAGE, "plan", "settle: unknown verb");
    }
    if (done != 0) {
        die_errno(EXIT_FAILED, "settle", "cannot settle %s", *path ? path : "the top folder");
    }
    close(directory);
}

static void perform(int tree, const struct text *plan) {
    const char *fields[FIELDS];
    size_t count = 0;
    for (size_t at = 0; at < plan->count; at += strlen(plan->bytes + at) + 1) {
        fields[count++] = plan->bytes + at;
        if (count == FIELDS) {
            settle(tree, fields[0], fields[1], fields[2]);
            count = 0;
        }
    }
    if (count != 0 || (plan->count > 0 && plan->bytes[plan->count - 1] != 0)) {
        die(EXIT_USAGE, "plan", "the plan is cut off");
    }
}

int settle_main(int argc, char **argv) {
    static const struct option known[] = {
        {"report-fd", required_argument, NULL, 'r'}, {"tree", required_argument, NULL, 't'}, {NULL, 0, NULL, 0}};
    struct text plan = {0};
    int tree = -1;
    for (int code; (code = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (code) {
        case 'r': report_fd = (int)parse_number(optarg, 0, 1 << 20, "--report-fd"); break;
        case 't': tree = open(optarg, O_PATH | O_DIRECTORY | O_CLOEXEC); break;
        default: die(EXIT_USAGE, "arguments", "settle: unknown option");
        }
    }
    if (tree < 0 || optind != argc) {
        die(EXIT_USAGE, "arguments", "usage: settle --tree DIR < PLAN");
    }
    fault_verb("settle");
    umask(0);
    if (text_whole(&plan, STDIN_FILENO) != 0) {
        die_errno(EXIT_FAILED, "read-plan", "cannot read the plan");
    }
    perform(tree, &plan);
    text_free(&plan);
    struct text line = {0};
    json_open(&line, '{');
    json_key(&line, "type");
    json_string(&line, "settled");
    json_close(&line, '}');
    report(&line);
    return 0;
}
