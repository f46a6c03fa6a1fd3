/*
 * Frames between supervise and init over a stream socket: a type byte, a length (32 bit, native order, both ends are the
 * same program), the bytes; descriptors ride on the first byte of their frame. init is inside the sandbox: supervise
 * trusts nothing in a frame beyond its shape.
 */
#ifndef HOLDFAST_FRAMES_H
#define HOLDFAST_FRAMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { FRAME_DESCRIPTORS = 9, FRAME_BYTES_MOST = 64 * 1024 * 1024 };

enum frame_type {
    /* init → supervise */
    FRAME_HELLO = 'h',    /* init runs; its pid travels as credentials; a descriptor of its network namespace */
    FRAME_TERMINAL = 't', /* the pty's master */
    FRAME_LISTENER = 'l', /* the seccomp listener; bytes: layers, NUL-framed */
    FRAME_STARTED = 's',  /* the agent runs; its pid travels in FRAME_LISTENER's notification */
    FRAME_FAILED = 'x',   /* struct frame_failure, then the step, NUL, words */
    FRAME_ENDED = 'e',    /* struct frame_end */
    FRAME_FROZEN = 'f',   /* int32: processes that did not stop */
    /* supervise → init */
    FRAME_PLAN = 'P',     /* the plan; descriptors: stdin, stdout, stderr of the agent (none with a terminal) */
    FRAME_SOCKETS = 'N',  /* after a plan with `transparent`: struct transparent (transparent.h) and its sockets */
    FRAME_SIGNAL = 'S',   /* int32: signal for the agent's process group */
    FRAME_FREEZE = 'F',
    FRAME_THAW = 'T',
};

struct frame_failure {
    int32_t exit_code;
    int32_t error;
};

struct frame_end {
    int32_t status; /* as from waitpid */
    int32_t left;   /* processes that were still there and are ended with the sandbox */
};

struct frame {
    uint8_t type;
    char *bytes; /* NUL follows, not counted; freed by frame_free */
    size_t count;
    int descriptors[FRAME_DESCRIPTORS]; /* -1 where absent */
    pid_t sender;                       /* with SO_PASSCRED, else 0 */
};

/* 0, or -1 with errno. Blocks. */
int frame_send(int socket, uint8_t type, const void *bytes, size_t count, const int *descriptors, int descriptor_count);

/* 1 a frame, 0 end of stream, -1 with errno (EPROTO: not a frame). Blocks until the whole frame is there. */
int frame_receive(int socket, struct frame *frame);

/* Sends FRAME_FAILED with errno and ends this process. */
_Noreturn void frame_fail(int socket, int exit_code, const char *step, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Closes descriptors that were not taken (set to -1) and frees the bytes. */
void frame_free(struct frame *frame);

#endif
