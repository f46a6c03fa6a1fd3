/* The parts of `scan`: the walk (scan.c) and the comparison of contents (scanCompare.c). */
#ifndef HOLDFAST_SCAN_H
#define HOLDFAST_SCAN_H

#include "common.h"
#include "manifest.h"
#include "tree.h"

enum { NOT_IN_BASE = UINT32_MAX, PACKS = 16, COMPARE_BUFFER = 64 * 1024 };

/* A directory that stands in the shadow; `index` is its record, NOT_IN_BASE for a new one. `same`: it is the very directory that
 * the record is of, so that the marks of its entries hold. */
struct piece {
    uint32_t index;
    bool same;
    char path[];
};

struct scan_worker {
    struct text out;
    uint64_t seen, compared;
    char *left, *right;
};

struct scan {
    struct manifest manifest;
    int shadow, host, base;
    bool with_git, with_stat;
    uint8_t *marks; /* of records, bits of enum mark; NULL when everything is looked at */
    uint64_t device; /* of the shadow */
    atomic_bool stop;
    struct pool pool;
    struct scan_worker workers[8];
    int packs[PACKS];
};

/* What a scan works on at one moment. */
struct spot {
    struct scan *scan;
    struct scan_worker *worker;
    int directory;
    const char *path; /* of the directory */
    bool shut;        /* it was told that we cannot look into it */
    bool deep;        /* it was told that it has paths too long for a record */
};

/* What a file that is neither regular, link nor directory is told as; any other one is TYPE_OTHER. */
enum { KIND_FIFO = 'p', KIND_SOCKET = 's' };

struct found {
    char type, kind;
    unsigned mode, links;
    uint64_t size, ino, device;
    int64_t ctime, btime, mtime;
};

enum mark { HAS_CHANGED = 1, CHANGED_BELOW = 2 };

/* The marks of a manifest's records in a snapshot, to be freed; NULL when it cannot be told what has changed in it. */
uint8_t *scan_changed(const struct manifest *manifest, int shadow);

/* Writes the records of a tree to standard output and reports how many entries were seen since `started` (monotonic_ms). */
void scan_send(const struct text *out, uint64_t seen, double started);

/* Content of a file of the same size as the base's: 'M' changed, '=' the same bytes, 'U' cannot be told. */
char scan_compare(struct spot *spot, const struct manifest_entry *entry, const char *name, const char *path);

#endif
