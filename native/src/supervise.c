/*
 * supervise: starts the sandbox and stays outside of it. One loop over: commands, frames of init, exec notifications, ends
 * of processes, bwrap's own end, the agent's streams. It ends when the sandbox has ended and its output is passed on; when
 * whoever started it goes away (end of the command stream, or its death), it ends the sandbox.
 */
#include "commands.h"
#include "control.h"
#include "init.h"
#include "mounts.h"
#include "processes.h"
#include "pty.h"
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { LINE_MOST = 256, WORDS_MOST = 4096 };
enum { AT_CONTROL, AT_INIT, AT_EXECS, AT_ENDS, AT_BWRAP, AT_WORDS, AT_INFO, AT_REPORTS, AT_TIMER, AT_RELAYS, SOURCES = AT_RELAYS + 2 * RELAYS };

static void send_signal(struct supervise *self, int number) {
    bool of_terminal = number == SIGINT || number == SIGQUIT || number == SIGTSTP;
    if (self->master >= 0 && of_terminal && ioctl(self->master, TIOCSIG, number) == 0) {
        return;
    }
    int32_t signal_number = number;
    frame_send(self->init_socket, FRAME_SIGNAL, &signal_number, sizeof signal_number, NULL, 0);
}

static void obey(struct supervise *self, const char *line) {
    struct control control = control_parse(line);
    switch (control.verb) {
        case CONTROL_RESIZE:
            if (self->master >= 0) {
                pty_resize(self->master, control.columns, control.rows);
            }
            break;
        case CONTROL_SIGNAL:
            send_signal(self, control.signal);
            break;
        case CONTROL_FREEZE:
            frame_send(self->init_socket, FRAME_FREEZE, NULL, 0, NULL, 0);
            break;
        case CONTROL_THAW:
            frame_send(self->init_socket, FRAME_THAW, NULL, 0, NULL, 0);
            break;
        case CONTROL_KILL:
            kill_sandbox(self);
            break;
        case CONTROL_NONE:
            break;
    }
}

static void take_commands(struct supervise *self) {
    char bytes[LINE_MOST];
    ssize_t got = read(self->control, bytes, sizeof bytes);
    if (got <= 0) {
        /* Whoever started us is gone. */
        close(self->control);
        self->control = -1;
        kill_sandbox(self);
        return;
    }
    for (ssize_t i = 0; i < got; i++) {
        if (bytes[i] != '\n') {
            text_bytes(&self->command, bytes + i, 1);
            continue;
        }
        text_add(&self->command, "");
        obey(self, self->command.bytes);
        self->command.count = 0;
    }
    if (self->command.count > LINE_MOST) {
        self->command.count = 0;
    }
}

/* The network namespace is there before the first mount is made: the path is made meanwhile. What cannot be read here is made
 * when init has said hello. */
static void hear_info(struct supervise *self) {
    char bytes[512];
    char name[64];
    ssize_t got = read(self->info, bytes, sizeof bytes - 1);
    if (got <= 0) {
        /* Not before: bwrap has more to say, and would die of a closed pipe. */
        close(self->info);
        self->info = -1;
        return;
    }
    bytes[got] = '\0';
    const char *key = strstr(bytes, "\"child-pid\":");
    int child = key == NULL ? 0 : atoi(key + strlen("\"child-pid\":"));
    if (child > 0) {
        snprintf(name, sizeof name, "/proc/%d/ns/net", child);
        int network = open(name, O_RDONLY | O_CLOEXEC);
        if (network >= 0) {
            make_transparent(self, network);
            close(network);
        }
    }
}

static _Noreturn void become_sandbox(const struct supervise *self, int socket, int words, int info) {
    int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(words, STDERR_FILENO);
    if (plan_find(&self->plan, PLAN_BARE) != NULL) {
        mounts_overlay(&self->plan, socket);
        init_run(socket, true);
    }
    mounts_enter(&self->plan, socket, info);
}

static void launch(struct supervise *self) {
    int sockets[2];
    int words[2];
    int info[2];
    int yes = 1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0 || pipe2(words, O_CLOEXEC) != 0 ||
        pipe2(info, O_CLOEXEC) != 0 ||
        setsockopt(sockets[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0) {
        die_errno(EXIT_FAILED, "socket", "cannot make a socket");
    }
    self->bwrap = fork();
    if (self->bwrap < 0) {
        die_errno(EXIT_FAILED, "fork", "cannot fork");
    }
    if (self->bwrap == 0) {
        close(sockets[0]);
        close(self->control);
        become_sandbox(self, sockets[1], words[1], info[1]);
    }
    close(sockets[1]);
    close(words[1]);
    close(info[1]);
    self->info = info[0];
    self->init_socket = sockets[0];
    self->words = words[0];
    self->bwrap_pidfd = (int)syscall(__NR_pidfd_open, self->bwrap, 0);
    if (self->bwrap_pidfd < 0) {
        die_errno(EXIT_REFUSED, "pidfd", "this kernel is too old (5.3 or newer is needed)");
    }
}

static void hear_words(struct supervise *self) {
    char bytes[512];
    ssize_t got = read(self->words, bytes, sizeof bytes);
    if (got <= 0) {
        close(self->words);
        self->words = -1;
    } else if (self->said.count < WORDS_MOST) {
        text_bytes(&self->said, bytes, (size_t)got);
    }
}

/* bwrap has ended, so has all that was inside. */
static void take_end(struct supervise *self, const struct text *plan) {
    int status;
    waitpid(self->bwrap, &status, 0);
    /* bwrap ties its child to its own life only once that child runs: killed before, it leaves one that lives on, or waits for ever,
     * and holds our pipes. We are its subreaper. */
    processes_signal(getpid(), SIGKILL);
    struct pollfd rest = {.fd = self->init_socket, .events = POLLIN};
    while (self->init_socket >= 0 && poll(&rest, 1, 0) > 0) {
        take_frame(self, plan);
        rest.fd = self->init_socket;
    }
    if (self->observer != NULL) {
        observer_ended(self->observer);
    }
    if (!self->started && !self->failed) {
        while (self->words >= 0) {
            hear_words(self);
        }
        text_add(&self->said, "");
        while (self->said.count > 0 && self->said.bytes[self->said.count - 1] == '\n') {
            self->said.bytes[--self->said.count] = '\0';
        }
        emit_error(self, "bwrap", self->said.bytes, 0);
    } else if (self->started) {
        emit_ended(self);
    }
    self->gone = true;
    close(self->bwrap_pidfd);
    self->bwrap_pidfd = -1;
    /* Nobody is left to read it. */
    if (self->relays[STDIN_RELAY].from >= 0) {
        self->relays[STDIN_RELAY].from = -1;
        self->relays[STDIN_RELAY].start = self->relays[STDIN_RELAY].end;
    }
}

/* Waits that long at most: by a timer that goes on over many waits, since each start of one is dear on a virtual machine. It
 * may ring early. */
static void wait_at_most(struct supervise *self, int wait) {
    double due = monotonic_ms() + wait;
    if (wait < 0 || (self->timer_due != 0 && self->timer_due <= due)) {
        return;
    }
    struct itimerspec when = {.it_value = {.tv_sec = wait / 1000, .tv_nsec = wait % 1000 * 1000000L + 1}};
    timerfd_settime(self->timer, 0, &when, NULL);
    self->timer_due = due;
}

static void hear_timer(struct supervise *self) {
    uint64_t times;
    if (read(self->timer, &times, sizeof times) > 0) {
        self->timer_due = 0;
    }
}

static void wait_for(const struct supervise *self, struct pollfd *sources) {
    const struct observer *observer = self->gone ? NULL : self->observer;
    sources[AT_CONTROL] = (struct pollfd){.fd = self->control, .events = POLLIN};
    sources[AT_INIT] = (struct pollfd){.fd = self->init_socket, .events = POLLIN};
    sources[AT_EXECS] = (struct pollfd){.fd = observer ? observer_listener(observer) : -1, .events = POLLIN};
    bool ends = observer != NULL && observer_ends_wait(observer) == 0;
    sources[AT_ENDS] = (struct pollfd){.fd = ends ? observer_ends(observer) : -1, .events = POLLIN};
    sources[AT_BWRAP] = (struct pollfd){.fd = self->bwrap_pidfd, .events = POLLIN};
    sources[AT_WORDS] = (struct pollfd){.fd = self->words, .events = POLLIN};
    sources[AT_INFO] = (struct pollfd){.fd = self->info, .events = POLLIN};
    sources[AT_REPORTS] = (struct pollfd){.fd = self->reports.count > 0 && self->reports_since == 0 ? report_fd : -1, .events = POLLOUT};
    sources[AT_TIMER] = (struct pollfd){.fd = self->timer, .events = POLLIN};
    for (int i = 0; i < RELAYS; i++) {
        relay_wait(&self->relays[i], &sources[AT_RELAYS + 2 * i]);
    }
}

static void pass_bytes(struct supervise *self, const struct pollfd *sources) {
    for (int i = 0; i < RELAYS; i++) {
        /* What the agent says of itself may be about what was seen: that is told first. */
        if (i != STDIN_RELAY && self->reports_since != 0 && sources[AT_RELAYS + 2 * i].revents != 0) {
            flush_reports(self);
        }
        bool open = self->relays[i].from >= 0;
        relay_move(&self->relays[i], &sources[AT_RELAYS + 2 * i]);
        if (i == STDIN_RELAY && open && self->relays[i].from < 0 && self->master >= 0) {
            /* A terminal has no end of stream, only a character that means one. */
            (void)!write(self->master, "\004", 1);
        }
    }
}

static bool busy(const struct supervise *self) {
    for (int i = 0; i < RELAYS; i++) {
        if (self->relays[i].from >= 0 || self->relays[i].start < self->relays[i].end) {
            return true;
        }
    }
    return !self->gone || self->reports.count > 0;
}

static void keep_limits(struct supervise *self) {
    if (!self->started || self->gone || self->limit_passed) {
        return;
    }
    struct limit_passed passed = limits_look(self->limits, self->init);
    if (passed.name != NULL) {
        self->limit_passed = true;
        emit_limit(self, &passed);
        kill_sandbox(self);
    }
}

static int sooner(int one, int other) {
    return one < 0 || (other >= 0 && other < one) ? other : one;
}

/* How long nothing needs to be looked at, if nothing comes. */
static int wait_most(const struct supervise *self) {
    bool limited = self->started && !self->gone && !self->limit_passed;
    int wait = sooner(limited ? limits_wait(self->limits) : -1, reports_wait(self));
    int ends = self->observer == NULL || self->gone ? 0 : observer_ends_wait(self->observer);
    /* 0: they are polled for. */
    return ends == 0 ? wait : sooner(wait, ends);
}

static void loop(struct supervise *self, const struct text *plan) {
    while (busy(self)) {
        struct pollfd sources[SOURCES];
        wait_for(self, sources);
        wait_at_most(self, wait_most(self));
        if (poll(sources, SOURCES, -1) < 0) {
            continue;
        }
        if (sources[AT_TIMER].revents != 0) {
            hear_timer(self);
        }
        keep_limits(self);
        if (sources[AT_INFO].revents != 0) {
            hear_info(self);
        }
        if ((sources[AT_EXECS].revents & POLLIN) != 0) {
            observer_notified(self->observer);
        } else if (sources[AT_EXECS].revents != 0) {
            observer_over(self->observer);
        }
        if (sources[AT_ENDS].revents != 0) {
            observer_ended(self->observer);
        }
        if (sources[AT_INIT].revents != 0) {
            take_frame(self, plan);
        }
        if (sources[AT_CONTROL].revents != 0) {
            take_commands(self);
        }
        if (sources[AT_WORDS].revents != 0) {
            hear_words(self);
        }
        if (sources[AT_REPORTS].revents != 0 || reports_wait(self) == 0) {
            flush_reports(self);
        }
        pass_bytes(self, sources);
        if (sources[AT_BWRAP].revents != 0) {
            take_end(self, plan);
        }
    }
}

int supervise_main(int argc, char **argv) {
    if (argc != 3) {
        die(EXIT_USAGE, "arguments", "usage: supervise REPORT-FD CONTROL-FD");
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGPIPE, SIG_IGN);
    report_fd = (int)parse_number(argv[1], 3, 1 << 20, "REPORT-FD");
    int control = (int)parse_number(argv[2], 3, 1 << 20, "CONTROL-FD");
    fcntl(report_fd, F_SETFD, FD_CLOEXEC);
    fcntl(control, F_SETFD, FD_CLOEXEC);
    struct supervise self = {
        .control = control, .master = -1, .init_socket = -1, .words = -1, .info = -1, .begun = monotonic_ms(), .layers = "00"};
    struct text plan = {0};
    control_read_plan(control, &plan);
    const char *wrong = plan_parse(&self.plan, plan.bytes, plan.count);
    if (wrong == NULL && plan_find(&self.plan, PLAN_BARE) == NULL && plan_find(&self.plan, PLAN_BWRAP) == NULL) {
        wrong = "a plan says bwrap or bare";
    }
    if (wrong != NULL) {
        die(EXIT_USAGE, "plan", "%s", wrong);
    }
    self.limits = limits_new(&self.plan);
    self.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (self.timer < 0) {
        die_errno(EXIT_FAILED, "timer", "cannot make a timer");
    }
    self.relays = must_alloc(RELAYS * sizeof *self.relays);
    for (int i = 0; i < RELAYS; i++) {
        self.relays[i].from = self.relays[i].to = -1;
        self.relays[i].start = self.relays[i].end = 0;
    }
    launch(&self);
    fcntl(report_fd, F_SETFL, fcntl(report_fd, F_GETFL) | O_NONBLOCK);
    loop(&self, &plan);
    limits_free(self.limits);
    if (!self.started) {
        return EXIT_FAILED;
    }
    int status = self.has_end ? self.end.status : SIGKILL;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
