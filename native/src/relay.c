#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void relay_open(struct relay *relay, int from, int to, bool keep_to, bool drop) {
    relay->from = from;
    relay->to = to;
    relay->keep_to = keep_to;
    relay->drop = drop;
    relay->start = relay->end = 0;
    /* The standard streams are whoever's pipes: only this end is ours to set. A terminal is shared with a shell. */
    for (int i = 0; i < 2; i++) {
        int fd = i == 0 ? from : to;
        if (!isatty(fd) || fd > 2) {
            fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        }
    }
}

void relay_wait(const struct relay *relay, struct pollfd sources[2]) {
    bool full = relay->start < relay->end;
    sources[0] = (struct pollfd){.fd = full ? -1 : relay->from, .events = POLLIN};
    sources[1] = (struct pollfd){.fd = full ? relay->to : -1, .events = POLLOUT};
}

static void finish(struct relay *relay) {
    close(relay->from);
    relay->from = -1;
    if (!relay->keep_to && relay->to >= 0) {
        close(relay->to);
        relay->to = -1;
    }
}

static void give(struct relay *relay) {
    while (relay->start < relay->end) {
        if (relay->to < 0) {
            relay->start = relay->end;
            return;
        }
        ssize_t written = write(relay->to, relay->bytes + relay->start, relay->end - relay->start);
        if (written >= 0) {
            relay->start += (size_t)written;
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR) {
            close(relay->to);
            relay->to = -1;
            if (!relay->drop) {
                finish(relay);
            }
        }
    }
}

void relay_move(struct relay *relay, const struct pollfd sources[2]) {
    if (relay->from >= 0 && sources[0].fd >= 0 && sources[0].revents != 0) {
        ssize_t got = read(relay->from, relay->bytes, RELAY_BYTES);
        if (got > 0) {
            relay->start = 0;
            relay->end = (size_t)got;
            give(relay);
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            /* EIO: the last process has left the terminal. */
            finish(relay);
        }
        return;
    }
    if (sources[1].fd >= 0 && sources[1].revents != 0) {
        give(relay);
    }
}
