/* Process trees by /proc: who descends from whom, for where no pid namespace or cgroup does it. */
#ifndef HOLDFAST_PROCESSES_H
#define HOLDFAST_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process {
    pid_t pid;
    pid_t parent;
    char state; /* R S D T t Z X */
    unsigned long long resident_pages;
    unsigned long long cpu_ticks; /* with those of children it has waited for */
};

/* All living descendants of `root`, without it; freed by the caller. Zombies are not among them. */
struct process *processes_below(pid_t root, size_t *count);

/* Signals every descendant of `root` until a whole pass finds no new one. */
void processes_signal(pid_t root, int signal);

/* One process; false when it is gone. */
bool process_read(pid_t pid, struct process *process);

#endif
