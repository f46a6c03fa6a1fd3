/* Bytes one way, from descriptor to descriptor, with one buffer between; for supervise's loop. */
#ifndef HOLDFAST_RELAY_H
#define HOLDFAST_RELAY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

enum { RELAY_BYTES = 64 * 1024 };

struct relay {
    int from; /* -1: over */
    int to;   /* -1: bytes are dropped */
    bool keep_to;  /* do not close `to` at the end of stream (a terminal takes an end-of-file character) */
    bool drop;     /* go on reading when nobody takes the bytes any more */
    size_t start;
    size_t end;
    char bytes[RELAY_BYTES];
};

/* Sets both ends to not block, as far as they are ours. */
void relay_open(struct relay *relay, int from, int to, bool keep_to, bool drop);

/* Fills in what to wait for: sources[0] is `from`, sources[1] is `to`. */
void relay_wait(const struct relay *relay, struct pollfd sources[2]);

/* Moves what can be moved; closes both ends when the stream is over. */
void relay_move(struct relay *relay, const struct pollfd sources[2]);

#endif
