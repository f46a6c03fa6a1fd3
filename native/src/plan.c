/* Parsing of launch plans: NUL-framed, a verb and its fixed number of fields each. */
#include "plan.h"

#include "common.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int fields;
} verbs[PLAN_VERBS] = {
    [PLAN_BWRAP] = {"bwrap", 1},
    [PLAN_BARE] = {"bare", 0},
    [PLAN_UID] = {"uid", 1},
    [PLAN_GID] = {"gid", 1},
    [PLAN_HOSTNAME] = {"hostname", 1},
    [PLAN_READ] = {"read", 2},
    [PLAN_READ_TRY] = {"read-try", 2},
    [PLAN_WRITE] = {"write", 2},
    [PLAN_TMPFS] = {"tmpfs", 2},
    [PLAN_DIRECTORY] = {"directory", 2},
    [PLAN_SYMLINK] = {"symlink", 2},
    [PLAN_FILE] = {"file", 3},
    [PLAN_COPY] = {"copy", 2},
    [PLAN_SEAL] = {"seal", 1},
    [PLAN_DEV] = {"dev", 1},
    [PLAN_PROC] = {"proc", 1},
    [PLAN_OVERLAY] = {"overlay", 4},
    [PLAN_OVERLAY_READ] = {"overlay-read", 3},
    [PLAN_OVERLAY_MEMORY] = {"overlay-memory", 3},
    [PLAN_ARGUMENT] = {"argument", 1},
    [PLAN_VARIABLE] = {"variable", 2},
    [PLAN_CWD] = {"cwd", 1},
    [PLAN_TERMINAL] = {"terminal", 2},
    [PLAN_BRIDGE] = {"bridge", 2},
    [PLAN_TRANSPARENT] = {"transparent", 0},
    [PLAN_LIMIT] = {"limit", 2},
    [PLAN_ALLOW] = {"allow", 1},
    [PLAN_UNOBSERVED] = {"unobserved", 0},
    [PLAN_BACKGROUND] = {"background", 0},
    [PLAN_ABLATE] = {"ablate", 1},
};

static int verb_of(const char *name) {
    for (int verb = 0; verb < PLAN_VERBS; verb++) {
        if (strcmp(verbs[verb].name, name) == 0) {
            return verb;
        }
    }
    return -1;
}

const char *plan_parse(struct plan *plan, const char *bytes, size_t count) {
    *plan = (struct plan){0};
    if (count == 0 || bytes[count - 1] != '\0') {
        return "a plan must end in NUL";
    }
    const char *end = bytes + count;
    size_t capacity = 0;
    while (bytes < end) {
        int verb = verb_of(bytes);
        if (verb < 0) {
            return "unknown record";
        }
        if (plan->count == capacity) {
            capacity = capacity == 0 ? 64 : capacity * 2;
            plan->records = must_realloc(plan->records, capacity * sizeof *plan->records);
        }
        struct plan_record *record = &plan->records[plan->count++];
        *record = (struct plan_record){.verb = (enum plan_verb)verb};
        bytes += strlen(bytes) + 1;
        for (int field = 0; field < verbs[verb].fields; field++) {
            if (bytes >= end) {
                return "a record lacks a field";
            }
            record->fields[field] = bytes;
            bytes += strlen(bytes) + 1;
        }
    }
    return NULL;
}

void plan_free(struct plan *plan) {
    free(plan->records);
    *plan = (struct plan){0};
}

const struct plan_record *plan_find(const struct plan *plan, enum plan_verb verb) {
    for (size_t i = plan->count; i > 0; i--) {
        if (plan->records[i - 1].verb == verb) {
            return &plan->records[i - 1];
        }
    }
    return NULL;
}

static bool names(const struct plan *plan, enum plan_verb verb, const char *name) {
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->records[i].verb == verb && strcmp(plan->records[i].fields[0], name) == 0) {
            return true;
        }
    }
    return false;
}

bool plan_allows(const struct plan *plan, const char *name) {
    return names(plan, PLAN_ALLOW, name);
}

bool plan_ablates(const struct plan *plan, const char *name) {
#ifdef HOLDFAST_ABLATION
    return names(plan, PLAN_ABLATE, name);
#else
    (void)plan;
    (void)name;
    return false;
#endif
}

long long plan_limit(const struct plan *plan, const char *name) {
    for (size_t i = plan->count; i > 0; i--) {
        const struct plan_record *record = &plan->records[i - 1];
        if (record->verb == PLAN_LIMIT && strcmp(record->fields[0], name) == 0) {
            char *rest = NULL;
            long long value = strtoll(record->fields[1], &rest, 10);
            return *rest == '\0' && value > 0 ? value : -1;
        }
    }
    return -1;
}
