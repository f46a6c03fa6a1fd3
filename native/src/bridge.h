/* The way out of the sandbox's network namespace: loopback TCP in, the broker's unix socket out; and the transparent path,
 * where there is one. */
#ifndef HOLDFAST_BRIDGE_H
#define HOLDFAST_BRIDGE_H

#include "transparent.h"

/* A socket listening on 127.0.0.1:port, or -1 with errno. */
int bridge_listen(int port);

/* Forwards every connection of `listener` to the unix socket at `path`; never returns. Serves the transparent path too
 * when `transparent` is not NULL. */
_Noreturn void bridge_run(int listener, const char *path, const struct transparent *transparent);

#endif
