/*
 * The bridge's half of the transparent path. A connection goes to the door behind one line that says what it was made to:
 * byte 1, `tcp HOST PORT`, newline. What the broker should know besides goes as lines over one connection that begins with
 * byte 1 and `notices`: `name NAME` (asked for the first time), `full` (too many names), `udp HOST PORT` (refused).
 */
#include "bridgeInside.h"
#include "common.h"
#include "resolver.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HOST_BYTES = NAME_BYTES_MOST + 64, LINE_BYTES = HOST_BYTES + 32, STREAMS_MOST = 64, TURNS = 32, TOLD_MOST = 256 };
enum { DNS_PORT = 53, UDP_HEAD_BYTES = 8 };

static const uint8_t mapped_prefix[12] = {[10] = 0xff, [11] = 0xff};
static const uint8_t own_prefix[12] = TRANSPARENT_PREFIX6;

struct destination {
    uint8_t address[16]; /* IPv4 mapped into IPv6 */
    uint16_t port;
};

static void notify(struct bridge *bridge, const char *line) {
    static const char greeting[] = "\001notices\n";
    for (int attempt = 0; attempt < 2; attempt++) {
        if (bridge->notices < 0) {
            bridge->notices = bridge_connect_door(bridge->door);
            if (bridge->notices < 0) {
                return;
            }
            (void)!send(bridge->notices, greeting, sizeof greeting - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
        size_t count = strlen(line);
        ssize_t sent = send(bridge->notices, line, count, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent == (ssize_t)count || (sent < 0 && errno == EAGAIN)) {
            return;
        }
        close(bridge->notices);
        bridge->notices = -1;
    }
}

static uint32_t low_number(const uint8_t *address) {
    return (uint32_t)address[12] << 24 | (uint32_t)address[13] << 16 | (uint32_t)address[14] << 8 | address[15];
}

/* The name behind a made-up address, or the address as text. False: the namespace's own. */
static bool host_of(const struct bridge *bridge, const uint8_t *address, char *host) {
    static const uint8_t loopback[16] = {[15] = 1};
    static const uint8_t nothing[16] = {0};
    uint32_t low = low_number(address);
    bool four = memcmp(address, mapped_prefix, sizeof mapped_prefix) == 0;
    bool ours = four || memcmp(address, own_prefix, sizeof own_prefix) == 0;
    if (memcmp(address, loopback, sizeof loopback) == 0 || memcmp(address, nothing, sizeof nothing) == 0 ||
        (four && (low >> 24 == 127 || low == 0 || low == TRANSPARENT_OWN4)) || (ours && !four && low == 1)) {
        return false;
    }
    uint32_t first = four ? TRANSPARENT_NAMES4 : TRANSPARENT_NAMES6;
    const char *name = ours && low >= first ? names_name(&bridge->names, low - first) : NULL;
    if (name != NULL) {
        snprintf(host, HOST_BYTES, "%s", name);
        return true;
    }
    char text[INET6_ADDRSTRLEN];
    inet_ntop(four ? AF_INET : AF_INET6, four ? address + 12 : address, text, sizeof text);
    snprintf(host, HOST_BYTES, four ? "%s" : "[%s]", text);
    return true;
}

static bool destination_of(int client, struct destination *destination) {
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } local;
    socklen_t length = sizeof local;
    if (getsockname(client, &local.any, &length) != 0) {
        return false;
    }
    if (local.any.sa_family == AF_INET) {
        memcpy(destination->address, mapped_prefix, sizeof mapped_prefix);
        memcpy(destination->address + 12, &local.four.sin_addr, 4);
        destination->port = ntohs(local.four.sin_port);
    } else {
        memcpy(destination->address, &local.six.sin6_addr, 16);
        destination->port = ntohs(local.six.sin6_port);
    }
    return true;
}

static void accept_transparent(struct bridge *bridge, struct source *source, uint32_t events) {
    (void)events;
    int client = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
            usleep(10000);
        }
        return;
    }
    struct destination to;
    char host[HOST_BYTES];
    if (!destination_of(client, &to) || !host_of(bridge, to.address, host)) {
        /* Nobody listens there: as if this socket did not either. */
        setsockopt(client, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
        close(client);
        return;
    }
    char line[LINE_BYTES];
    int count = snprintf(line, sizeof line, "\001tcp %s %u\n", host, to.port);
    bridge_open(bridge, client, line, (size_t)count);
}

static size_t answer(struct bridge *bridge, const uint8_t *message, size_t count, uint8_t *reply) {
    struct question question;
    size_t length = resolver_answer(&bridge->names, message, count, bridge->six, reply, &question);
    if (question.fresh || question.full) {
        char line[LINE_BYTES];
        snprintf(line, sizeof line, question.full ? "full\n" : "name %s\n", question.name);
        notify(bridge, line);
    }
    return length;
}

/* The reply must come from the address that was asked. */
static void reply_from(struct msghdr *message) {
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_PKTINFO) {
            struct in_pktinfo info;
            memcpy(&info, CMSG_DATA(part), sizeof info);
            info.ipi_spec_dst = info.ipi_addr;
            memcpy(CMSG_DATA(part), &info, sizeof info);
        }
    }
}

static void answer_datagrams(struct bridge *bridge, struct source *source, uint32_t events) {
    (void)events;
    for (int turn = 0; turn < TURNS; turn++) {
        uint8_t bytes[DNS_BYTES_MOST];
        uint8_t reply[DNS_BYTES_MOST];
        struct sockaddr_storage from;
        union {
            struct cmsghdr align;
            char bytes[256];
        } control;
        struct iovec part = {bytes, sizeof bytes};
        struct msghdr message = {.msg_name = &from,
                                 .msg_namelen = sizeof from,
                                 .msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control.bytes,
                                 .msg_controllen = sizeof control.bytes};
        ssize_t got = recvmsg(source->fd, &message, MSG_DONTWAIT);
        if (got < 0) {
            return;
        }
        size_t count = answer(bridge, bytes, (size_t)got, reply);
        if (count > 0) {
            part = (struct iovec){reply, count};
            reply_from(&message);
            sendmsg(source->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
    }
}

/* One DNS connection: each message behind its length. */
struct stream {
    struct source source;
    size_t count;
    uint8_t bytes[2 + DNS_BYTES_MOST];
};

static bool answer_stream(struct bridge *bridge, struct stream *stream) {
    ssize_t got = recv(stream->source.fd, stream->bytes + stream->count, sizeof stream->bytes - stream->count, MSG_DONTWAIT);
    if (got <= 0) {
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    }
    stream->count += (size_t)got;
    for (;;) {
        size_t length = stream->count < 2 ? 0 : (size_t)stream->bytes[0] << 8 | stream->bytes[1];
        if (length > DNS_BYTES_MOST) {
            return false;
        }
        if (stream->count < 2 || stream->count < 2 + length) {
            return true;
        }
        uint8_t reply[2 + DNS_BYTES_MOST];
        size_t count = answer(bridge, stream->bytes + 2, length, reply + 2);
        reply[0] = (uint8_t)(count >> 8);
        reply[1] = (uint8_t)count;
        if (count == 0 ||
            send(stream->source.fd, reply, count + 2, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)count + 2) {
            return false;
        }
        stream->count -= 2 + length;
        memmove(stream->bytes, stream->bytes + 2 + length, stream->count);
    }
}

static void continue_stream(struct bridge *bridge, struct source *source, uint32_t events) {
    (void)events;
    struct stream *stream = (struct stream *)source;
    if (!answer_stream(bridge, stream)) {
        close(source->fd);
        free(stream);
        bridge->streams--;
    }
}

static void accept_stream(struct bridge *bridge, struct source *source, uint32_t events) {
    (void)events;
    int client = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0) {
        return;
    }
    if (bridge->streams == STREAMS_MOST) {
        close(client);
        return;
    }
    struct stream *stream = must_alloc(sizeof *stream);
    stream->source = (struct source){.ready = continue_stream, .fd = client};
    stream->count = 0;
    bridge->streams++;
    bridge_watch(bridge, &stream->source);
}

/* Each destination once, the first TOLD_MOST of them. */
static void tell_datagram(struct bridge *bridge, const struct destination *to) {
    static struct destination told[TOLD_MOST];
    static size_t count;
    char host[HOST_BYTES];
    if (to->port == DNS_PORT || !host_of(bridge, to->address, host)) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (told[i].port == to->port && memcmp(told[i].address, to->address, sizeof to->address) == 0) {
            return;
        }
    }
    if (count == TOLD_MOST) {
        return;
    }
    told[count++] = *to;
    char line[LINE_BYTES];
    snprintf(line, sizeof line, "udp %s %u\n", host, to->port);
    notify(bridge, line);
}

static void see_datagrams4(struct bridge *bridge, struct source *source, uint32_t events) {
    (void)events;
    for (int turn = 0; turn < TURNS; turn++) {
        uint8_t bytes[128];
        ssize_t got = recv(source->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (got < 0) {
            return;
        }
        size_t head = got > 0 ? (size_t)(bytes[0] & 15) * 4 : 0;
        if (head < sizeof(struct iphdr) || (size_t)got < head + UDP_HEAD_BYTES) {
            continue;
        }
        struct destination to = {.port = (uint16_t)(bytes[head + 2] << 8 | bytes[head + 3])};
        memcpy(to.address, mapped_prefix, sizeof mapped_prefix);
        memcpy(to.address + 12, bytes + offsetof(struct iphdr, daddr), 4);
        tell_datagram(bridge, &to);
    }
}

static void see_datagrams6(struct bridge *bridge, struct source *source, uint32_t events) {
    (void)events;
    for (int turn = 0; turn < TURNS; turn++) {
        uint8_t bytes[UDP_HEAD_BYTES];
        union {
            struct cmsghdr align;
            char bytes[256];
        } control;
        struct iovec part = {bytes, sizeof bytes};
        struct msghdr message = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
        ssize_t got = recvmsg(source->fd, &message, MSG_DONTWAIT);
        if (got < 0) {
            return;
        }
        for (struct cmsghdr *one = CMSG_FIRSTHDR(&message); one != NULL; one = CMSG_NXTHDR(&message, one)) {
            if (got == UDP_HEAD_BYTES && one->cmsg_level == IPPROTO_IPV6 && one->cmsg_type == IPV6_PKTINFO) {
                struct destination to = {.port = (uint16_t)(bytes[2] << 8 | bytes[3])};
                memcpy(to.address, CMSG_DATA(one), sizeof to.address);
                tell_datagram(bridge, &to);
            }
        }
    }
}

void bridge_serve_transparent(struct bridge *bridge, const struct transparent *transparent) {
    static struct source sources[TRANSPARENT_SOCKETS];
    bridge->six = transparent->six;
    for (size_t i = 0; transparent->kinds[i] != '\0'; i++) {
        struct source *source = &sources[i];
        source->fd = transparent->sockets[i];
        switch ((enum transparent_kind)transparent->kinds[i]) {
            case TRANSPARENT_ANY:
            case TRANSPARENT_FIXED:
                source->ready = accept_transparent;
                break;
            case TRANSPARENT_DNS:
                source->ready = answer_datagrams;
                break;
            case TRANSPARENT_DNS_STREAM:
                source->ready = accept_stream;
                break;
            case TRANSPARENT_DATAGRAMS4:
                source->ready = see_datagrams4;
                break;
            case TRANSPARENT_DATAGRAMS6:
                source->ready = see_datagrams6;
                break;
            default:
                continue;
        }
        bridge_watch(bridge, source);
    }
}
