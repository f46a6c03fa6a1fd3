/*
 * A child enters the sandbox's user namespace (its owner may) and network namespace, makes everything there, and sends the
 * sockets back. Every connection to a port that has no socket of its own is taken by nf_tables' TPROXY, where the kernel
 * has it; else only the ports below 1024 that matter are served, which nothing inside can want for itself.
 */
#include "transparent.h"

#include "common.h"
#include "frames.h"
#include "netlink.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_addr.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/nsfs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOPBACK = 1, DNS_PORT = 53, OFFSET_DESTINATION4 = 16, OFFSET_DESTINATION6 = 24, OFFSET_PORT = 2 };

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

/* An address of its own on loopback, and every other address local to it too. */
static bool make_local(int family) {
    struct in_addr own4 = {.s_addr = htonl(TRANSPARENT_OWN4)};
    uint8_t own6[16] = TRANSPARENT_PREFIX6;
    own6[15] = 1;
    const void *own = family == AF_INET ? (const void *)&own4 : own6;
    size_t count = family == AF_INET ? sizeof own4 : sizeof own6;
    struct text batch = {0};
    struct ifaddrmsg address = {.ifa_family = (uint8_t)family,
                                .ifa_prefixlen = (uint8_t)(count * 8),
                                .ifa_flags = IFA_F_NODAD,
                                .ifa_index = LOOPBACK};
    size_t message = netlink_begin(&batch, RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE, &address, sizeof address);
    netlink_attribute(&batch, IFA_LOCAL, own, count);
    netlink_attribute(&batch, IFA_ADDRESS, own, count);
    netlink_end(&batch, message);
    struct rtmsg route = {.rtm_family = (uint8_t)family,
                          .rtm_table = RT_TABLE_LOCAL,
                          .rtm_protocol = RTPROT_STATIC,
                          .rtm_scope = RT_SCOPE_HOST,
                          .rtm_type = RTN_LOCAL};
    message = netlink_begin(&batch, RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE, &route, sizeof route);
    uint32_t device = LOOPBACK;
    netlink_attribute(&batch, RTA_OIF, &device, sizeof device);
    netlink_attribute(&batch, RTA_PREFSRC, own, count);
    netlink_end(&batch, message);
    int asked = netlink_ask(NETLINK_ROUTE, &batch, 2);
    text_free(&batch);
    return asked == 0;
}

static size_t begin_expression(struct text *batch, const char *name, size_t *data) {
    size_t element = netlink_nest(batch, NFTA_LIST_ELEM);
    netlink_string(batch, NFTA_EXPR_NAME, name);
    *data = netlink_nest(batch, NFTA_EXPR_DATA);
    return element;
}

static void end_expression(struct text *batch, size_t element, size_t data) {
    netlink_unnest(batch, data);
    netlink_unnest(batch, element);
}

static void load_meta(struct text *batch, uint32_t key) {
    size_t data;
    size_t element = begin_expression(batch, "meta", &data);
    netlink_number(batch, NFTA_META_DREG, NFT_REG_1);
    netlink_number(batch, NFTA_META_KEY, key);
    end_expression(batch, element, data);
}

static void load_payload(struct text *batch, uint32_t base, uint32_t offset, uint32_t count) {
    size_t data;
    size_t element = begin_expression(batch, "payload", &data);
    netlink_number(batch, NFTA_PAYLOAD_DREG, NFT_REG_1);
    netlink_number(batch, NFTA_PAYLOAD_BASE, base);
    netlink_number(batch, NFTA_PAYLOAD_OFFSET, offset);
    netlink_number(batch, NFTA_PAYLOAD_LEN, count);
    end_expression(batch, element, data);
}

static void add_value(struct text *batch, uint16_t type, const void *value, size_t count) {
    size_t nested = netlink_nest(batch, type);
    netlink_attribute(batch, NFTA_DATA_VALUE, value, count);
    netlink_unnest(batch, nested);
}

static void must_equal(struct text *batch, const void *value, size_t count) {
    size_t data;
    size_t element = begin_expression(batch, "cmp", &data);
    netlink_number(batch, NFTA_CMP_SREG, NFT_REG_1);
    netlink_number(batch, NFTA_CMP_OP, NFT_CMP_EQ);
    add_value(batch, NFTA_CMP_DATA, value, count);
    end_expression(batch, element, data);
}

static void must_equal_byte(struct text *batch, uint32_t key, uint8_t value) {
    load_meta(batch, key);
    must_equal(batch, &value, sizeof value);
}

static void accept_packet(struct text *batch) {
    size_t data;
    size_t element = begin_expression(batch, "immediate", &data);
    netlink_number(batch, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    size_t nested = netlink_nest(batch, NFTA_IMMEDIATE_DATA);
    size_t verdict = netlink_nest(batch, NFTA_DATA_VERDICT);
    netlink_number(batch, NFTA_VERDICT_CODE, NF_ACCEPT);
    netlink_unnest(batch, verdict);
    netlink_unnest(batch, nested);
    end_expression(batch, element, data);
}

static void take_to_bridge(struct text *batch) {
    size_t data;
    uint16_t port = htons(TRANSPARENT_PORT);
    size_t element = begin_expression(batch, "immediate", &data);
    netlink_number(batch, NFTA_IMMEDIATE_DREG, NFT_REG_1);
    add_value(batch, NFTA_IMMEDIATE_DATA, &port, sizeof port);
    end_expression(batch, element, data);
    element = begin_expression(batch, "tproxy", &data);
    netlink_number(batch, NFTA_TPROXY_FAMILY, NFPROTO_UNSPEC);
    netlink_number(batch, NFTA_TPROXY_REG_PORT, NFT_REG_1);
    end_expression(batch, element, data);
    accept_packet(batch);
}

static const char table_name[] = "holdfast";
static const char chain_name[] = "out";

static size_t begin_tables(struct text *batch, uint16_t message, uint16_t flags) {
    struct nfgenmsg head = {.nfgen_family = NFPROTO_INET};
    return netlink_begin(batch, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | message), (uint16_t)(NLM_F_ACK | flags), &head,
                         sizeof head);
}

static void frame_batch(struct text *batch, uint16_t type) {
    struct nfgenmsg head = {.res_id = htons(NFNL_SUBSYS_NFTABLES)};
    netlink_end(batch, netlink_begin(batch, type, 0, &head, sizeof head));
}

static size_t begin_rule(struct text *batch, size_t *expressions) {
    size_t rule = begin_tables(batch, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
    netlink_string(batch, NFTA_RULE_TABLE, table_name);
    netlink_string(batch, NFTA_RULE_CHAIN, chain_name);
    *expressions = netlink_nest(batch, NFTA_RULE_EXPRESSIONS);
    return rule;
}

static void end_rule(struct text *batch, size_t rule, size_t expressions) {
    netlink_unnest(batch, expressions);
    netlink_end(batch, rule);
}

/* What goes to the namespace itself stays as it is. */
static void leave_alone(struct text *batch, uint8_t family, uint32_t offset, const void *destination, size_t count) {
    size_t expressions;
    size_t rule = begin_rule(batch, &expressions);
    must_equal_byte(batch, NFT_META_NFPROTO, family);
    load_payload(batch, NFT_PAYLOAD_NETWORK_HEADER, offset, (uint32_t)count);
    must_equal(batch, destination, count);
    accept_packet(batch);
    end_rule(batch, rule, expressions);
}

static bool make_redirect(void) {
    struct text batch = {0};
    frame_batch(&batch, NFNL_MSG_BATCH_BEGIN);
    size_t message = begin_tables(&batch, NFT_MSG_NEWTABLE, NLM_F_CREATE);
    netlink_string(&batch, NFTA_TABLE_NAME, table_name);
    netlink_end(&batch, message);
    message = begin_tables(&batch, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
    netlink_string(&batch, NFTA_CHAIN_TABLE, table_name);
    netlink_string(&batch, NFTA_CHAIN_NAME, chain_name);
    size_t hook = netlink_nest(&batch, NFTA_CHAIN_HOOK);
    netlink_number(&batch, NFTA_HOOK_HOOKNUM, NF_INET_PRE_ROUTING);
    netlink_number(&batch, NFTA_HOOK_PRIORITY, (uint32_t)-150);
    netlink_unnest(&batch, hook);
    netlink_string(&batch, NFTA_CHAIN_TYPE, "filter");
    netlink_end(&batch, message);
    const uint8_t loopback4 = 127;
    const uint32_t own4 = htonl(TRANSPARENT_OWN4);
    const uint8_t loopback6[16] = {[15] = 1};
    uint8_t own6[16] = TRANSPARENT_PREFIX6;
    own6[15] = 1;
    leave_alone(&batch, NFPROTO_IPV4, OFFSET_DESTINATION4, &loopback4, sizeof loopback4);
    leave_alone(&batch, NFPROTO_IPV4, OFFSET_DESTINATION4, &own4, sizeof own4);
    leave_alone(&batch, NFPROTO_IPV6, OFFSET_DESTINATION6, loopback6, sizeof loopback6);
    leave_alone(&batch, NFPROTO_IPV6, OFFSET_DESTINATION6, own6, sizeof own6);
    size_t expressions;
    size_t rule = begin_rule(&batch, &expressions);
    const uint16_t dns = htons(DNS_PORT);
    must_equal_byte(&batch, NFT_META_L4PROTO, IPPROTO_TCP);
    load_payload(&batch, NFT_PAYLOAD_TRANSPORT_HEADER, OFFSET_PORT, sizeof dns);
    must_equal(&batch, &dns, sizeof dns);
    accept_packet(&batch);
    end_rule(&batch, rule, expressions);
    rule = begin_rule(&batch, &expressions);
    must_equal_byte(&batch, NFT_META_L4PROTO, IPPROTO_TCP);
    take_to_bridge(&batch);
    end_rule(&batch, rule, expressions);
    frame_batch(&batch, NFNL_MSG_BATCH_END);
    int asked = netlink_ask(NETLINK_NETFILTER, &batch, 8);
    text_free(&batch);
    return asked == 0;
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

static void bring_up(void) {
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    ioctl(fd, SIOCSIFFLAGS, &request);
    close(fd);
}

void transparent_open(struct transparent *made) {
    *made = (struct transparent){0};
    bring_up();
    if (!make_local(AF_INET)) {
        tell(made, "addresses cannot be made local");
        return;
    }
    made->six = make_local(AF_INET6);
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
    if (any >= 0 && make_redirect()) {
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

void transparent_make(int network, struct transparent *made) {
    *made = (struct transparent){0};
    int ends[2];
    if (network < 0 || is_own_namespace(network)) {
        snprintf(made->reason, sizeof made->reason, "the network is not the sandbox's own");
        return;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        tell(made, "no socket");
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        if (enter(network)) {
            transparent_open(made);
        } else {
            tell(made, "the sandbox's network cannot be entered");
        }
        transparent_send(ends[1], made);
        _exit(0);
    }
    close(ends[1]);
    struct frame frame;
    if (child > 0 && frame_receive(ends[0], &frame) == 1) {
        transparent_take(&frame, made);
        frame_free(&frame);
    } else {
        snprintf(made->reason, sizeof made->reason, "it could not be made");
    }
    close(ends[0]);
    if (child > 0) {
        waitpid(child, NULL, 0);
    }
}
