/*
 * A child enters the sandbox's user namespace (its owner may) and network namespace, makes everything there, and sends the
 * sockets back. Every connection to a port that has no socket of its own is taken by nf_tables' TPROXY, where the kernel
 * has it; else only the ports below 1024 that matter are served, which nothing inside can want for itself.
 */
#include "transparent.h"

#include "common.h"
#include "frames.h"
#include "netlink.h"
#include "redirect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/nsfs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOPBACK = 1, LOOPBACK_MS = 2000, DNS_PORT = 53, OFFSET_DESTINATION4 = 16 };

static const uint16_t fixed_ports[] = {22, 80, 443};

static bool is_own_namespace(int network) {
    struct stat theirs;
    struct stat ours;
    return fstat(network, &theirs) != 0 || stat("/proc/self/ns/net", &ours) != 0 ||
           (theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev);
}

static bool enter(int network) {
    int owner = ioctl(network, NS_GET_USERNS);
    return owner >= 0 && setns(owner, CLONE_NEWUSER) == 0 && setns(network, CLONE_NEWNET) == 0;
}

/* Asks the kernel for one thing of a family on loopback. */
static bool ask_of_loopback(struct text *batch) {
    int asked = netlink_ask(NETLINK_ROUTE, batch, 1);
    text_free(batch);
    return asked == 0;
}

static const void *own_address(int family, size_t *count) {
    static struct in_addr own4;
    static uint8_t own6[16] = TRANSPARENT_PREFIX6;
    own4.s_addr = htonl(TRANSPARENT_OWN4);
    own6[15] = 1;
    *count = family == AF_INET ? sizeof own4 : sizeof own6;
    return family == AF_INET ? (const void *)&own4 : own6;
}

/* An address of its own on loopback. */
static bool add_address(int family) {
    size_t count;
    const void *own = own_address(family, &count);
    struct text batch = {0};
    struct ifaddrmsg address = {.ifa_family = (uint8_t)family,
                                .ifa_prefixlen = (uint8_t)(count * 8),
                                .ifa_flags = IFA_F_NODAD,
                                .ifa_index = LOOPBACK};
    size_t message = netlink_begin(&batch, RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE, &address, sizeof address);
    netlink_attribute(&batch, IFA_LOCAL, own, count);
    netlink_attribute(&batch, IFA_ADDRESS, own, count);
    netlink_end(&batch, message);
    return ask_of_loopback(&batch);
}

/* Every other address local to it too. */
static bool add_route(int family) {
    size_t count;
    const void *own = own_address(family, &count);
    struct text batch = {0};
    struct rtmsg route = {.rtm_family = (uint8_t)family,
                          .rtm_table = RT_TABLE_LOCAL,
                          .rtm_protocol = RTPROT_STATIC,
                          .rtm_scope = RT_SCOPE_HOST,
                          .rtm_type = RTN_LOCAL};
    size_t message = netlink_begin(&batch, RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE, &route, sizeof route);
    uint32_t device = LOOPBACK;
    netlink_attribute(&batch, RTA_OIF, &device, sizeof device);
    netlink_attribute(&batch, RTA_PREFSRC, own, count);
    netlink_end(&batch, message);
    return ask_of_loopback(&batch);
}

static void add(struct transparent *made, enum transparent_kind kind, int fd) {
    size_t count = strlen(made->kinds);
    made->kinds[count] = (char)kind;
    made->sockets[count] = fd;
}

/* On every address, of both families where there are two; -1 with errno. */
static int bind_wildcard(int family, int type, uint16_t port, bool any_port) {
    int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int yes = 1;
    int no = 0;
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    bool is_six = family == AF_INET6;
    bool ready = fd >= 0;
    if (ready && is_six) {
        ready = setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) == 0;
    }
    if (ready && any_port) {
        ready = (is_six ? setsockopt(fd, IPPROTO_IPV6, IPV6_TRANSPARENT, &yes, sizeof yes)
                        : setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &yes, sizeof yes)) == 0;
    }
    if (ready && type == SOCK_DGRAM) {
        ready = (is_six ? setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &yes, sizeof yes)
                        : setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &yes, sizeof yes)) == 0;
    }
    ready = ready && bind(fd, is_six ? (struct sockaddr *)&six : (struct sockaddr *)&four, is_six ? sizeof six : sizeof four) == 0;
    ready = ready && (type == SOCK_DGRAM || listen(fd, SOMAXCONN) == 0);
    if (!ready) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* A copy of the datagrams that nobody inside takes, so that they can be told; loopback's own are dropped unseen. */
static int watch_datagrams(int family) {
    int fd = socket(family, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP);
    if (fd < 0) {
        return -1;
    }
    if (family == AF_INET6) {
        int yes = 1;
        setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &yes, sizeof yes);
        return fd;
    }
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, OFFSET_DESTINATION4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 127, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, 128),
    };
    struct sock_fprog filter = {.len = sizeof code / sizeof *code, .filter = code};
    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
    return fd;
}

static void tell(struct transparent *made, const char *what) {
    snprintf(made->reason, sizeof made->reason, "%s: %s", what, strerror(errno));
}

static bool loopback_is_up(int any_socket) {
    struct ifreq request = {.ifr_name = "lo"};
    return ioctl(any_socket, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) != 0;
}

static void bring_up(void) {
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    ioctl(fd, SIOCSIFFLAGS, &request);
    close(fd);
}

/* bwrap sets loopback up at the same time. It must be let: the kernel gives 127.0.0.1 by itself to a loopback that comes up,
 * and bwrap's own attempt would fail. */
static void await_loopback(void) {
    int links = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    struct sockaddr_nl changes = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
    double until = monotonic_ms() + LOOPBACK_MS;
    if (links >= 0 && bind(links, (struct sockaddr *)&changes, sizeof changes) == 0) {
        while (!loopback_is_up(links) && monotonic_ms() < until) {
            char bytes[4096];
            struct pollfd source = {.fd = links, .events = POLLIN};
            poll(&source, 1, (int)(until - monotonic_ms()) + 1);
            while (recv(links, bytes, sizeof bytes, 0) > 0) {
            }
        }
    }
    close(links);
}

void transparent_open(struct transparent *made) {
    *made = (struct transparent){0};
    bring_up();
    if (!add_address(AF_INET) || !add_route(AF_INET)) {
        tell(made, "addresses cannot be made local");
        return;
    }
    made->six = add_address(AF_INET6) && add_route(AF_INET6);
    int family = made->six ? AF_INET6 : AF_INET;
    int dns = bind_wildcard(family, SOCK_DGRAM, DNS_PORT, true);
    if (dns < 0) {
        tell(made, "no resolver");
        return;
    }
    add(made, TRANSPARENT_DNS, dns);
    int stream = bind_wildcard(family, SOCK_STREAM, DNS_PORT, false);
    if (stream >= 0) {
        add(made, TRANSPARENT_DNS_STREAM, stream);
    }
    int any = bind_wildcard(family, SOCK_STREAM, TRANSPARENT_PORT, true);
    if (any >= 0 && redirect_connections()) {
        add(made, TRANSPARENT_ANY, any);
    } else {
        tell(made, "connections cannot be redirected");
        if (any >= 0) {
            close(any);
        }
        for (size_t i = 0; i < sizeof fixed_ports / sizeof *fixed_ports; i++) {
            int fixed = bind_wildcard(family, SOCK_STREAM, fixed_ports[i], false);
            if (fixed >= 0) {
                add(made, TRANSPARENT_FIXED, fixed);
            }
        }
    }
    int four = watch_datagrams(AF_INET);
    if (four >= 0) {
        add(made, TRANSPARENT_DATAGRAMS4, four);
    }
    int six = made->six ? watch_datagrams(AF_INET6) : -1;
    if (six >= 0) {
        add(made, TRANSPARENT_DATAGRAMS6, six);
    }
}

void transparent_take(struct frame *frame, struct transparent *made) {
    *made = (struct transparent){0};
    if (frame->count != sizeof *made) {
        snprintf(made->reason, sizeof made->reason, "it could not be made");
        return;
    }
    memcpy(made, frame->bytes, sizeof *made);
    made->kinds[TRANSPARENT_SOCKETS] = '\0';
    memcpy(made->sockets, frame->descriptors, sizeof made->sockets);
    memset(frame->descriptors, -1, sizeof frame->descriptors);
}

int transparent_send(int socket, const struct transparent *made) {
    return frame_send(socket, FRAME_SOCKETS, made, sizeof *made, made->sockets, (int)strlen(made->kinds));
}

void transparent_close(struct transparent *made) {
    for (size_t i = 0; made->kinds[i] != '\0'; i++) {
        close(made->sockets[i]);
    }
    made->kinds[0] = '\0';
}

void transparent_begin(int network, struct transparent_making *making) {
    *making = (struct transparent_making){.socket = -1};
    int ends[2];
    if (network < 0 || is_own_namespace(network)) {
        making->reason = "the network is not the sandbox's own";
        return;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        making->reason = "no socket";
        return;
    }
    making->child = fork();
    if (making->child == 0) {
        struct transparent made = {0};
        close(ends[0]);
        if (enter(network)) {
            await_loopback();
            transparent_open(&made);
        } else {
            tell(&made, "the sandbox's network cannot be entered");
        }
        transparent_send(ends[1], &made);
        _exit(0);
    }
    close(ends[1]);
    making->socket = ends[0];
}

void transparent_finish(struct transparent_making *making, struct transparent *made) {
    *made = (struct transparent){0};
    struct frame frame;
    if (making->socket >= 0 && making->child > 0 && frame_receive(making->socket, &frame) == 1) {
        transparent_take(&frame, made);
        frame_free(&frame);
    } else {
        snprintf(made->reason, sizeof made->reason, "%s", making->reason == NULL ? "it could not be made" : making->reason);
    }
    close(making->socket);
    making->socket = -1;
}

void transparent_reap(struct transparent_making *making) {
    if (making->child > 0) {
        waitpid(making->child, NULL, 0);
    }
    making->child = 0;
}
