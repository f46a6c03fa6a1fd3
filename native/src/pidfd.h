/* What the kernel says of a process by its descriptor, which names this one process for good; by /proc on older kernels. */
#ifndef HOLDFAST_PIDFD_H
#define HOLDFAST_PIDFD_H

#include "common.h"

#include <sys/types.h>

/* -1 for a thread that is not its group's first, and for a process that is gone. */
int pidfd_of(pid_t pid);

/* The parent; false when the process is gone, or this kernel does not tell (before 6.13). */
bool pidfd_parent(int pidfd, pid_t *parent);

/* Thread-group id and parent, from /proc/PID/status. */
bool read_status(pid_t pid, pid_t *group, pid_t *parent);

/* Opens what newest_is asks; -1 when this is not the kernel's own word. */
int newest_open(void);

/* Whether no process or thread was begun on this machine since that one. False also when that is not known. */
bool newest_is(int newest, pid_t pid);

/* The wait status of a process that has ended, -1 when this kernel does not tell. `later`: it will be told once the process
 * is reaped. */
int64_t pidfd_wait_status(int pidfd, pid_t pid, bool *later);

#endif
