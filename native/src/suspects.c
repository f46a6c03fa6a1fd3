/* suspects: files that may hold secrets by their names, below a directory that is not cloned. */
#include "commands.h"
#include "common.h"
#include "fault.h"
#include "scan.h"
#include "suspect.h"
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is unreadable for us is so inside too. After any other error nothing is known of what is there. */
static void check_shut(const char *path) {
    if (errno != EACCES && errno != EPERM && errno != ENOENT && errno != ENOTDIR && errno != ELOOP) {
        die_errno(EXIT_FAILED, "look-for-secrets", "cannot look for secrets in %s", *path ? path : "the top folder");
    }
}

static void find_suspects(struct text *out, int at, const char *path, uint64_t *seen) {
    struct listing listing = {0};
    if (FS(list_directory(at, &listing)) != 0) {
        check_shut(path);
        return;
    }
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; i < listing.count; i++) {
        const struct listing_item *item = &listing.items[i];
        int fd = -1;
        ++*seen;
        if (item->type == DT_DIR || item->type == DT_UNKNOWN) {
            fd = FS(openat(at, item->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
            if (fd < 0) {
                check_shut(item->name);
            }
        }
        if (fd < 0 && (item->type == DT_DIR || !suspect_name(slash ? slash + 1 : path, item->name))) {
            continue;
        }
        char *below = *path ? must_format("%s/%s", path, item->name) : must_strdup(item->name);
        if (strlen(below) > LONGEST_PATH) {
            errno = ENAMETOOLONG;
            check_shut(path);
        }
        if (fd >= 0) {
            find_suspects(out, fd, below, seen);
            close(fd);
        } else {
            text_bytes(out, below, strlen(below) + 1);
        }
        free(below);
    }
    listing_free(&listing);
}

int suspects_main(int argc, char **argv) {
    static const struct option known[] = {{"report-fd", required_argument, NULL, 'r'}, {NULL, 0, NULL, 0}};
    double started = monotonic_ms();
    struct text out = {0};
    uint64_t seen = 0;
    for (int code; (code = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (code != 'r') {
            die(EXIT_USAGE, "arguments", "usage: suspects DIR");
        }
        report_fd = (int)parse_number(optarg, 0, 1 << 20, "--report-fd");
    }
    if (optind + 1 != argc) {
        die(EXIT_USAGE, "arguments", "usage: suspects DIR");
    }
    fault_verb("suspects");
    want_descriptors(1 << 16); /* one per level of the tree */
    int top = open(argv[optind], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0) {
        die_errno(EXIT_FAILED, "open-directory", "cannot open %s", argv[optind]);
    }
    find_suspects(&out, top, "", &seen);
    scan_send(&out, seen, started);
    return 0;
}
