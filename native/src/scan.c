/* scan: every difference between a manifest's base and its shadow. PROTOCOL.md has the arguments and the records. */
#include "scan.h"

#include "commands.h"
#include "common.h"
#include "fault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const struct manifest_entry *entry_of(const struct scan *scan, uint32_t index) {
    return &scan->manifest.entries[index];
}

static char *join(const char *directory, const char *name, size_t length) {
    size_t start = strlen(directory);
    char *path = must_alloc(start + length + 2);
    memcpy(path, directory, start);
    if (start > 0) {
        path[start++] = '/';
    }
    memcpy(path + start, name, length);
    path[start + length] = 0;
    return path;
}

static void tell(struct scan_worker *worker, char code, const struct found *found, const char *path) {
    text_format(&worker->out, "%c %c %o %llu %llu %lld %lld %lld ", code, found->kind ? found->kind : found->type,
                found->mode, (unsigned long long)found->size, (unsigned long long)found->ino, (long long)found->btime,
                (long long)found->ctime, (long long)found->mtime);
    text_bytes(&worker->out, path, strlen(path) + 1);
}

static struct found base_of(const struct manifest_entry *entry) {
    return (struct found){.type = (char)entry->type,
                          .mode = entry->mode,
                          .size = entry->size,
                          .ino = entry->shadow_ino,
                          .ctime = entry->shadow_ctime,
                          .btime = entry->shadow_btime,
                          .mtime = entry->mtime};
}

static bool is_git(const struct scan *scan, const char *name, size_t length) {
    return !scan->with_git && length == 4 && memcmp(name, ".git", 4) == 0;
}

/* Everything that the base had at and below a record is gone. Depth is bounded by LONGEST_PATH. */
static void tell_deleted(struct spot *spot, uint32_t index, const char *path) {
    struct scan *scan = spot->scan;
    const struct manifest_entry *entry = entry_of(scan, index);
    if (entry->flags & ENTRY_ABSENT && !(scan->with_stat && entry->type == TYPE_OTHER)) {
        return;
    }
    if (entry->type != TYPE_DIRECTORY || entry->child_count == 0) {
        struct found found = base_of(entry);
        tell(spot->worker, 'D', &found, path);
        return;
    }
    for (uint32_t i = 0; i < entry->child_count; i++) {
        const struct manifest_entry *child = entry_of(scan, entry->first_child + i);
        const char *name = scan->manifest.names + child->name_offset;
        if (!is_git(scan, name, child->name_length)) {
            char *below = join(path, name, child->name_length);
            tell_deleted(spot, entry->first_child + i, below);
            free(below);
        }
    }
}

static void push(struct scan *scan, uint32_t index, bool same, const char *path) {
    struct piece *piece = must_alloc(sizeof *piece + strlen(path) + 1);
    piece->index = index;
    piece->same = same;
    strcpy(piece->path, path);
    pool_push(&scan->pool, piece);
}

/* The same content under another time, or under an inode that may have other names than the base's. */
static bool has_other_stat(const struct scan *scan, const struct manifest_entry *entry, const struct found *found) {
    return scan->with_stat &&
           (found->mtime != entry->mtime || found->ino != entry->shadow_ino || found->links > 1);
}

static void check_file(struct spot *spot, const struct manifest_entry *entry, const struct found *found,
                       const char *name, const char *path) {
    if (found->ino == entry->shadow_ino && found->ctime == entry->shadow_ctime && found->size == entry->size) {
        return;
    }
    char answer = found->size != entry->size ? 'M' : scan_compare(spot, entry, name, path);
    if (answer != '=') {
        tell(spot->worker, answer, found, path);
    } else if (found->mode != entry->mode) {
        tell(spot->worker, 'P', found, path);
    } else if (has_other_stat(spot->scan, entry, found)) {
        tell(spot->worker, 'S', found, path);
    }
}

static void check_link(struct spot *spot, const struct manifest_entry *entry, const struct found *found,
                       const char *name, const char *path) {
    if (found->ino == entry->shadow_ino && found->ctime == entry->shadow_ctime) {
        return;
    }
    char *target = must_alloc(entry->size + 2);
    ssize_t length = readlinkat(spot->directory, name, target, entry->size + 2);
    if (length < 0 || (uint64_t)length != entry->size ||
        memcmp(target, spot->scan->manifest.names + entry->pack_offset, entry->size) != 0) {
        tell(spot->worker, 'T', found, path);
    } else if (has_other_stat(spot->scan, entry, found)) {
        tell(spot->worker, 'S', found, path);
    }
    free(target);
}

static void tell_added(struct spot *spot, const struct found *found, const char *path) {
    if (found->type == TYPE_DIRECTORY) {
        push(spot->scan, NOT_IN_BASE, false, path);
    } else if (found->type != TYPE_OTHER || spot->scan->with_stat) {
        tell(spot->worker, 'A', found, path);
    }
}

static void check_entry(struct spot *spot, uint32_t index, const struct found *found, const char *name,
                        const char *path) {
    const struct manifest_entry *entry = entry_of(spot->scan, index);
    if (entry->flags & ENTRY_ABSENT) {
        tell_added(spot, found, path);
    } else if (found->type != entry->type) {
        if (entry->type == TYPE_DIRECTORY || found->type == TYPE_DIRECTORY || found->type == TYPE_OTHER) {
            tell_deleted(spot, index, path);
            tell_added(spot, found, path);
        } else {
            tell(spot->worker, 'T', found, path);
        }
    } else if (entry->type == TYPE_FILE) {
        check_file(spot, entry, found, name, path);
    } else if (entry->type == TYPE_LINK) {
        check_link(spot, entry, found, name, path);
    } else if (!(entry->flags & ENTRY_MOUNT)) {
        if (found->mode != entry->mode) {
            tell(spot->worker, 'P', found, path);
        } else if (spot->scan->with_stat && found->mtime != entry->mtime) {
            tell(spot->worker, 'S', found, path);
        }
        bool same = found->ino == entry->shadow_ino && found->device == spot->scan->device;
        if (!same || !spot->scan->marks || spot->scan->marks[index]) {
            push(spot->scan, index, same, path);
        }
    }
}

/* False with errno. */
static bool look(int directory, const char *name, struct found *found) {
    struct statx stat;
    if (FS(statx(directory, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &stat)) != 0) {
        return false;
    }
    *found = (struct found){
        .type = S_ISREG(stat.stx_mode)   ? TYPE_FILE
                : S_ISLNK(stat.stx_mode) ? TYPE_LINK
                : S_ISDIR(stat.stx_mode) ? TYPE_DIRECTORY
                                         : TYPE_OTHER,
        .kind = S_ISFIFO(stat.stx_mode) ? KIND_FIFO : S_ISSOCK(stat.stx_mode) ? KIND_SOCKET : 0,
        .mode = stat.stx_mode & 07777,
        .size = stat.stx_size,
        .links = stat.stx_nlink,
        .ino = stat.stx_ino,
        .device = makedev(stat.stx_dev_major, stat.stx_dev_minor),
        .ctime = NANOSECONDS(stat.stx_ctime),
        .btime = stat.stx_mask & STATX_BTIME ? NANOSECONDS(stat.stx_btime) : 0,
        .mtime = NANOSECONDS(stat.stx_mtime),
    };
    return true;
}

static int compare_names(const char *name, const struct scan *scan, const struct manifest_entry *entry) {
    size_t length = strlen(name);
    size_t common = length < entry->name_length ? length : entry->name_length;
    int order = memcmp(name, scan->manifest.names + entry->name_offset, common);
    return order != 0 ? order : length < entry->name_length ? -1 : length > entry->name_length;
}

/* What cannot be looked at is not taken for gone. A directory whose mode shuts us out is told, anything else ends the scan. */
static void tell_shut(struct spot *spot) {
    struct found found = {.type = TYPE_DIRECTORY, .size = (uint64_t)errno};
    if (errno != EACCES && errno != EPERM) {
        die_errno(EXIT_FAILED, "scan-directory", "cannot scan %s", *spot->path ? spot->path : "the top folder");
    }
    if (!spot->shut) {
        tell(spot->worker, 'E', &found, spot->path);
    }
    spot->shut = true;
}

/* A path that no call can name is in no base; that there is one is told of its directory. */
static void tell_deep(struct spot *spot) {
    struct stat stat;
    if (!spot->deep && fstat(spot->directory, &stat) == 0) {
        struct found found = {.type = TYPE_DIRECTORY,
                              .mode = stat.st_mode & 07777,
                              .ino = stat.st_ino,
                              .ctime = NANOSECONDS(stat.st_ctim)};
        tell(spot->worker, 'L', &found, spot->path);
    }
    spot->deep = true;
}

/* One name: in the listing (`name`), in the base (`index`), or both. */
static void check_name(struct spot *spot, const char *name, uint32_t index) {
    struct scan *scan = spot->scan;
    const struct manifest_entry *entry = index == NOT_IN_BASE ? NULL : entry_of(scan, index);
    const char *text = name ? name : scan->manifest.names + entry->name_offset;
    size_t length = name ? strlen(name) : entry->name_length;
    struct found found;
    if (is_git(scan, text, length)) {
        return;
    }
    char *path = join(spot->path, text, length);
    spot->worker->seen++;
    if (strlen(path) > LONGEST_PATH) {
        if (name) {
            tell_deep(spot);
        }
        free(path);
        return;
    }
    bool there = name && look(spot->directory, name, &found);
    if (name && !there && errno != ENOENT) {
        tell_shut(spot);
    } else if (there && entry) {
        check_entry(spot, index, &found, name, path);
    } else if (there) {
        tell_added(spot, &found, path);
    } else if (entry) {
        tell_deleted(spot, index, path);
    }
    free(path);
}

static void merge(struct spot *spot, const struct listing *listing, uint32_t index) {
    struct scan *scan = spot->scan;
    uint32_t at = index == NOT_IN_BASE ? 0 : entry_of(scan, index)->first_child;
    uint32_t end = index == NOT_IN_BASE ? 0 : at + entry_of(scan, index)->child_count;
    for (size_t i = 0; i < listing->count || at < end;) {
        int order = i == listing->count ? 1
                    : at == end         ? -1
                                        : compare_names(listing->items[i].name, scan, entry_of(scan, at));
        check_name(spot, order <= 0 ? listing->items[i].name : NULL, order >= 0 ? at : NOT_IN_BASE);
        i += order <= 0;
        at += order >= 0;
    }
}

/* A directory whose names have not changed: only what has is looked at. */
static void check_marked(struct spot *spot, uint32_t index) {
    struct scan *scan = spot->scan;
    uint32_t first = entry_of(scan, index)->first_child;
    for (uint32_t at = first; at < first + entry_of(scan, index)->child_count; at++) {
        if (scan->marks[at]) {
            const struct manifest_entry *entry = entry_of(scan, at);
            char *name = join("", scan->manifest.names + entry->name_offset, entry->name_length);
            check_name(spot, name, at);
            free(name);
        }
    }
}

static void work(void *context, unsigned thread, void *argument) {
    struct scan *scan = context;
    struct piece *piece = argument;
    struct spot spot = {.scan = scan, .worker = &scan->workers[thread], .directory = -1, .path = piece->path};
    struct listing listing = {0};
    bool named = scan->marks && piece->same && !(scan->marks[piece->index] & HAS_CHANGED);
    spot.directory = FS(open_beneath(scan->shadow, piece->path, O_RDONLY | O_DIRECTORY));
    if (spot.directory >= 0 && named) {
        check_marked(&spot, piece->index);
    } else if (spot.directory < 0 || FS(list_directory(spot.directory, &listing)) != 0) {
        if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP) {
            tell_shut(&spot);
        }
    } else {
        if (piece->index == NOT_IN_BASE && listing.count == 0) {
            struct stat stat;
            if (fstat(spot.directory, &stat) == 0) {
                struct found found = {.type = TYPE_DIRECTORY,
                                      .mode = stat.st_mode & 07777,
                                      .ino = stat.st_ino,
                                      .mtime = NANOSECONDS(stat.st_mtim)};
                tell(spot.worker, 'A', &found, piece->path);
            }
        }
        merge(&spot, &listing, piece->index);
        listing_free(&listing);
    }
    if (spot.directory >= 0) {
        close(spot.directory);
    }
    free(piece);
}

static int open_optional(const char *path, const char *step) {
    int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (path && fd < 0) {
        die_errno(EXIT_FAILED, step, "cannot open %s", path);
    }
    return fd;
}

static void open_packs(struct scan *scan) {
    for (int i = 0; i < PACKS; i++) {
        char name[32];
        snprintf(name, sizeof name, "pack.%d", i);
        scan->packs[i] = scan->base >= 0 ? openat(scan->base, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    }
}

static unsigned parse_options(struct scan *scan, int argc, char **argv) {
    static const struct option known[] = {
        {"report-fd", required_argument, NULL, 'r'}, {"manifest", required_argument, NULL, 'm'},
        {"shadow", required_argument, NULL, 's'},    {"host", required_argument, NULL, 'h'},
        {"base", required_argument, NULL, 'b'},      {"threads", required_argument, NULL, 'j'},
        {"git", no_argument, NULL, 'g'},             {"snapshot", no_argument, NULL, 'n'},
        {"stat", no_argument, NULL, 't'},            {NULL, 0, NULL, 0},
    };
    bool snapshot = false;
    const char *manifest = NULL;
    const char *shadow = NULL;
    unsigned threads = useful_threads();
    for (int code; (code = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (code) {
        case 'r': report_fd = (int)parse_number(optarg, 0, 1 << 20, "--report-fd"); break;
        case 'm': manifest = optarg; break;
        case 's': shadow = optarg; break;
        case 'h': scan->host = open_optional(optarg, "open-host"); break;
        case 'b': scan->base = open_optional(optarg, "open-base"); break;
        case 'j': threads = (unsigned)parse_number(optarg, 1, 8, "--threads"); break;
        case 'g': scan->with_git = true; break;
        case 'n': snapshot = true; break;
        case 't': scan->with_stat = true; break;
        default: die(EXIT_USAGE, "arguments", "scan: unknown option");
        }
    }
    if (!manifest || !shadow || optind != argc) {
        die(EXIT_USAGE, "arguments", "usage: scan --manifest FILE --shadow DIR [--base DIR] [--host DIR] [--git] [--snapshot] [--stat]");
    }
    scan->shadow = open_optional(shadow, "open-shadow");
    manifest_open(&scan->manifest, manifest);
    struct stat stat;
    if (snapshot && fstat(scan->shadow, &stat) == 0) {
        scan->device = stat.st_dev;
        scan->marks = scan_changed(&scan->manifest, scan->shadow);
    }
    return threads;
}

/* The top folder itself is in no listing. */
static void check_top(struct scan *scan) {
    struct found found;
    if (scan->with_stat && look(scan->shadow, ".", &found) && found.mtime != entry_of(scan, 0)->mtime) {
        tell(&scan->workers[0], 'S', &found, "");
    }
}

int scan_main(int argc, char **argv) {
    static struct scan scan = {.shadow = -1, .host = -1, .base = -1};
    double started = monotonic_ms();
    unsigned threads = parse_options(&scan, argc, argv);
    uint64_t seen = 0;
    uint64_t compared = 0;
    fault_verb("scan");
    want_descriptors(256);
    open_packs(&scan);
    scan.pool = (struct pool){.mutex = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER,
                              .stop = &scan.stop,
                              .work = work,
                              .context = &scan};
    for (unsigned i = 0; i < threads; i++) {
        scan.workers[i].left = must_alloc(COMPARE_BUFFER);
        scan.workers[i].right = must_alloc(COMPARE_BUFFER);
    }
    check_top(&scan);
    push(&scan, 0, true, "");
    pool_run(&scan.pool, threads);
    for (unsigned i = 0; i < threads; i++) {
        if (scan.workers[i].out.count > 0 &&
            write_all(STDOUT_FILENO, scan.workers[i].out.bytes, scan.workers[i].out.count) != 0) {
            die_errno(EXIT_FAILED, "write-records", "cannot write the records");
        }
        seen += scan.workers[i].seen;
        compared += scan.workers[i].compared;
    }
    struct text line = {0};
    json_open(&line, '{');
    json_key(&line, "type");
    json_string(&line, "scanned");
    json_key(&line, "seen");
    json_number(&line, (int64_t)seen);
    json_key(&line, "compared");
    json_number(&line, (int64_t)compared);
    json_key(&line, "milliseconds");
    json_real(&line, monotonic_ms() - started);
    json_close(&line, '}');
    report(&line);
    return 0;
}
