/*
 * Processor time counts what ended children used too: each is in its parent's, init's at last. Resident memory counts
 * shared pages once per process: the sum is an upper bound. Growth is counted by a child of ours, walking; the pause
 * before the next walk is a multiple of its length, so that a large tree is not walked all the time.
 */
#include "limits.h"

#include "common.h"
#include "processes.h"

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 250, WALK_SHARE = 20, WALK_MOST_FILES = 64, WALK_STACK = 1 << 20 };

struct limits {
    const struct plan *plan;
    long long seconds;
    long long cpu_seconds;
    long long memory_bytes;
    long long growth_bytes;
    double begun;
    double next_look;
    double next_walk;
    double walk_begun;
    pid_t walker;
    int total; /* pipe from the walker */
    long long base; /* -1: not counted yet */
};

static const char background_nice[] = "10";

void limits_yield(const struct plan *plan) {
    if (plan_find(plan, PLAN_BACKGROUND) != NULL) {
        setpriority(PRIO_PROCESS, 0, atoi(background_nice));
    }
}

void limits_yield_session(const struct plan *plan, pid_t pid) {
    if (plan_find(plan, PLAN_BACKGROUND) == NULL) {
        return;
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/autogroup", pid);
    int group = open(path, O_WRONLY | O_CLOEXEC);
    if (group >= 0) {
        (void)!write(group, background_nice, sizeof background_nice - 1);
        close(group);
    }
}

struct limits *limits_new(const struct plan *plan) {
    struct limits limits = {
        .plan = plan,
        .seconds = plan_limit(plan, "seconds"),
        .cpu_seconds = plan_limit(plan, "cpuSeconds"),
        .memory_bytes = plan_limit(plan, "memoryBytes"),
        .growth_bytes = plan_limit(plan, "growthBytes"),
        .begun = monotonic_ms(),
        .walker = -1,
        .total = -1,
        .base = -1,
    };
    if (limits.seconds < 0 && limits.cpu_seconds < 0 && limits.memory_bytes < 0 && limits.growth_bytes < 0) {
        return NULL;
    }
    struct limits *made = must_alloc(sizeof *made);
    *made = limits;
    return made;
}

int limits_wait(const struct limits *limits) {
    if (limits == NULL) {
        return -1;
    }
    double left = limits->next_look - monotonic_ms();
    return left < 0 ? 0 : (int)left + 1;
}

static long long walked_bytes;

static int add_file(const char *path, const struct stat *stat, int kind, struct FTW *place) {
    (void)path;
    (void)place;
    if (kind == FTW_F || kind == FTW_SL) {
        /* A hole takes no room here, but it does where the file is published. */
        long long blocks = (long long)stat->st_blocks * 512;
        long long bytes = blocks > (long long)stat->st_size ? blocks : (long long)stat->st_size;
        walked_bytes += bytes / (stat->st_nlink > 0 ? (long long)stat->st_nlink : 1);
    }
    return 0;
}

/* A walk of folders nested deeper than WALK_STACK has room for dies, and its total stays unknown. */
static _Noreturn void walk(const struct plan *plan, int total) {
    struct rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && (stack.rlim_cur == RLIM_INFINITY || stack.rlim_cur > WALK_STACK)) {
        stack.rlim_cur = WALK_STACK;
        (void)setrlimit(RLIMIT_STACK, &stack);
    }
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_record *record = &plan->records[i];
        if (record->verb == PLAN_WRITE) {
            nftw(record->fields[0], add_file, WALK_MOST_FILES, FTW_PHYS);
        } else if (record->verb == PLAN_OVERLAY) {
            nftw(record->fields[2], add_file, WALK_MOST_FILES, FTW_PHYS);
        }
    }
    write_all(total, &walked_bytes, sizeof walked_bytes);
    _exit(0);
}

static void start_walk(struct limits *limits) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    limits->walk_begun = monotonic_ms();
    limits->walker = fork();
    if (limits->walker == 0) {
        walk(limits->plan, ends[1]);
    }
    close(ends[1]);
    limits->total = ends[0];
}

/* Bytes grown by, or -1 when no new count is there. */
static long long grown(struct limits *limits) {
    if (limits->total < 0) {
        if (monotonic_ms() >= limits->next_walk) {
            start_walk(limits);
        }
        return -1;
    }
    struct pollfd source = {.fd = limits->total, .events = POLLIN};
    long long total = -1;
    if (poll(&source, 1, 0) <= 0) {
        return -1;
    }
    bool whole = read(limits->total, &total, sizeof total) == sizeof total;
    close(limits->total);
    limits->total = -1;
    waitpid(limits->walker, NULL, 0);
    limits->walker = -1;
    limits->next_walk = monotonic_ms() + (monotonic_ms() - limits->walk_begun) * WALK_SHARE;
    if (!whole) {
        return limits->growth_bytes + 1; /* unknown counts as passed */
    }
    if (limits->base < 0) {
        limits->base = total;
    }
    return total - limits->base;
}

struct limit_passed limits_look(struct limits *limits, pid_t init) {
    struct limit_passed none = {0};
    if (limits == NULL || monotonic_ms() < limits->next_look) {
        return none;
    }
    limits->next_look = monotonic_ms() + LOOK_MS;
    long long elapsed = (long long)((monotonic_ms() - limits->begun) / 1000);
    if (limits->seconds >= 0 && elapsed >= limits->seconds) {
        return (struct limit_passed){"seconds", limits->seconds, elapsed};
    }
    if (limits->cpu_seconds >= 0 || limits->memory_bytes >= 0) {
        size_t count;
        struct process *below = processes_below(init, &count);
        struct process self = {0};
        process_read(init, &self);
        unsigned long long ticks = self.cpu_ticks;
        unsigned long long pages = 0;
        for (size_t i = 0; i < count; i++) {
            ticks += below[i].cpu_ticks;
            pages += below[i].resident_pages;
        }
        free(below);
        long long cpu = (long long)ticks / sysconf(_SC_CLK_TCK);
        long long memory = (long long)pages * sysconf(_SC_PAGESIZE);
        if (limits->cpu_seconds >= 0 && cpu >= limits->cpu_seconds) {
            return (struct limit_passed){"cpuSeconds", limits->cpu_seconds, cpu};
        }
        if (limits->memory_bytes >= 0 && memory > limits->memory_bytes) {
            return (struct limit_passed){"memoryBytes", limits->memory_bytes, memory};
        }
    }
    long long growth = limits->growth_bytes < 0 ? -1 : grown(limits);
    return growth > limits->growth_bytes && limits->growth_bytes >= 0
               ? (struct limit_passed){"growthBytes", limits->growth_bytes, growth}
               : none;
}

void limits_free(struct limits *limits) {
    if (limits != NULL && limits->walker > 0) {
        kill(limits->walker, SIGKILL);
        waitpid(limits->walker, NULL, 0);
    }
    free(limits);
}
