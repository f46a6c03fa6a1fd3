/* The state of supervise, and what it reports. */
#ifndef HOLDFAST_SUPERVISE_H
#define HOLDFAST_SUPERVISE_H

#include "common.h"
#include "frames.h"
#include "limits.h"
#include "observe.h"
#include "plan.h"
#include "relay.h"
#include "transparent.h"

#include <sys/types.h>

enum { RELAYS = 3, STDIN_RELAY = 0, STDOUT_RELAY = 1 };

struct supervise {
    int control;
    struct text command; /* bytes of an unfinished line */
    struct plan plan;
    int init_socket;
    pid_t bwrap;
    int bwrap_pidfd;
    pid_t init;
    pid_t agent;
    int master; /* of the terminal, or -1 */
    int words;  /* what bwrap says on its stderr */
    struct text said;
    struct observer *observer;
    int info;   /* where bwrap says which process is its child, or -1 */
    struct transparent_making making;
    bool making_begun;
    struct transparent transparent;
    struct limits *limits;
    struct relay *relays;
    struct text reports;
    double reports_since; /* when the first of those that wait on purpose came; 0: none does */
    int timer;
    double timer_due; /* 0: it does not go */
    double begun;
    bool started;
    bool failed;
    bool gone; /* the sandbox is */
    bool limit_passed;
    bool has_end;
    struct frame_end end;
    char layers[2];
};

/* Ends everything inside; the rest follows from bwrap's end. */
void kill_sandbox(struct supervise *self);

/* Begins the transparent path in that network namespace, once, where the plan asks for it. */
void make_transparent(struct supervise *self, int network);

/* Takes one frame of init's, and closes its socket when there is none any more. */
void take_frame(struct supervise *self, const struct text *plan);

/* Reports are queued and flushed as the reader takes them; with too many waiting, supervise waits. `data` is the
 * struct supervise; `line` is freed. */
void emit(struct text *line, void *data);
void flush_reports(struct supervise *self);

/* What was seen inside comes in numbers, and each report wakes its reader: they go out together, a little later, unless one
 * is urgent or another report follows. */
void emit_event(struct text *line, bool urgent, void *data);

/* Milliseconds before they go out; -1: none waits. */
int reports_wait(const struct supervise *self);

/* Marks the start as failed. */
void emit_error(struct supervise *self, const char *step, const char *message, int error);
void emit_started(struct supervise *self);
void emit_ended(struct supervise *self);
void emit_frozen(struct supervise *self, int32_t running);
void emit_limit(struct supervise *self, const struct limit_passed *passed);

#endif
