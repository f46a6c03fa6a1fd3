/* Landlock: the second layer over the mounts. */
#ifndef HOLDFAST_LANDLOCK_H
#define HOLDFAST_LANDLOCK_H

#include "plan.h"

/* The kernel's Landlock version; 0: none. */
int landlock_version(void);

/* Confines this process and all it starts to what the plan mounts: reads where it reads, writes where it writes.
 * 1 done, 0 this kernel has none that is of use, -1 with errno. Needs no_new_privs. */
int landlock_confine(const struct plan *plan);

#endif
