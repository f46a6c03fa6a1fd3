/* Bounds of the whole tree that the kernel does not keep for us without cgroups: looked at from outside, now and then. */
#ifndef HOLDFAST_LIMITS_H
#define HOLDFAST_LIMITS_H

#include "plan.h"

#include <sys/types.h>

/* With `background` in the plan, what runs gives way to everything else. The first is called by the process itself before it
 * starts: all that it starts inherits it. The second is called from outside once it runs: where the kernel shares the
 * processor between sessions, the first counts within the session alone. Both do what they can. */
void limits_yield(const struct plan *plan);
void limits_yield_session(const struct plan *plan, pid_t pid);

struct limits;

struct limit_passed {
    const char *name; /* NULL: none */
    long long limit;
    long long used;
};

/* NULL when the plan sets none of these. */
struct limits *limits_new(const struct plan *plan);

/* How long to wait before the next look, in milliseconds; -1 without limits. */
int limits_wait(const struct limits *limits);

/* Looks, when it is time. `init` is the root of the tree. */
struct limit_passed limits_look(struct limits *limits, pid_t init);

/* Ends the counting that may be under way. */
void limits_free(struct limits *limits);

#endif
