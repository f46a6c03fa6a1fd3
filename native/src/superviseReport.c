/* Reports of supervise: one JSON object a line, see PROTOCOL.md. */
#include "supervise.h"

#include "landlock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPORTS_MOST = 16 * 1024 * 1024, EVENTS_AT_ONCE = 64 * 1024, EVENTS_WAIT_MS = 10 };

void flush_reports(struct supervise *self) {
    size_t done = 0;
    while (done < self->reports.count) {
        ssize_t written = write(report_fd, self->reports.bytes + done, self->reports.count - done);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0 && errno == EAGAIN && self->reports.count - done < REPORTS_MOST) {
            break;
        }
        if (written < 0 && errno == EAGAIN) {
            /* Full up: everything waits, also the execs. */
            struct pollfd sink = {.fd = report_fd, .events = POLLOUT};
            poll(&sink, 1, -1);
            continue;
        }
        if (written < 0) {
            done = self->reports.count;
            break;
        }
        done += (size_t)written;
    }
    self->reports_since = 0;
    if (done > 0) {
        memmove(self->reports.bytes, self->reports.bytes + done, self->reports.count - done);
        self->reports.count -= done;
    }
}

void emit(struct text *line, void *data) {
    struct supervise *self = data;
    text_add(line, "\n");
    text_bytes(&self->reports, line->bytes, line->count);
    text_free(line);
    flush_reports(self);
}

void emit_event(struct text *line, bool urgent, void *data) {
    struct supervise *self = data;
    text_add(line, "\n");
    text_bytes(&self->reports, line->bytes, line->count);
    text_free(line);
    if (urgent || self->reports.count >= EVENTS_AT_ONCE) {
        flush_reports(self);
    } else if (self->reports_since == 0) {
        self->reports_since = monotonic_ms();
    }
}

int reports_wait(const struct supervise *self) {
    if (self->reports_since == 0) {
        return -1;
    }
    double since = monotonic_ms() - self->reports_since;
    return since >= EVENTS_WAIT_MS ? 0 : EVENTS_WAIT_MS - (int)since;
}

void emit_error(struct supervise *self, const char *step, const char *message, int error) {
    struct text line = {0};
    json_error(&line, step, message, error);
    self->failed = true;
    emit(&line, self);
}

void emit_started(struct supervise *self) {
    struct text line = {0};
    json_open(&line, '{');
    json_key(&line, "type");
    json_string(&line, "started");
    json_key(&line, "pid");
    json_number(&line, self->agent);
    json_key(&line, "init");
    json_number(&line, self->init);
    json_key(&line, "mounts");
    json_number(&line, self->bwrap);
    json_key(&line, "sandboxed");
    json_bool(&line, plan_find(&self->plan, PLAN_BARE) == NULL);
    json_key(&line, "landlock");
    json_number(&line, self->layers[0] == '1' ? landlock_version() : 0);
    json_key(&line, "observed");
    json_bool(&line, self->layers[1] == '1');
    if (plan_find(&self->plan, PLAN_TRANSPARENT) != NULL) {
        const char *kinds = self->transparent.kinds;
        bool any = strchr(kinds, TRANSPARENT_ANY) != NULL;
        json_key(&line, "transparent");
        json_string(&line, any ? "all" : kinds[0] != '\0' ? "fixed" : "none");
        json_key(&line, "transparentReason");
        json_string(&line, self->transparent.reason);
    }
    json_key(&line, "ms");
    json_real(&line, monotonic_ms() - self->begun);
    json_close(&line, '}');
    self->started = true;
    emit(&line, self);
}

void emit_ended(struct supervise *self) {
    int status = self->has_end ? self->end.status : SIGKILL;
    struct text line = {0};
    json_open(&line, '{');
    json_key(&line, "type");
    json_string(&line, "ended");
    json_key(&line, "exitCode");
    if (WIFEXITED(status)) {
        json_number(&line, WEXITSTATUS(status));
    } else {
        json_null(&line);
        json_key(&line, "signal");
        const char *name = sigabbrev_np(WTERMSIG(status));
        text_format(&line, "\"SIG%s\"", name == NULL ? "?" : name);
    }
    json_key(&line, "left");
    json_number(&line, self->has_end ? self->end.left : 0);
    json_close(&line, '}');
    emit(&line, self);
}

void emit_frozen(struct supervise *self, int32_t running) {
    struct text line = {0};
    json_open(&line, '{');
    json_key(&line, "type");
    json_string(&line, "frozen");
    json_key(&line, "running");
    json_number(&line, running);
    json_close(&line, '}');
    emit(&line, self);
}

void emit_limit(struct supervise *self, const struct limit_passed *passed) {
    struct text line = {0};
    json_open(&line, '{');
    json_key(&line, "type");
    json_string(&line, "limit");
    json_key(&line, "name");
    json_string(&line, passed->name);
    json_key(&line, "limit");
    json_number(&line, passed->limit);
    json_key(&line, "used");
    json_number(&line, passed->used);
    json_close(&line, '}');
    emit(&line, self);
}
