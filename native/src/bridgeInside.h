/* What the bridge's files share: one process, one epoll, everything that is watched begins with a `struct source`. */
#ifndef HOLDFAST_BRIDGE_INSIDE_H
#define HOLDFAST_BRIDGE_INSIDE_H

#include "names.h"
#include "transparent.h"

struct bridge;

struct source {
    void (*ready)(struct bridge *bridge, struct source *source, uint32_t events);
    int fd;
};

struct connection;

struct bridge {
    int poller;
    const char *door;
    struct connection *dead; /* freed after the round of events that ended them */
    struct names names;
    bool six;    /* names get IPv6 addresses too */
    int notices; /* to the broker, or -1 */
    int streams; /* open DNS connections */
    int connections; /* open, to the door */
};

/* A connection to the broker, or -1 with errno. */
int bridge_connect_door(const char *path);

/* Forwards `client` to the door; `first` goes before the client's own bytes. */
void bridge_open(struct bridge *bridge, int client, const char *first, size_t count);

/* Begins to watch for input. */
void bridge_watch(struct bridge *bridge, struct source *source);

/* Serves the sockets of the transparent path. */
void bridge_serve_transparent(struct bridge *bridge, const struct transparent *transparent);

#endif
