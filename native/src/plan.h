/*
 * A launch plan: what to mount, what to run and under which limits. The caller makes it; supervise performs its mounts
 * and hands the same bytes to init, which performs the rest. PROTOCOL.md lists the records.
 */
#ifndef HOLDFAST_PLAN_H
#define HOLDFAST_PLAN_H

#include <stdbool.h>
#include <stddef.h>

enum { PLAN_FIELDS = 4, PLAN_BYTES_MOST = 64 * 1024 * 1024 };

enum plan_verb {
    PLAN_BWRAP,
    PLAN_BARE,
    PLAN_UID,
    PLAN_GID,
    PLAN_HOSTNAME,
    PLAN_READ,
    PLAN_READ_TRY,
    PLAN_WRITE,
    PLAN_TMPFS,
    PLAN_DIRECTORY,
    PLAN_SYMLINK,
    PLAN_FILE,
    PLAN_COPY,
    PLAN_SEAL,
    PLAN_DEV,
    PLAN_PROC,
    PLAN_OVERLAY,
    PLAN_OVERLAY_READ,
    PLAN_OVERLAY_MEMORY,
    PLAN_ARGUMENT,
    PLAN_VARIABLE,
    PLAN_CWD,
    PLAN_TERMINAL,
    PLAN_BRIDGE,
    PLAN_TRANSPARENT,
    PLAN_LIMIT,
    PLAN_ALLOW,
    PLAN_UNOBSERVED,
    PLAN_BACKGROUND,
    PLAN_ABLATE,
    PLAN_VERBS,
};

struct plan_record {
    enum plan_verb verb;
    const char *fields[PLAN_FIELDS];
};

struct plan {
    struct plan_record *records;
    size_t count;
};

/* NULL, or what is wrong with the bytes (static text). The records point into `bytes`, which must end in NUL. */
const char *plan_parse(struct plan *plan, const char *bytes, size_t count);
void plan_free(struct plan *plan);

/* The last record of that verb, or NULL. */
const struct plan_record *plan_find(const struct plan *plan, enum plan_verb verb);

/* Whether the plan says `allow NAME`. */
bool plan_allows(const struct plan *plan, const char *name);

/* Whether a protection is switched off: only ever true in the build for the ablation table. */
bool plan_ablates(const struct plan *plan, const char *name);

/* The value of `limit NAME`, or -1. */
long long plan_limit(const struct plan *plan, const char *name);

#endif
