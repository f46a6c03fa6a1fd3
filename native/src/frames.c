#include "frames.h"

#include "common.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_BYTES = 5 };

int frame_send(int socket, uint8_t type, const void *bytes, size_t count, const int *descriptors, int descriptor_count) {
    uint8_t head[HEAD_BYTES] = {type};
    uint32_t length = (uint32_t)count;
    memcpy(head + 1, &length, sizeof length);
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(FRAME_DESCRIPTORS * sizeof(int))];
    } control = {0};
    struct iovec part = {head, sizeof head};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptor_count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE((size_t)descriptor_count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN((size_t)descriptor_count * sizeof(int));
        memcpy(CMSG_DATA(rights), descriptors, (size_t)descriptor_count * sizeof(int));
    }
    ssize_t sent;
    do {
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        return -1;
    }
    size_t head_left = sizeof head - (size_t)sent;
    if (head_left > 0 && write_all(socket, head + sent, head_left) != 0) {
        return -1;
    }
    return count == 0 ? 0 : write_all(socket, bytes, count);
}

static void take_control(struct msghdr *message, struct frame *frame) {
    int taken = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET) {
            continue;
        }
        if (part->cmsg_type == SCM_RIGHTS) {
            size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (size_t i = 0; i < count; i++) {
                int descriptor;
                memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof descriptor);
                if (taken < FRAME_DESCRIPTORS) {
                    frame->descriptors[taken++] = descriptor;
                } else {
                    close(descriptor);
                }
            }
        } else if (part->cmsg_type == SCM_CREDENTIALS) {
            struct ucred credentials;
            memcpy(&credentials, CMSG_DATA(part), sizeof credentials);
            frame->sender = credentials.pid;
        }
    }
}

/* As recv, but waits for all of it: 1, 0 at the end of the stream, -1. */
static int receive_exactly(int socket, char *bytes, size_t count) {
    while (count > 0) {
        ssize_t got = recv(socket, bytes, count, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return (int)got;
        }
        bytes += got;
        count -= (size_t)got;
    }
    return 1;
}

int frame_receive(int socket, struct frame *frame) {
    *frame = (struct frame){0};
    memset(frame->descriptors, -1, sizeof frame->descriptors);
    char head[HEAD_BYTES];
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(2 * FRAME_DESCRIPTORS * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec part = {head, sizeof head};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t got;
    do {
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) {
        return (int)got;
    }
    take_control(&message, frame);
    int rest = receive_exactly(socket, head + got, sizeof head - (size_t)got);
    uint32_t length;
    memcpy(&length, head + 1, sizeof length);
    if (rest == 1 && length > FRAME_BYTES_MOST) {
        errno = EPROTO;
        rest = -1;
    }
    if (rest == 1) {
        frame->type = (uint8_t)head[0];
        frame->count = length;
        frame->bytes = must_alloc((size_t)length + 1);
        frame->bytes[length] = '\0';
        rest = receive_exactly(socket, frame->bytes, length);
    }
    if (rest != 1) {
        frame_free(frame);
    }
    return rest;
}

void frame_fail(int socket, int exit_code, const char *step, const char *format, ...) {
    struct frame_failure head = {.exit_code = exit_code, .error = errno};
    char words[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    if (socket < 0) {
        errno = head.error;
        die_errno(exit_code, step, "%s", words);
    }
    struct text bytes = {0};
    text_bytes(&bytes, &head, sizeof head);
    text_bytes(&bytes, step, strlen(step) + 1);
    text_add(&bytes, words);
    frame_send(socket, FRAME_FAILED, bytes.bytes, bytes.count, NULL, 0);
    _exit(exit_code);
}

void frame_free(struct frame *frame) {
    for (int i = 0; i < FRAME_DESCRIPTORS; i++) {
        if (frame->descriptors[i] >= 0) {
            close(frame->descriptors[i]);
            frame->descriptors[i] = -1;
        }
    }
    free(frame->bytes);
    frame->bytes = NULL;
    frame->count = 0;
}
