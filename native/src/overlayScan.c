/* overlay-scan: every difference that an overlay's upper layer makes to its lower one. overlay.c of the kernel says how
 * they are written: a character device 0:0 is "deleted", user.overlay.opaque=y on a directory hides the lower one. */
#include "commands.h"
#include "common.h"
#include "tree.h"
#include "fault.h"
#include "scan.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

struct layers {
    struct text out;
    bool with_git, with_stat;
    uint64_t seen;
};

/* One directory in both layers, by descriptor; `lower` is -1 where there is none. */
struct level {
    int upper, lower;
    const char *path;
    bool opaque;
};

static char type_of(const struct statx *stat) {
    return S_ISREG(stat->stx_mode)   ? 'f'
           : S_ISLNK(stat->stx_mode) ? 'l'
           : S_ISDIR(stat->stx_mode) ? 'd'
           : S_ISFIFO(stat->stx_mode) ? 'p'
           : S_ISSOCK(stat->stx_mode) ? 's'
                                      : 'o';
}

/* Neither a regular file, nor a link, nor a directory. */
static bool is_special(const struct statx *stat) {
    return !S_ISREG(stat->stx_mode) && !S_ISLNK(stat->stx_mode) && !S_ISDIR(stat->stx_mode);
}

static bool look(int directory, const char *name, struct statx *stat) {
    return directory >= 0 &&
           FS(statx(directory, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, stat)) == 0;
}

static bool is_whiteout(const struct statx *stat) {
    return S_ISCHR(stat->stx_mode) && stat->stx_rdev_major == 0 && stat->stx_rdev_minor == 0;
}

static void tell(struct layers *layers, char code, const struct statx *stat, const char *path) {
    text_format(&layers->out, "%c %c %o %llu %llu %lld %lld %lld ", code, type_of(stat), stat->stx_mode & 07777u,
                (unsigned long long)stat->stx_size, (unsigned long long)stat->stx_ino,
                (long long)(stat->stx_mask & STATX_BTIME ? NANOSECONDS(stat->stx_btime) : 0),
                (long long)NANOSECONDS(stat->stx_ctime), (long long)NANOSECONDS(stat->stx_mtime));
    text_bytes(&layers->out, path, strlen(path) + 1);
}

static char *join(const char *path, const char *name) {
    return *path ? must_format("%s/%s", path, name) : must_strdup(name);
}

static int open_directory(int at, const char *name) {
    return FS(openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

static bool skipped(const struct layers *layers, const char *name) {
    return !layers->with_git && strcmp(name, ".git") == 0;
}

/* The path of an entry, to be freed. NULL when no call can name it: that there is one is told of its directory, once. */
static char *path_below(struct layers *layers, int directory, const char *path, const char *name, bool *deep) {
    struct statx stat;
    char *below = join(path, name);
    if (strlen(below) <= LONGEST_PATH) {
        return below;
    }
    free(below);
    if (!*deep && FS(statx(directory, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &stat)) == 0) {
        tell(layers, 'L', &stat, path);
    }
    *deep = true;
    return NULL;
}

/* What cannot be looked at is not taken for gone: a directory that shuts us out is told, anything else ends the scan. */
static void tell_shut(struct layers *layers, const char *path) {
    struct statx stat = {.stx_mode = S_IFDIR, .stx_size = (uint64_t)errno};
    if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) {
        return; /* removed while we looked */
    }
    if (errno != EACCES && errno != EPERM) {
        die_errno(EXIT_FAILED, "scan-layer", "cannot scan %s", *path ? path : "the top folder");
    }
    tell(layers, 'E', &stat, path);
}

/* Of a path that cannot be asked about: it is the directory above that shuts us out. */
static void tell_shut_above(struct layers *layers, const char *path) {
    int error = errno;
    char *above = must_strdup(path);
    char *slash = strrchr(above, '/');
    *(slash ? slash : above) = 0;
    errno = error;
    tell_shut(layers, above);
    free(above);
}

/* Everything at `name` of one layer, added or deleted; directories only when empty. Depth is bounded by LONGEST_PATH. */
static void tell_all(struct layers *layers, char code, int at, const char *name, const char *path) {
    struct statx stat;
    struct listing listing = {0};
    bool deep = false;
    if (!look(at, name, &stat)) {
        tell_shut_above(layers, path);
        return;
    }
    if (is_whiteout(&stat)) {
        return;
    }
    layers->seen++;
    if (!S_ISDIR(stat.stx_mode)) {
        if (layers->with_stat || !is_special(&stat)) {
            tell(layers, code, &stat, path);
        }
        return;
    }
    int fd = open_directory(at, name);
    if (fd < 0 || FS(list_directory(fd, &listing)) != 0) {
        tell_shut(layers, path);
    } else if (listing.count == 0) {
        tell(layers, code, &stat, path);
    }
    for (size_t i = 0; i < listing.count; i++) {
        const char *item = listing.items[i].name;
        char *below = skipped(layers, item) ? NULL : path_below(layers, fd, path, item, &deep);
        if (below) {
            tell_all(layers, code, fd, item, below);
            free(below);
        }
    }
    listing_free(&listing);
    if (fd >= 0) {
        close(fd);
    }
}

static bool same_content(int left_directory, int right_directory, const char *name) {
    static char left_bytes[65536];
    static char right_bytes[65536];
    int left = openat(left_directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int right = openat(right_directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool same = left >= 0 && right >= 0;
    while (same) {
        ssize_t got = read(left, left_bytes, sizeof left_bytes);
        if (got <= 0) {
            same = got == 0;
            break;
        }
        ssize_t other = 0;
        while (other < got) {
            ssize_t part = read(right, right_bytes + other, (size_t)(got - other));
            if (part <= 0) {
                break;
            }
            other += part;
        }
        same = other == got && memcmp(left_bytes, right_bytes, (size_t)got) == 0;
    }
    if (left >= 0) {
        close(left);
    }
    if (right >= 0) {
        close(right);
    }
    return same;
}

static bool same_target(int left_directory, int right_directory, const char *name) {
    char left[4097];
    char right[4097];
    ssize_t a = readlinkat(left_directory, name, left, sizeof left);
    ssize_t b = readlinkat(right_directory, name, right, sizeof right);
    return a >= 0 && a == b && memcmp(left, right, (size_t)a) == 0;
}

static bool has_other_time(const struct layers *layers, const struct statx *upper, const struct statx *lower) {
    return layers->with_stat && NANOSECONDS(upper->stx_mtime) != NANOSECONDS(lower->stx_mtime);
}

/* Of a lower file with other names only this one has come up. */
static bool has_other_stat(const struct layers *layers, const struct statx *upper, const struct statx *lower) {
    return has_other_time(layers, upper, lower) ||
           (layers->with_stat && (upper->stx_nlink > 1 || lower->stx_nlink > 1));
}

static void check_both(struct layers *layers, const struct level *level, const char *name, const char *path,
                       const struct statx *upper, const struct statx *lower) {
    char type = type_of(upper);
    if (type != type_of(lower)) {
        tell(layers, 'T', upper, path);
    } else if (type == 'l') {
        if (!same_target(level->upper, level->lower, name)) {
            tell(layers, 'T', upper, path);
        } else if (has_other_stat(layers, upper, lower)) {
            tell(layers, 'S', upper, path);
        }
    } else if (upper->stx_size != lower->stx_size || !same_content(level->upper, level->lower, name)) {
        tell(layers, 'M', upper, path);
    } else if ((upper->stx_mode & 07777) != (lower->stx_mode & 07777)) {
        tell(layers, 'P', upper, path);
    } else if (has_other_stat(layers, upper, lower)) {
        tell(layers, 'S', upper, path);
    }
}

static bool is_opaque(int fd) {
    char value[4];
    return fgetxattr(fd, "user.overlay.opaque", value, sizeof value) >= 1 && value[0] == 'y';
}

static void walk(struct layers *layers, const struct level *level);

static void walk_directory(struct layers *layers, const struct level *level, const char *name, const char *path,
                           const struct statx *upper, const struct statx *lower) {
    struct level below = {open_directory(level->upper, name), open_directory(level->lower, name), path, level->opaque};
    if (below.upper < 0 || below.lower < 0) {
        tell_shut(layers, path);
    } else {
        below.opaque = below.opaque || is_opaque(below.upper);
        if (below.opaque) {
            struct statx none = *upper; /* 'O': what is below the lower directory does not show through */
            tell(layers, 'O', &none, path);
        }
        if ((upper->stx_mode & 07777) != (lower->stx_mode & 07777)) {
            tell(layers, 'P', upper, path);
        } else if (has_other_time(layers, upper, lower)) {
            tell(layers, 'S', upper, path);
        }
        walk(layers, &below);
    }
    if (below.upper >= 0) {
        close(below.upper);
    }
    if (below.lower >= 0) {
        close(below.lower);
    }
}

static void check_name(struct layers *layers, const struct level *level, const char *name, const char *path) {
    struct statx upper;
    struct statx lower;
    if (!look(level->upper, name, &upper)) {
        if (errno != ENOENT) {
            tell_shut(layers, level->path);
        }
        return;
    }
    bool both = look(level->lower, name, &lower);
    if (!both && level->lower >= 0 && errno != ENOENT) {
        tell_shut(layers, level->path);
        return;
    }
    layers->seen++;
    if (is_whiteout(&upper)) {
        if (both) {
            tell_all(layers, 'D', level->lower, name, path);
        }
    } else if (!both) {
        tell_all(layers, 'A', level->upper, name, path);
    } else if (S_ISDIR(upper.stx_mode) && S_ISDIR(lower.stx_mode)) {
        walk_directory(layers, level, name, path, &upper, &lower);
    } else if (S_ISDIR(upper.stx_mode) || S_ISDIR(lower.stx_mode) || is_special(&upper)) {
        tell_all(layers, 'D', level->lower, name, path);
        tell_all(layers, 'A', level->upper, name, path);
    } else {
        check_both(layers, level, name, path, &upper, &lower);
    }
}

/* Where the upper directory is opaque, what only the lower one has is gone. */
static void walk_hidden(struct layers *layers, const struct level *level) {
    struct listing listing = {0};
    struct statx stat;
    bool deep = false;
    if (FS(list_directory(level->lower, &listing)) != 0) {
        tell_shut(layers, level->path);
        return;
    }
    for (size_t i = 0; i < listing.count; i++) {
        const char *name = listing.items[i].name;
        bool hidden = !skipped(layers, name) && !look(level->upper, name, &stat);
        char *path = hidden ? path_below(layers, level->lower, level->path, name, &deep) : NULL;
        if (path) {
            tell_all(layers, 'D', level->lower, name, path);
            free(path);
        }
    }
    listing_free(&listing);
}

static void walk(struct layers *layers, const struct level *level) {
    struct listing listing = {0};
    bool deep = false;
    if (FS(list_directory(level->upper, &listing)) != 0) {
        tell_shut(layers, level->path);
        return;
    }
    for (size_t i = 0; i < listing.count; i++) {
        const char *name = listing.items[i].name;
        char *path = skipped(layers, name) ? NULL : path_below(layers, level->upper, level->path, name, &deep);
        if (path) {
            check_name(layers, level, name, path);
            free(path);
        }
    }
    listing_free(&listing);
    if (level->opaque) {
        walk_hidden(layers, level);
    }
}

static int open_layer(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        die_errno(EXIT_FAILED, "open-layer", "cannot open %s", path);
    }
    return fd;
}

void scan_send(const struct text *out, uint64_t seen, double started) {
    if (out->count > 0 && write_all(STDOUT_FILENO, out->bytes, out->count) != 0) {
        die_errno(EXIT_FAILED, "write-records", "cannot write the records");
    }
    struct text line = {0};
    json_open(&line, '{');
    json_key(&line, "type");
    json_string(&line, "scanned");
    json_key(&line, "seen");
    json_number(&line, (int64_t)seen);
    json_key(&line, "milliseconds");
    json_real(&line, monotonic_ms() - started);
    json_close(&line, '}');
    report(&line);
}

/* The top folder itself is in no listing. */
static void check_top(struct layers *layers, const struct level *top) {
    struct statx upper;
    struct statx lower;
    if (look(top->upper, ".", &upper) && look(top->lower, ".", &lower) && has_other_time(layers, &upper, &lower)) {
        tell(layers, 'S', &upper, top->path);
    }
}

int overlay_scan_main(int argc, char **argv) {
    static const struct option known[] = {
        {"report-fd", required_argument, NULL, 'r'}, {"lower", required_argument, NULL, 'l'},
        {"upper", required_argument, NULL, 'u'},     {"prefix", required_argument, NULL, 'p'},
        {"git", no_argument, NULL, 'g'},             {"stat", no_argument, NULL, 't'},
        {NULL, 0, NULL, 0},
    };
    double started = monotonic_ms();
    struct layers layers = {0};
    struct level top = {.path = ""};
    const char *lower = NULL;
    const char *upper = NULL;
    for (int code; (code = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (code) {
        case 'r': report_fd = (int)parse_number(optarg, 0, 1 << 20, "--report-fd"); break;
        case 'l': lower = optarg; break;
        case 'u': upper = optarg; break;
        case 'p': top.path = optarg; break;
        case 'g': layers.with_git = true; break;
        case 't': layers.with_stat = true; break;
        default: die(EXIT_USAGE, "arguments", "overlay-scan: unknown option");
        }
    }
    if (!lower || !upper || optind != argc) {
        die(EXIT_USAGE, "arguments", "usage: overlay-scan --lower DIR --upper DIR [--prefix PATH] [--git] [--stat]");
    }
    fault_verb("overlay-scan");
    want_descriptors(1 << 16); /* two per level of the tree */
    top.lower = open_layer(lower);
    top.upper = open_layer(upper);
    check_top(&layers, &top);
    walk(&layers, &top);
    scan_send(&layers.out, layers.seen, started);
    return 0;
}
