/*
 * init: pid 1 of the sandbox. Order, each step before the next:
 *   no_new_privs and no dumps of itself → hello → plan → terminal → denials (for itself and all that follow) → bridge →
 *   agent (new session, limits, Landlock, exec listener to supervise) → reap until the agent ends.
 * Everything else in the sandbox ends with this process; it ends when supervise's end of the socket closes.
 */
#include "init.h"

#include "bridge.h"
#include "commands.h"
#include "common.h"
#include "frames.h"
#include "landlock.h"
#include "limits.h"
#include "plan.h"
#include "processes.h"
#include "pty.h"
#include "seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FREEZE_MS = 2000 };

struct init {
    int socket;
    bool bare;
    struct plan plan;
    int streams[3]; /* the agent's; -1 with a terminal */
    struct terminal terminal;
    bool has_terminal;
    struct transparent transparent;
    pid_t agent;
    pid_t bridge;
};

static void receive_plan(struct init *init) {
    struct frame frame;
    if (frame_receive(init->socket, &frame) != 1 || frame.type != FRAME_PLAN) {
        _exit(EXIT_FAILED);
    }
    const char *wrong = plan_parse(&init->plan, frame.bytes, frame.count);
    if (wrong != NULL) {
        errno = 0;
        frame_fail(init->socket, EXIT_USAGE, "plan", "%s", wrong);
    }
    /* The bytes stay: the records point into them. */
    memcpy(init->streams, frame.descriptors, sizeof init->streams);
    if (plan_find(&init->plan, PLAN_TRANSPARENT) == NULL) {
        return;
    }
    if (frame_receive(init->socket, &frame) != 1 || frame.type != FRAME_SOCKETS) {
        _exit(EXIT_FAILED);
    }
    transparent_take(&frame, &init->transparent);
    frame_free(&frame);
}

/* With it comes the network namespace, which only the outside may set up. */
static void say_hello(const struct init *init) {
    int network = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    frame_send(init->socket, FRAME_HELLO, NULL, 0, &network, network >= 0 ? 1 : 0);
    close(network);
}

static void open_terminal(struct init *init) {
    const struct plan_record *record = plan_find(&init->plan, PLAN_TERMINAL);
    init->has_terminal = record != NULL;
    if (record == NULL) {
        return;
    }
    if (pty_open(&init->terminal, atoi(record->fields[0]), atoi(record->fields[1])) != 0) {
        frame_fail(init->socket, EXIT_FAILED, "terminal", "cannot open a terminal in the sandbox");
    }
    frame_send(init->socket, FRAME_TERMINAL, NULL, 0, &init->terminal.master, 1);
    close(init->terminal.master);
}

static void start_bridge(struct init *init) {
    const struct plan_record *record = plan_find(&init->plan, PLAN_BRIDGE);
    if (record == NULL) {
        return;
    }
    int listener = bridge_listen(atoi(record->fields[0]));
    if (listener < 0) {
        frame_fail(init->socket, EXIT_FAILED, "bridge", "cannot listen on 127.0.0.1:%s in the sandbox", record->fields[0]);
    }
    init->bridge = fork();
    if (init->bridge < 0) {
        frame_fail(init->socket, EXIT_FAILED, "bridge", "cannot start the bridge");
    }
    if (init->bridge == 0) {
        close(init->socket);
        for (int i = 0; i < 3; i++) {
            close(init->streams[i]);
        }
        if (init->has_terminal) {
            close(init->terminal.slave);
        }
        bridge_run(listener, record->fields[1], &init->transparent);
    }
    close(listener);
    transparent_close(&init->transparent);
}

static const struct {
    const char *name;
    int resource;
} limits[] = {
    {"processSeconds", RLIMIT_CPU},
    {"processAddressBytes", RLIMIT_AS},
    {"processes", RLIMIT_NPROC},
    {"openFiles", RLIMIT_NOFILE},
    {"fileBytes", RLIMIT_FSIZE},
};

/* Before the filter, which keeps it. One byte: no file, and the one value for which the kernel does not start the machine's
 * own handler of crashes either; that would look at the process as root, outside. */
static void set_core_limit(void) {
    const struct rlimit limit = {1, 1};
    setrlimit(RLIMIT_CORE, &limit);
}

static void set_limits(const struct init *init) {
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        long long value = plan_limit(&init->plan, limits[i].name);
        if (value < 0) {
            continue;
        }
        struct rlimit limit = {(rlim_t)value, (rlim_t)value};
        if (setrlimit(limits[i].resource, &limit) != 0) {
            frame_fail(init->socket, EXIT_FAILED, "limit", "cannot limit %s to %lld", limits[i].name, value);
        }
    }
}

static void enter_streams(const struct init *init) {
    if (init->has_terminal) {
        if (pty_enter(init->terminal.slave) != 0) {
            frame_fail(init->socket, EXIT_FAILED, "terminal", "cannot enter the terminal");
        }
        return;
    }
    setsid();
    for (int i = 0; i < 3; i++) {
        if (dup2(init->streams[i], i) < 0) {
            frame_fail(init->socket, EXIT_FAILED, "streams", "cannot set standard stream %d", i);
        }
    }
}

static char **collect(const struct plan *plan, enum plan_verb verb) {
    char **list = must_alloc((plan->count + 1) * sizeof *list);
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_record *record = &plan->records[i];
        if (record->verb == verb) {
            list[count++] = verb == PLAN_VARIABLE ? must_format("%s=%s", record->fields[0], record->fields[1])
                                                  : (char *)record->fields[0];
        }
    }
    list[count] = NULL;
    return list;
}

/* Sends the listener, and with it (as credentials) the agent's pid. */
static void send_listener(const struct init *init, int landlock) {
    int listener = -1;
    if (plan_find(&init->plan, PLAN_UNOBSERVED) == NULL) {
        listener = seccomp_listen();
        if (listener < 0) {
            frame_fail(init->socket, EXIT_REFUSED, "seccomp-listen", "this kernel gives no notification of execs");
        }
    }
    char layers[2] = {(char)('0' + landlock), listener >= 0 ? '1' : '0'};
    if (frame_send(init->socket, FRAME_LISTENER, layers, sizeof layers, &listener, listener >= 0 ? 1 : 0) != 0) {
        _exit(EXIT_FAILED);
    }
    close(listener);
}

static _Noreturn void become_agent(const struct init *init, int failure) {
    const struct plan_record *cwd = plan_find(&init->plan, PLAN_CWD);
    enter_streams(init);
    /* Out of the way first: either may be at the place of the other. */
    int high_failure = fcntl(failure, F_DUPFD_CLOEXEC, 10);
    int high_socket = fcntl(init->socket, F_DUPFD_CLOEXEC, 10);
    if (dup3(high_failure, 3, O_CLOEXEC) != 3 || dup3(high_socket, 4, O_CLOEXEC) != 4) {
        _exit(EXIT_FAILED);
    }
    struct init self = *init;
    self.socket = 4;
    syscall(__NR_close_range, 5u, ~0u, 0u);
    if (cwd != NULL && chdir(cwd->fields[0]) != 0) {
        frame_fail(self.socket, EXIT_FAILED, "cwd", "cannot enter %s in the sandbox", cwd->fields[0]);
    }
    char **arguments = collect(&self.plan, PLAN_ARGUMENT);
    char **variables = collect(&self.plan, PLAN_VARIABLE);
    set_limits(&self);
    limits_yield(&self.plan);
    int landlock = 0;
    if (!self.bare && !plan_ablates(&self.plan, "landlock") && !plan_allows(&self.plan, "user-namespaces")) {
        landlock = landlock_confine(&self.plan);
    }
    if (landlock < 0) {
        frame_fail(self.socket, EXIT_REFUSED, "landlock", "cannot confine by Landlock");
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    send_listener(&self, landlock);
    for (char **variable = variables; *variable != NULL; variable++) {
        if (strncmp(*variable, "PATH=", 5) == 0) {
            setenv("PATH", *variable + 5, 1);
        }
    }
    execvpe(arguments[0], arguments, variables);
    int error = errno;
    write_all(3, &error, sizeof error);
    _exit(127);
}

static void start_agent(struct init *init) {
    const struct plan_record *program = NULL;
    for (size_t i = 0; program == NULL && i < init->plan.count; i++) {
        program = init->plan.records[i].verb == PLAN_ARGUMENT ? &init->plan.records[i] : NULL;
    }
    if (program == NULL) {
        errno = 0;
        frame_fail(init->socket, EXIT_USAGE, "plan", "a plan needs an argument");
    }
    int failure[2];
    if (pipe2(failure, O_CLOEXEC) != 0 || (init->agent = fork()) < 0) {
        frame_fail(init->socket, EXIT_FAILED, "fork", "cannot start the agent");
    }
    if (init->agent == 0) {
        become_agent(init, failure[1]);
    }
    close(failure[1]);
    /* Copies here would keep the agent's end of stream from its reader. */
    for (int i = 0; i < 3; i++) {
        close(init->streams[i]);
    }
    if (init->has_terminal) {
        close(init->terminal.slave);
    }
    int error = 0;
    if (read(failure[0], &error, sizeof error) == sizeof error) {
        errno = error;
        frame_fail(init->socket, EXIT_FAILED, "exec-agent", "cannot run %s in the sandbox", program->fields[0]);
    }
    close(failure[0]);
    frame_send(init->socket, FRAME_STARTED, NULL, 0, NULL, 0);
}

static void signal_all(const struct init *init, int signal) {
    if (init->bare) {
        processes_signal(getpid(), signal);
    } else {
        kill(-1, signal);
    }
}

static bool stopped(const struct process *process) {
    return process->state == 'T' || process->state == 't';
}

/* The parent of a vfork waits in the kernel until its child has called exec or is gone: a stopped child holds it. */
static bool held_by_child(const struct process *all, size_t count, const struct process *parent) {
    for (size_t i = 0; parent->state == 'D' && i < count; i++) {
        if (all[i].parent == parent->pid && stopped(&all[i])) {
            return true;
        }
    }
    return false;
}

static int32_t count_running(void) {
    size_t count;
    int32_t running = 0;
    struct process *below = processes_below(getpid(), &count);
    for (size_t i = 0; i < count; i++) {
        running += !stopped(&below[i]) && !held_by_child(below, count, &below[i]) ? 1 : 0;
    }
    free(below);
    return running;
}

static void freeze(const struct init *init) {
    double until = monotonic_ms() + FREEZE_MS;
    int32_t running;
    signal_all(init, SIGSTOP);
    while ((running = count_running()) > 0 && monotonic_ms() < until) {
        usleep(1000);
        signal_all(init, SIGSTOP);
    }
    frame_send(init->socket, FRAME_FROZEN, &running, sizeof running, NULL, 0);
}

static _Noreturn void end(const struct init *init, int status) {
    size_t left = 0;
    free(processes_below(getpid(), &left));
    struct frame_end message = {.status = status, .left = (int32_t)left - (init->bridge > 0 && left > 0 ? 1 : 0)};
    signal_all(init, SIGKILL);
    frame_send(init->socket, FRAME_ENDED, &message, sizeof message, NULL, 0);
    _exit(0);
}

static void reap(const struct init *init) {
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid == init->agent) {
            end(init, status);
        }
    }
}

static void obey(const struct init *init) {
    struct frame frame;
    if (frame_receive(init->socket, &frame) != 1) {
        signal_all(init, SIGKILL);
        _exit(EXIT_FAILED);
    }
    int32_t signal = 0;
    if (frame.type == FRAME_SIGNAL && frame.count == sizeof signal) {
        memcpy(&signal, frame.bytes, sizeof signal);
        kill(-init->agent, signal);
    } else if (frame.type == FRAME_FREEZE) {
        freeze(init);
    } else if (frame.type == FRAME_THAW) {
        signal_all(init, SIGCONT);
    }
    frame_free(&frame);
}

void init_run(int socket, bool bare) {
    struct init init = {.socket = socket, .bare = bare, .streams = {-1, -1, -1}};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!bare) {
        /* Without a sandbox nothing is kept from the agent, and whoever watches must be able to read it. */
        prctl(PR_SET_DUMPABLE, 0);
    }
    if (bare) {
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    }
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL);
    int signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        frame_fail(socket, EXIT_REFUSED, "no-new-privs", "cannot set no_new_privs");
    }
    say_hello(&init);
    receive_plan(&init);
    open_terminal(&init);
    set_core_limit();
    if (!bare && !plan_ablates(&init.plan, "seccomp") && seccomp_deny(&init.plan) != 0) {
        frame_fail(socket, EXIT_REFUSED, "seccomp", "cannot install the filter of denied calls");
    }
    start_bridge(&init);
    start_agent(&init);
    for (;;) {
        struct pollfd sources[] = {{.fd = signals, .events = POLLIN}, {.fd = socket, .events = POLLIN}};
        poll(sources, 2, -1);
        if (sources[0].revents != 0) {
            struct signalfd_siginfo info;
            while (read(signals, &info, sizeof info) == sizeof info) {
            }
            reap(&init);
        }
        if (sources[1].revents != 0) {
            obey(&init);
        }
    }
}

int init_main(int argc, char **argv) {
    if (argc != 2) {
        die(EXIT_USAGE, "arguments", "usage: init SOCKET (only supervise starts it)");
    }
    int socket = (int)parse_number(argv[1], 3, 1 << 20, "SOCKET");
    fcntl(socket, F_SETFD, FD_CLOEXEC);
    init_run(socket, false);
}
