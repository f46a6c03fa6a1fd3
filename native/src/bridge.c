/*
 * bridge: one process, one epoll. A connection is two flows, client → door and door → client; a flow reads until its end
 * of stream, then shuts the other side down for writing (half-close), and the connection is over when both flows are. A
 * flow reads only when its buffer is empty and writes until it is: that is all the flow control there is, and enough.
 * What is inside can fill no more than CONNECTIONS_MOST times two buffers; a connection beyond that is closed at once.
 */
#include "bridge.h"

#include "bridgeInside.h"
#include "commands.h"
#include "common.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* As many connections as the door takes (src/node/broker/doorLimits.ts): one more would only cost the supervisor its time. */
enum { FLOW_BYTES = 64 * 1024, EVENTS = 64, CONNECTIONS_MOST = 2048, CLIENT = 0, DOOR = 1 };

struct side {
    struct source source; /* fd -1: closed */
    struct connection *connection;
    uint32_t watched;
};

/* From side `from` to the other one. */
struct flow {
    char *bytes;
    size_t start;
    size_t end;
    bool ended; /* read end of stream */
    bool done;  /* and passed it on */
};

struct connection {
    struct side sides[2];
    struct flow flows[2];
    bool dead;
    struct connection *next_dead;
};

int bridge_listen(int port) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0) {
        return -1;
    }
    int yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, SOMAXCONN) != 0) {
        int error = errno;
        close(listener);
        errno = error;
        return -1;
    }
    return listener;
}

int bridge_connect_door(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    /* Blocking for the connect alone: the broker's backlog is short, and a full one must wait rather than fail. */
    int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (door >= 0 && connect(door, (struct sockaddr *)&address, sizeof address) != 0) {
        int error = errno;
        close(door);
        errno = error;
        return -1;
    }
    return door;
}

/* `mute`: not even a hang-up, which epoll would tell again and again while the other side takes its time. */
static void watch(int poller, struct side *side, uint32_t wanted, bool mute) {
    if (mute && side->watched != UINT32_MAX) {
        epoll_ctl(poller, EPOLL_CTL_DEL, side->source.fd, NULL);
        side->watched = UINT32_MAX;
    }
    if (mute || side->watched == wanted || side->source.fd < 0) {
        return;
    }
    struct epoll_event event = {.events = wanted, .data.ptr = &side->source};
    if (epoll_ctl(poller, side->watched == UINT32_MAX ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, side->source.fd, &event) == 0) {
        side->watched = wanted;
    }
}

static void watch_both(int poller, struct connection *connection) {
    for (int i = 0; i < 2; i++) {
        struct flow *out = &connection->flows[i];
        struct flow *in = &connection->flows[1 - i];
        uint32_t wanted = 0;
        if (!out->ended && out->start == out->end) {
            wanted |= EPOLLIN;
        }
        if (in->start < in->end) {
            wanted |= EPOLLOUT;
        }
        watch(poller, &connection->sides[i], wanted, wanted == 0 && out->start < out->end);
    }
}

/* Moves bytes of one flow as far as they go. False: the connection is broken. */
static bool move(struct connection *connection, int from) {
    struct flow *flow = &connection->flows[from];
    int source = connection->sides[from].source.fd;
    int target = connection->sides[1 - from].source.fd;
    for (int turn = 0; turn < 16; turn++) {
        if (flow->start == flow->end && !flow->ended) {
            ssize_t got = recv(source, flow->bytes, FLOW_BYTES, MSG_DONTWAIT);
            if (got < 0) {
                return errno == EAGAIN || errno == EINTR;
            }
            flow->start = 0;
            flow->end = (size_t)got;
            flow->ended = got == 0;
        }
        if (flow->start < flow->end) {
            ssize_t sent = send(target, flow->bytes + flow->start, flow->end - flow->start, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (sent < 0) {
                return errno == EAGAIN || errno == EINTR;
            }
            flow->start += (size_t)sent;
        }
        if (flow->ended && flow->start == flow->end && !flow->done) {
            flow->done = true;
            shutdown(target, SHUT_WR);
        }
        /* A short read has emptied the source; epoll tells when there is more, so it is not asked in vain. */
        if (flow->done || (!flow->ended && flow->start == flow->end && flow->end < FLOW_BYTES)) {
            return true;
        }
    }
    return true;
}

static void end_connection(struct bridge *bridge, struct connection *connection) {
    connection->dead = true;
    bridge->connections--;
    for (int i = 0; i < 2; i++) {
        close(connection->sides[i].source.fd);
        connection->sides[i].source.fd = -1;
    }
    connection->next_dead = bridge->dead;
    bridge->dead = connection;
}

static void handle(struct bridge *bridge, struct source *source, uint32_t events) {
    struct side *side = (struct side *)source;
    struct connection *connection = side->connection;
    if (connection->dead) {
        return;
    }
    int at = side == &connection->sides[DOOR] ? DOOR : CLIENT;
    bool other = (events & (EPOLLERR | EPOLLHUP)) != 0;
    bool reads = other || (events & EPOLLIN) != 0;
    bool writes = other || (events & EPOLLOUT) != 0;
    bool sound = (!reads || move(connection, at)) && (!writes || move(connection, 1 - at));
    bool done = connection->flows[CLIENT].done && connection->flows[DOOR].done;
    /* A reset shows as an error event even while nothing is read from that side. */
    if (!sound || done || (events & EPOLLERR) != 0) {
        end_connection(bridge, connection);
        return;
    }
    /* Hung up both ways with nothing left to move: epoll would tell for ever. */
    if ((events & EPOLLHUP) != 0 && connection->flows[at].done) {
        end_connection(bridge, connection);
        return;
    }
    watch_both(bridge->poller, connection);
}

void bridge_open(struct bridge *bridge, int client, const char *first, size_t count) {
    int door = bridge->connections < CONNECTIONS_MOST ? bridge_connect_door(bridge->door) : -1;
    if (door < 0) {
        close(client);
        return;
    }
    bridge->connections++;
    int yes = 1;
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    struct connection *connection = must_alloc(sizeof *connection);
    *connection = (struct connection){0};
    int fds[2] = {client, door};
    for (int i = 0; i < 2; i++) {
        connection->flows[i].bytes = must_alloc(FLOW_BYTES);
        connection->sides[i] = (struct side){
            .source = {.ready = handle, .fd = fds[i]}, .connection = connection, .watched = UINT32_MAX};
    }
    memcpy(connection->flows[CLIENT].bytes, first, count);
    connection->flows[CLIENT].end = count;
    watch_both(bridge->poller, connection);
}

void bridge_watch(struct bridge *bridge, struct source *source) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};
    if (epoll_ctl(bridge->poller, EPOLL_CTL_ADD, source->fd, &event) != 0) {
        die_errno(EXIT_FAILED, "bridge", "cannot watch a socket");
    }
}

static void accept_proxied(struct bridge *bridge, struct source *source, uint32_t events) {
    (void)events;
    int client = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC);
    if (client >= 0) {
        bridge_open(bridge, client, "", 0);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
        usleep(10000);
    }
}

static void free_dead(struct connection *dead) {
    while (dead != NULL) {
        struct connection *next = dead->next_dead;
        free(dead->flows[0].bytes);
        free(dead->flows[1].bytes);
        free(dead);
        dead = next;
    }
}

void bridge_run(int listener, const char *path, const struct transparent *transparent) {
    signal(SIGPIPE, SIG_IGN);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    struct bridge bridge = {.poller = epoll_create1(EPOLL_CLOEXEC), .door = path, .notices = -1};
    if (bridge.poller < 0) {
        die_errno(EXIT_FAILED, "bridge", "cannot watch the listening socket");
    }
    struct source proxied = {.ready = accept_proxied, .fd = listener};
    bridge_watch(&bridge, &proxied);
    if (transparent != NULL) {
        bridge_serve_transparent(&bridge, transparent);
    }
    for (;;) {
        struct epoll_event events[EVENTS];
        int count = epoll_wait(bridge.poller, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            struct source *source = events[i].data.ptr;
            source->ready(&bridge, source, events[i].events);
        }
        free_dead(bridge.dead);
        bridge.dead = NULL;
    }
}

int bridge_main(int argc, char **argv) {
    if (argc != 3) {
        die(EXIT_USAGE, "arguments", "usage: bridge PORT SOCKET");
    }
    int listener = bridge_listen((int)parse_number(argv[1], 1, 65535, "PORT"));
    if (listener < 0) {
        die_errno(EXIT_FAILED, "bridge", "cannot listen on 127.0.0.1:%s", argv[1]);
    }
    bridge_run(listener, argv[2], NULL);
}
