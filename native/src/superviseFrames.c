/* What init says while the sandbox comes up and when it ends, and what it gets for it. */
#include "processes.h"
#include "supervise.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

void kill_sandbox(struct supervise *self) {
    if (plan_find(&self->plan, PLAN_BARE) != NULL) {
        processes_signal(self->bwrap, SIGKILL);
    }
    if (self->init > 0) {
        kill(self->init, SIGKILL);
    }
    if (self->init <= 0 || self->init == self->bwrap) {
        kill(self->bwrap, SIGKILL);
    }
}

/* Gives init the plan, and pipes for the agent unless it gets a terminal. */
static void send_plan(struct supervise *self, const struct text *plan) {
    int theirs[3] = {-1, -1, -1};
    bool terminal = plan_find(&self->plan, PLAN_TERMINAL) != NULL;
    for (int i = 0; !terminal && i < 3; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) {
            die_errno(EXIT_FAILED, "pipe", "cannot make a pipe");
        }
        theirs[i] = i == 0 ? ends[0] : ends[1];
        if (i == 0) {
            relay_open(&self->relays[i], STDIN_FILENO, ends[1], false, false);
        } else {
            relay_open(&self->relays[i], ends[0], i, false, false);
        }
    }
    if (frame_send(self->init_socket, FRAME_PLAN, plan->bytes, plan->count, theirs, terminal ? 0 : 3) != 0) {
        /* init is gone already: its end tells. */
        close(self->init_socket);
        self->init_socket = -1;
    }
    for (int i = 0; i < 3; i++) {
        close(theirs[i]);
    }
}

void make_transparent(struct supervise *self, int network) {
    if (!self->making_begun && plan_find(&self->plan, PLAN_TRANSPARENT) != NULL) {
        self->making_begun = true;
        transparent_begin(network, &self->making);
    }
}

static void send_sockets(struct supervise *self, int network) {
    if (self->init_socket < 0 || plan_find(&self->plan, PLAN_TRANSPARENT) == NULL) {
        return;
    }
    /* As a rule it was begun when bwrap told of its child, and is done by now. */
    make_transparent(self, network);
    transparent_finish(&self->making, &self->transparent);
    transparent_send(self->init_socket, &self->transparent);
    struct transparent ours = self->transparent;
    transparent_close(&ours);
    transparent_reap(&self->making);
}

static void take_terminal(struct supervise *self, struct frame *frame) {
    self->master = frame->descriptors[0];
    frame->descriptors[0] = -1;
    int output = fcntl(self->master, F_DUPFD_CLOEXEC, 3);
    relay_open(&self->relays[STDIN_RELAY], STDIN_FILENO, self->master, true, false);
    relay_open(&self->relays[STDOUT_RELAY], output, STDOUT_FILENO, false, true);
}

static void take_listener(struct supervise *self, struct frame *frame) {
    self->agent = frame->sender;
    if (frame->count == sizeof self->layers) {
        memcpy(self->layers, frame->bytes, sizeof self->layers);
    }
    if (frame->descriptors[0] >= 0) {
        bool one_root = plan_find(&self->plan, PLAN_BARE) == NULL && !plan_allows(&self->plan, "user-namespaces");
        self->observer = observer_new(frame->descriptors[0], self->init, self->agent, one_root, emit_event, self);
        frame->descriptors[0] = -1;
    }
}

static void take_failure(struct supervise *self, const struct frame *frame) {
    struct frame_failure head;
    if (frame->count <= sizeof head) {
        emit_error(self, "init", "init failed", 0);
    } else {
        memcpy(&head, frame->bytes, sizeof head);
        const char *step = frame->bytes + sizeof head;
        size_t length = strnlen(step, frame->count - sizeof head);
        const char *words = length + sizeof head < frame->count ? step + length + 1 : "";
        emit_error(self, step, words, head.error);
    }
    kill_sandbox(self);
}

void take_frame(struct supervise *self, const struct text *plan) {
    struct frame frame;
    if (frame_receive(self->init_socket, &frame) != 1) {
        close(self->init_socket);
        self->init_socket = -1;
        return;
    }
    switch (frame.type) {
        case FRAME_HELLO:
            self->init = frame.sender;
            send_plan(self, plan);
            send_sockets(self, frame.descriptors[0]);
            break;
        case FRAME_TERMINAL:
            take_terminal(self, &frame);
            break;
        case FRAME_LISTENER:
            take_listener(self, &frame);
            break;
        case FRAME_STARTED:
            limits_yield_session(&self->plan, self->agent);
            emit_started(self);
            break;
        case FRAME_FAILED:
            take_failure(self, &frame);
            break;
        case FRAME_ENDED:
            self->has_end = frame.count == sizeof self->end;
            memcpy(&self->end, frame.bytes, self->has_end ? sizeof self->end : 0);
            break;
        case FRAME_FROZEN: {
            int32_t running = 0;
            memcpy(&running, frame.bytes, frame.count < sizeof running ? frame.count : sizeof running);
            emit_frozen(self, running);
            break;
        }
        default:
            break;
    }
    frame_free(&frame);
}
