/* The counter of the crash tests; nothing of it is in the program that is shipped. */
#include "fault.h"

#ifdef HOLDFAST_FAULTS
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long calls;
static const char *running = "";

void fault_verb(const char *verb) { running = verb; }

bool fault_here(void) {
    long call = atomic_fetch_add(&calls, 1) + 1;
    const char *fault = getenv("HOLDFAST_FAULT");
    size_t length = strlen(running);
    if (fault == NULL || strncmp(fault, running, length) != 0 || fault[length] != ':') {
        return false;
    }
    fault += length + 1;
    long at = 0;
    int number = 0;
    if (sscanf(fault, "kill:%ld", &at) == 1 && call == at) {
        kill(getpid(), SIGKILL);
    }
    if (sscanf(fault, "parent:%ld", &at) == 1 && call == at) {
        kill(getppid(), SIGKILL);
        for (;;) {
            pause();
        }
    }
    if ((sscanf(fault, "once:%d:%ld", &number, &at) == 2 && call == at) ||
        (sscanf(fault, "from:%d:%ld", &number, &at) == 2 && call >= at)) {
        errno = number;
        return true;
    }
    return false;
}

bool lacks_exchange(void) { return getenv("HOLDFAST_FAULT_NO_EXCHANGE") != NULL; }
#endif
