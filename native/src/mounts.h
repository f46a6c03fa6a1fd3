/* The child of supervise that becomes bwrap: namespaces for overlays, bwrap's arguments. */
#ifndef HOLDFAST_MOUNTS_H
#define HOLDFAST_MOUNTS_H

#include "plan.h"

/* Where the sandbox finds this program. */
#define NATIVE_INSIDE "/run/holdfast-native"

/* Mounts the plan's overlays, then becomes bwrap, which starts init on `socket` and says on `info` which process is its child.
 * Failures go over the socket. */
_Noreturn void mounts_enter(const struct plan *plan, int socket, int info);

/* Mounts the plan's overlays alone (no sandbox). */
void mounts_overlay(const struct plan *plan, int socket);

#endif
