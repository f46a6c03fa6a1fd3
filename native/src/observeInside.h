/* What the observer's files share: the processes that were seen, and how an event begins. */
#ifndef HOLDFAST_OBSERVE_INSIDE_H
#define HOLDFAST_OBSERVE_INSIDE_H

#include "observe.h"

#include <linux/seccomp.h>

enum { ARGUMENTS_MOST = 4096, BUCKETS = 4096, ENDED_KEPT = 256 };

struct seen {
    pid_t pid;
    pid_t cause;    /* of an adopted child: the told process it stems from */
    bool told;      /* an exec of it was reported */
    int pidfd;
    double since;
    int64_t exit_code; /* as it said itself; -1: it did not */
    double ended;      /* when that was, on the monotonic clock and since the epoch */
    int64_t ended_at;
    struct seen *next;
};

struct observer {
    int listener;
    int ends;
    pid_t init;
    pid_t agent;
    int root; /* the one root directory of all inside, or -1 when they may have others */
    bool one_root;
    int newest; /* says which process is the newest, or -1 */
    double looked; /* when ends were looked at last */
    void (*emit)(struct text *line, bool urgent, void *data);
    void *data;
    struct seccomp_notif_sizes sizes;
    struct seccomp_notif *request;
    struct seccomp_notif_resp *response;
    struct seen *buckets[BUCKETS];
    pid_t ended[ENDED_KEPT]; /* told ones that have ended, the latest over the oldest */
    size_t ended_count;
    uint64_t pointers[ARGUMENTS_MOST];
};

/* Where a process stands in its bucket; the place of the next one when it was not seen. */
struct seen **seen_find(struct observer *observer, pid_t pid);
struct seen *seen_get(struct observer *observer, pid_t pid);

/* Whether a told process of that number was among the last that ended. */
bool ended_lately(const struct observer *observer, pid_t pid);

/* Has its end told; takes the descriptor over. */
void seen_watch(struct observer *observer, struct seen *seen, int pidfd);

/* Tells of the ends that are known now; `but` is left for later: it is about to be told of. */
void look_at_ends(struct observer *observer, pid_t but);

void begin_event(struct text *line, const char *type, pid_t pid);

#endif
