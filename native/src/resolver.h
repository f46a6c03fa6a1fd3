/* A resolver that knows nothing: every name gets an address of the transparent path, and no question goes anywhere. */
#ifndef HOLDFAST_RESOLVER_H
#define HOLDFAST_RESOLVER_H

#include "names.h"

enum { DNS_BYTES_MOST = 1232 };

/* What a question asked, for whoever tells about it. */
struct question {
    char name[NAME_BYTES_MOST + 1];
    bool fresh; /* a name that was not asked for before */
    bool full;  /* there are too many names already */
};

/* Answers one message (RFC 1035): A and AAAA (the latter only with `six`) with the name's made-up address, loopback for
 * localhost, no data for any other type. Returns the bytes of the answer, at most DNS_BYTES_MOST; 0: it was no question. */
size_t resolver_answer(struct names *names, const uint8_t *message, size_t count, bool six, uint8_t *answer,
                       struct question *question);

#endif
