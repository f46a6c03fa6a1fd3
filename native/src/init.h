/* The first process of the sandbox. */
#ifndef HOLDFAST_INIT_H
#define HOLDFAST_INIT_H

#include <stdbool.h>

/* Runs the plan that comes over `socket`; never returns. `bare`: without a sandbox around it. */
_Noreturn void init_run(int socket, bool bare);

#endif
