/*
 * Rules follow the plan's mounts: were one of them to be writable by mistake, or remounted through a hole, Landlock still
 * says no. Version 1 cannot allow renames between directories, which breaks ordinary tools: it counts as none.
 */
#include "landlock.h"

#include "common.h"
#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Own names: the system's header may be older than the kernel. */
#define EXECUTE (1ULL << 0)
#define WRITE_FILE (1ULL << 1)
#define READ_FILE (1ULL << 2)
#define READ_DIR (1ULL << 3)
#define REMOVE_DIR (1ULL << 4)
#define REMOVE_FILE (1ULL << 5)
#define MAKE_CHAR (1ULL << 6)
#define MAKE_DIR (1ULL << 7)
#define MAKE_REG (1ULL << 8)
#define MAKE_SOCK (1ULL << 9)
#define MAKE_FIFO (1ULL << 10)
#define MAKE_BLOCK (1ULL << 11)
#define MAKE_SYM (1ULL << 12)
#define REFER (1ULL << 13)
#define TRUNCATE (1ULL << 14)
#define IOCTL_DEV (1ULL << 15)

#define READS (EXECUTE | READ_FILE | READ_DIR)
#define WRITES_FILES (READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | IOCTL_DEV)
#define WRITES                                                                                                    \
    (READS | WRITES_FILES | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM | \
     REFER)
#define FILE_RIGHTS (EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV)

#define SCOPE_ABSTRACT_UNIX (1ULL << 0)
#define SCOPE_SIGNAL (1ULL << 1)
#define CREATE_VERSION 1U
#define RULE_PATH_BENEATH 1

struct ruleset {
    uint64_t handled_fs;
    uint64_t handled_net;
    uint64_t scoped;
};

struct path_rule {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

int landlock_version(void) {
    long version = syscall(__NR_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
    return version < 0 ? 0 : (int)version;
}

static uint64_t known_rights(int version) {
    uint64_t rights = (REFER << 1) - 1;
    if (version >= 3) {
        rights |= TRUNCATE;
    }
    if (version >= 5) {
        rights |= IOCTL_DEV;
    }
    return rights;
}

/* Allows `rights` on `path` and beneath. A path that is not there needs no rule. */
static int allow(int ruleset, const char *path, uint64_t rights) {
    int parent = open(path, O_PATH | O_CLOEXEC);
    if (parent < 0) {
        return errno == ENOENT || errno == EACCES ? 0 : -1;
    }
    struct stat stat;
    if (fstat(parent, &stat) == 0 && !S_ISDIR(stat.st_mode)) {
        rights &= FILE_RIGHTS;
    }
    struct path_rule rule = {.allowed = rights, .parent = parent};
    int result = (int)syscall(__NR_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0);
    int error = errno;
    close(parent);
    errno = error;
    return result;
}

static bool sealed(const struct plan *plan, const char *path) {
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->records[i].verb == PLAN_SEAL && strcmp(plan->records[i].fields[0], path) == 0) {
            return true;
        }
    }
    return false;
}

static int allow_record(int ruleset, const struct plan *plan, const struct plan_record *record, uint64_t known) {
    switch (record->verb) {
        case PLAN_READ:
        case PLAN_READ_TRY:
        case PLAN_COPY:
        case PLAN_FILE: {
            const char *path = record->verb == PLAN_FILE ? record->fields[0] : record->fields[1];
            return allow(ruleset, path, READS & known);
        }
        case PLAN_WRITE:
            return allow(ruleset, record->fields[1], WRITES & known);
        case PLAN_TMPFS:
            return allow(ruleset, record->fields[0], (sealed(plan, record->fields[0]) ? READS : WRITES) & known);
        case PLAN_DEV:
            return allow(ruleset, record->fields[0], WRITES_FILES & known) != 0
                       ? -1
                       : allow(ruleset, "/dev/shm", WRITES & known);
        case PLAN_PROC:
            /* Nothing in it is written by ordinary programs but the names of threads. */
            return allow(ruleset, record->fields[0], READS & known);
        default:
            return 0;
    }
}

int landlock_confine(const struct plan *plan) {
    int version = landlock_version();
    if (version < 2) {
        return 0;
    }
    uint64_t known = known_rights(version);
    struct ruleset attributes = {.handled_fs = known};
    if (version >= 6) {
        attributes.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
    }
    size_t size = version >= 6 ? sizeof attributes : version >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
    int ruleset = (int)syscall(__NR_landlock_create_ruleset, &attributes, size, 0);
    if (ruleset < 0) {
        return -1;
    }
    int result = allow(ruleset, "/", READ_DIR);
    if (result == 0) {
        result = allow(ruleset, NATIVE_INSIDE, READS & known);
    }
    for (size_t i = 0; result == 0 && i < plan->count; i++) {
        result = allow_record(ruleset, plan, &plan->records[i], known);
    }
    if (result == 0) {
        result = (int)syscall(__NR_landlock_restrict_self, ruleset, 0);
    }
    int error = errno;
    close(ruleset);
    errno = error;
    return result == 0 ? 1 : -1;
}
