/* The two system-call filters: denials for everything in the sandbox, and notification of execs for the agent's tree. */
#ifndef HOLDFAST_SECCOMP_H
#define HOLDFAST_SECCOMP_H

#include "plan.h"

/* Denies what DESIGN §4 lists to this process and all it starts. 0, or -1 with errno. Needs no_new_privs. */
int seccomp_deny(const struct plan *plan);

/* Notifies execve, execveat, exit_group and exit of this process and all it starts: the listener, or -1 with errno. */
int seccomp_listen(void);

#endif
