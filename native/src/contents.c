/*
 * contents: copies files of a tree that somebody untrusted has written into a directory where each is named by its SHA-256.
 * PROTOCOL.md has the arguments and the answer. It is the quick way for many small files; what is not a plain case it leaves to the
 * caller, who has a slow way for each.
 */
#include "commands.h"
#include "common.h"
#include "fault.h"
#include "sha256.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST = 1 << 20, PATHS_AT_ONCE = 64, MOST_THREADS = 8 };

/* `hash` is empty while the content is not kept. */
struct wanted {
    const char *path;
    char hash[SHA256_HEX + 1];
};

struct batch {
    struct wanted *first;
    size_t count;
};

struct contents {
    int tree, blobs;
    atomic_bool stop;
    struct pool pool;
    char *buffers[MOST_THREADS];
};

/* The size, or -1: not a regular file, too large, shut, gone, or not what it was a moment ago. */
static ssize_t read_file(const struct contents *contents, const char *path, char *buffer) {
    struct stat stat;
    int fd = FS(open_beneath(contents->tree, path, O_RDONLY | O_NONBLOCK));
    ssize_t size = -1;
    if (fd >= 0 && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size <= LARGEST) {
        ssize_t got = FS(read(fd, buffer, LARGEST));
        size = got == stat.st_size ? got : -1;
    }
    if (fd >= 0) {
        close(fd);
    }
    return size;
}

/* One that is there already is whole when it has its size: who died over it has written less. */
static bool is_kept(const struct contents *contents, const char *name, ssize_t size) {
    struct stat stat;
    return errno == EEXIST && fstatat(contents->blobs, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(stat.st_mode) && stat.st_size == size;
}

static void keep(const struct contents *contents, struct wanted *wanted, char *buffer) {
    char name[SHA256_HEX + 1];
    ssize_t size = read_file(contents, wanted->path, buffer);
    if (size < 0) {
        return;
    }
    sha256_hex(buffer, (size_t)size, name);
    int fd = FS(openat(contents->blobs, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    bool kept = fd < 0 ? is_kept(contents, name, size) : FS(write_all(fd, buffer, (size_t)size)) == 0;
    if (fd >= 0 && (close(fd) != 0 || !kept)) {
        kept = false;
        unlinkat(contents->blobs, name, 0); /* a full disk, say: what was written of it is no content */
    }
    if (kept) {
        memcpy(wanted->hash, name, sizeof name);
    }
}

static void work(void *context, unsigned thread, void *piece) {
    struct contents *contents = context;
    const struct batch *batch = piece;
    for (size_t i = 0; i < batch->count; i++) {
        keep(contents, &batch->first[i], contents->buffers[thread]);
    }
}

static void read_paths(struct text *paths) {
    if (text_whole(paths, STDIN_FILENO) != 0) {
        die_errno(EXIT_FAILED, "read-paths", "cannot read the paths");
    }
    if (paths->count == 0 || paths->bytes[paths->count - 1] != 0) {
        die(EXIT_USAGE, "read-paths", "the paths are cut off");
    }
}

static struct wanted *split(const struct text *paths, size_t *count) {
    *count = 0;
    for (size_t i = 0; i < paths->count; i++) {
        *count += paths->bytes[i] == 0;
    }
    struct wanted *all = must_alloc(*count * sizeof *all);
    const char *at = paths->bytes;
    for (size_t i = 0; i < *count; i++, at += strlen(at) + 1) {
        all[i] = (struct wanted){.path = at};
    }
    return all;
}

static int open_place(const char *path) {
    int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (path && fd < 0) {
        die_errno(EXIT_FAILED, "open-directory", "cannot open %s", path);
    }
    return fd;
}

static void answer(const struct wanted *all, size_t count, double started) {
    struct text out = {0};
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        text_bytes(&out, all[i].hash, strlen(all[i].hash) + 1);
        kept += *all[i].hash != 0;
    }
    if (write_all(STDOUT_FILENO, out.bytes, out.count) != 0) {
        die_errno(EXIT_FAILED, "write-names", "cannot write the names");
    }
    text_free(&out);
    struct text line = {0};
    json_open(&line, '{');
    json_key(&line, "type");
    json_string(&line, "kept");
    json_key(&line, "files");
    json_number(&line, (int64_t)kept);
    json_key(&line, "milliseconds");
    json_real(&line, monotonic_ms() - started);
    json_close(&line, '}');
    report(&line);
}

int contents_main(int argc, char **argv) {
    static const struct option known[] = {
        {"report-fd", required_argument, NULL, 'r'},
        {"tree", required_argument, NULL, 't'},
        {"blobs", required_argument, NULL, 'b'},
        {NULL, 0, NULL, 0},
    };
    static struct contents contents = {.tree = -1, .blobs = -1};
    double started = monotonic_ms();
    unsigned threads = useful_threads();
    struct text paths = {0};
    size_t count;
    for (int code; (code = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (code) {
        case 'r': report_fd = (int)parse_number(optarg, 0, 1 << 20, "--report-fd"); break;
        case 't': contents.tree = open_place(optarg); break;
        case 'b': contents.blobs = open_place(optarg); break;
        default: die(EXIT_USAGE, "arguments", "contents: unknown option");
        }
    }
    if (contents.tree < 0 || contents.blobs < 0 || optind != argc) {
        die(EXIT_USAGE, "arguments", "usage: contents --tree DIR --blobs DIR < PATHS");
    }
    fault_verb("contents");
    want_descriptors(256);
    read_paths(&paths);
    struct wanted *all = split(&paths, &count);
    struct batch *batches = must_alloc((count / PATHS_AT_ONCE + 1) * sizeof *batches);
    contents.pool = (struct pool){.mutex = PTHREAD_MUTEX_INITIALIZER,
                                  .changed = PTHREAD_COND_INITIALIZER,
                                  .stop = &contents.stop,
                                  .work = work,
                                  .context = &contents};
    for (unsigned i = 0; i < threads; i++) {
        contents.buffers[i] = must_alloc(LARGEST);
    }
    for (size_t i = 0; i < count; i += PATHS_AT_ONCE) {
        struct batch *batch = &batches[i / PATHS_AT_ONCE];
        *batch = (struct batch){&all[i], count - i < PATHS_AT_ONCE ? count - i : PATHS_AT_ONCE};
        pool_push(&contents.pool, batch);
    }
    pool_run(&contents.pool, threads);
    answer(all, count, started);
    for (unsigned i = 0; i < threads; i++) {
        free(contents.buffers[i]);
    }
    free(batches);
    free(all);
    text_free(&paths);
    return 0;
}
