#include "netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void align(struct text *batch) {
    static const char zeros[NLMSG_ALIGNTO];
    size_t over = batch->count % NLMSG_ALIGNTO;
    if (over != 0) {
        text_bytes(batch, zeros, NLMSG_ALIGNTO - over);
    }
}

size_t netlink_begin(struct text *batch, uint16_t type, uint16_t flags, const void *fixed, size_t count) {
    size_t begun = batch->count;
    struct nlmsghdr head = {.nlmsg_type = type, .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags)};
    text_bytes(batch, &head, sizeof head);
    text_bytes(batch, fixed, count);
    align(batch);
    return begun;
}

void netlink_end(struct text *batch, size_t begun) {
    uint32_t length = (uint32_t)(batch->count - begun);
    memcpy(batch->bytes + begun, &length, sizeof length);
}

void netlink_attribute(struct text *batch, uint16_t type, const void *value, size_t count) {
    struct nlattr head = {.nla_len = (uint16_t)(sizeof head + count), .nla_type = type};
    text_bytes(batch, &head, sizeof head);
    text_bytes(batch, value, count);
    align(batch);
}

void netlink_string(struct text *batch, uint16_t type, const char *value) {
    netlink_attribute(batch, type, value, strlen(value) + 1);
}

void netlink_number(struct text *batch, uint16_t type, uint32_t value) {
    uint32_t ordered = htonl(value);
    netlink_attribute(batch, type, &ordered, sizeof ordered);
}

size_t netlink_nest(struct text *batch, uint16_t type) {
    size_t begun = batch->count;
    netlink_attribute(batch, (uint16_t)(type | NLA_F_NESTED), NULL, 0);
    return begun;
}

void netlink_unnest(struct text *batch, size_t begun) {
    uint16_t length = (uint16_t)(batch->count - begun);
    memcpy(batch->bytes + begun, &length, sizeof length);
}

/* Counts the acknowledgements in what was received; -1 with errno at a refusal. */
static int count_answers(const char *bytes, size_t count) {
    int answers = 0;
    while (count >= sizeof(struct nlmsghdr)) {
        struct nlmsghdr head;
        memcpy(&head, bytes, sizeof head);
        if (head.nlmsg_len < sizeof head || head.nlmsg_len > count) {
            break;
        }
        if (head.nlmsg_type == NLMSG_ERROR && head.nlmsg_len >= sizeof head + sizeof(int)) {
            int error;
            memcpy(&error, bytes + sizeof head, sizeof error);
            if (error != 0) {
                errno = -error;
                return -1;
            }
            answers++;
        }
        size_t step = NLMSG_ALIGN(head.nlmsg_len);
        if (step >= count) {
            break;
        }
        bytes += step;
        count -= step;
    }
    return answers;
}

int netlink_ask(int protocol, const struct text *batch, int answers) {
    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    if (netlink < 0 || sendto(netlink, batch->bytes, batch->count, 0, (struct sockaddr *)&kernel, sizeof kernel) < 0) {
        int error = errno;
        close(netlink);
        errno = error;
        return -1;
    }
    while (answers > 0) {
        char bytes[8192];
        ssize_t got = recv(netlink, bytes, sizeof bytes, 0);
        int found = got <= 0 ? -1 : count_answers(bytes, (size_t)got);
        if (found < 0) {
            int error = got == 0 ? EPROTO : errno;
            close(netlink);
            errno = error;
            return -1;
        }
        answers -= found;
    }
    close(netlink);
    return 0;
}
