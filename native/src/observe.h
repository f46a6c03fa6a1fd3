/* The eyes of supervise: exec and exit of every process in the agent's tree. */
#ifndef HOLDFAST_OBSERVE_H
#define HOLDFAST_OBSERVE_H

#include "common.h"

#include <sys/types.h>

struct observer;

/* `emit` gets one JSON object each and frees it; `urgent` ones may not wait for others. `init` is the sandbox's first
 * process: whose parent it becomes is an orphan, all but the agent. `one_root`: nothing inside can change its root directory. */
struct observer *observer_new(int listener, pid_t init, pid_t agent, bool one_root,
                              void (*emit)(struct text *line, bool urgent, void *data), void *data);

/* Poll these for reading: notifications, and ends of processes. */
int observer_listener(const struct observer *observer);
int observer_ends(const struct observer *observer);

/* Milliseconds before ends are to be polled for again. */
int observer_ends_wait(const struct observer *observer);

/* One notification. */
void observer_notified(struct observer *observer);

/* The listener has hung up: nothing runs any more under it, nor ever will. It would be ready for ever. */
void observer_over(struct observer *observer);

/* All ends that are known now. */
void observer_ended(struct observer *observer);

#endif
