/* Ends of processes. They are looked at together: each would wake us otherwise. */
#include "observeInside.h"

#include "pidfd.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { ENDS_WAIT_MS = 5 };

struct seen **seen_find(struct observer *observer, pid_t pid) {
    struct seen **place = &observer->buckets[(unsigned)pid % BUCKETS];
    while (*place != NULL && (*place)->pid != pid) {
        place = &(*place)->next;
    }
    return place;
}

struct seen *seen_get(struct observer *observer, pid_t pid) {
    struct seen **place = seen_find(observer, pid);
    if (*place == NULL) {
        *place = must_alloc(sizeof **place);
        **place = (struct seen){.pid = pid, .pidfd = -1, .exit_code = -1};
    }
    return *place;
}

static void forget(struct observer *observer, pid_t pid) {
    struct seen **place = seen_find(observer, pid);
    struct seen *seen = *place;
    if (seen != NULL) {
        if (seen->told) {
            observer->ended[observer->ended_count++ % ENDED_KEPT] = pid;
        }
        *place = seen->next;
        if (seen->pidfd >= 0) {
            close(seen->pidfd);
        }
        free(seen);
    }
}

bool ended_lately(const struct observer *observer, pid_t pid) {
    size_t kept = observer->ended_count < ENDED_KEPT ? observer->ended_count : ENDED_KEPT;
    for (size_t i = 0; i < kept; i++) {
        if (observer->ended[i] == pid) {
            return true;
        }
    }
    return false;
}

void seen_watch(struct observer *observer, struct seen *seen, int pidfd) {
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)seen->pid};
    seen->pidfd = pidfd;
    if (pidfd >= 0) {
        epoll_ctl(observer->ends, EPOLL_CTL_ADD, pidfd, &event);
    }
}

int observer_ends(const struct observer *observer) {
    return observer->ends;
}

int observer_ends_wait(const struct observer *observer) {
    double since = monotonic_ms() - observer->looked;
    return since >= ENDS_WAIT_MS ? 0 : ENDS_WAIT_MS - (int)since;
}

void begin_event(struct text *line, const char *type, pid_t pid) {
    json_open(line, '{');
    json_key(line, "type");
    json_string(line, type);
    json_key(line, "pid");
    json_number(line, pid);
}

static const char *signal_name(int signal) {
    const char *name = sigabbrev_np(signal);
    return name == NULL ? "?" : name;
}

static void tell_end(struct observer *observer, const struct seen *seen, int64_t status) {
    struct text line = {0};
    begin_event(&line, "exit", seen->pid);
    int signal = status < 0 ? 0 : (int)(status & 0x7f);
    bool known = signal == 0 && seen->ended > 0;
    json_key(&line, "exitCode");
    if (status < 0 || signal != 0) {
        json_null(&line);
    } else {
        json_number(&line, (status >> 8) & 0xff);
    }
    if (signal != 0) {
        json_key(&line, "signal");
        text_format(&line, "\"SIG%s\"", signal_name(signal));
    }
    json_key(&line, "durationMs");
    json_real(&line, (known ? seen->ended : monotonic_ms()) - seen->since);
    json_key(&line, "atMs");
    json_number(&line, known ? seen->ended_at : now_ms());
    json_close(&line, '}');
    observer->emit(&line, false, observer->data);
}

void look_at_ends(struct observer *observer, pid_t but) {
    observer->looked = monotonic_ms();
    bool left = false;
    struct epoll_event events[64];
    for (int count; !left && (count = epoll_wait(observer->ends, events, 64, 0)) > 0;) {
        for (int i = 0; i < count; i++) {
            struct seen *seen = *seen_find(observer, (pid_t)events[i].data.u64);
            if (seen == NULL || seen->pid == but) {
                left = left || seen != NULL;
                continue;
            }
            bool later = false;
            int64_t status = pidfd_wait_status(seen->pidfd, seen->pid, &later);
            if (status < 0 && !later && seen->exit_code >= 0) {
                status = seen->exit_code << 8;
            }
            if (later && (events[i].events & EPOLLHUP) == 0) {
                /* Between zombie and reaped: its end is told with the hang-up that follows. */
                struct epoll_event event = {.events = 0, .data = events[i].data};
                epoll_ctl(observer->ends, EPOLL_CTL_MOD, seen->pidfd, &event);
                continue;
            }
            if (seen->told) {
                tell_end(observer, seen, status);
            }
            forget(observer, seen->pid);
        }
    }
}

void observer_ended(struct observer *observer) {
    look_at_ends(observer, 0);
}
