/*
 * The transparent path, for programs that take no proxy. Invariants:
 * - it is made in the sandbox's own network namespace only, from outside and before the agent starts; what is inside gets
 *   open sockets and keeps no capability;
 * - every address is local there: nothing is routed anywhere, a connection to any address ends at the bridge, which takes
 *   it to the broker as (name, port);
 * - names are made up: each one asked for gets an address out of a reserved range. No question leaves.
 */
#ifndef HOLDFAST_TRANSPARENT_H
#define HOLDFAST_TRANSPARENT_H

#include "frames.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The namespace's own address; the addresses of names begin behind it (RFC 2544's range, and a unique local one). */
#define TRANSPARENT_OWN4 0xc6120001u /* 198.18.0.1 */
#define TRANSPARENT_NAMES4 0xc6120100u
#define TRANSPARENT_PREFIX6 {0xfd, 0x48, 0x6f, 0x6c, 0x64, 0x66, 0, 0, 0, 0, 0, 0}
#define TRANSPARENT_NAMES6 0x10000u

enum { TRANSPARENT_NAMES_MOST = 16384, TRANSPARENT_PORT = 61081, TRANSPARENT_SOCKETS = 9 };

/* What a socket is for; one character each in FRAME_SOCKETS. */
enum transparent_kind {
    TRANSPARENT_ANY = 'a',       /* TCP to any address and port but the resolver's */
    TRANSPARENT_FIXED = 'f',     /* TCP to any address at one port, where the kernel cannot redirect */
    TRANSPARENT_DNS = 'd',       /* datagrams to port 53 of any address */
    TRANSPARENT_DNS_STREAM = 's',
    TRANSPARENT_DATAGRAMS4 = '4', /* a copy of every datagram that is no DNS and no loopback */
    TRANSPARENT_DATAGRAMS6 = '6',
};

struct transparent {
    char kinds[TRANSPARENT_SOCKETS + 1]; /* empty: there is no transparent path, `reason` says why */
    int sockets[TRANSPARENT_SOCKETS];
    bool six; /* IPv6 too */
    char reason[128];
};

/* The path while a child makes it. */
struct transparent_making {
    pid_t child; /* 0: none was started, `reason` says why */
    int socket;  /* what it will say, or -1 */
    const char *reason;
};

/* Starts to make the path in the namespace that `network` is a descriptor of; never in this process's own. */
void transparent_begin(int network, struct transparent_making *making);

/* Waits for it. Never fails: what cannot be made is missing in `kinds`, and `reason` says why. */
void transparent_finish(struct transparent_making *making, struct transparent *made);

/* Once nobody waits for anything else: its end takes a while. */
void transparent_reap(struct transparent_making *making);

/* The same in this process's own namespace, which must be a new one. */
void transparent_open(struct transparent *made);

/* Sends it, sockets and all, as FRAME_SOCKETS; takes it from one; closes the sockets. */
int transparent_send(int socket, const struct transparent *made);
void transparent_take(struct frame *frame, struct transparent *made);
void transparent_close(struct transparent *made);

#endif
