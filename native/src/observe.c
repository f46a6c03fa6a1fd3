/*
 * One notification at a time: read what the caller is about to run while it waits, let it continue, tell. This is audit,
 * not enforcement: what was read can change before the kernel reads it again. A caller whose memory cannot be read may
 * not run: a process that hides would otherwise be one that nobody saw.
 *
 * What the caller waits for is kept short: its parent, directory, words, and the file that it names, opened. The rest is done
 * once it runs again. Ends are looked at together with the next exec, or a little later: each would wake us otherwise.
 *
 * A search along PATH is one notification per candidate; those that are no executable file are not told.
 *
 * Parents. A process is told with its parent, and with `cause`: the nearest ancestor that was told before. Orphans have
 * lost theirs, so the children of a process are noted at its exit, when they are still its own: a daemon stays attributed
 * to what started it. Where no process was begun since the one that ends, which the kernel counts, it has none. One whose
 * parent was killed by a signal is attributed to who leads its group or session, else to nothing.
 */
#include "observeInside.h"

#include "memory.h"
#include "pidfd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

enum { ARGUMENT_BYTES_MOST = 256 * 1024, ANCESTORS_MOST = 64 };

struct observer *observer_new(int listener, pid_t init, pid_t agent, bool one_root,
                              void (*emit)(struct text *line, bool urgent, void *data), void *data) {
    struct observer *observer = must_alloc(sizeof *observer);
    memset(observer, 0, sizeof *observer);
    observer->listener = listener;
    observer->init = init;
    observer->agent = agent;
    observer->root = -1;
    observer->one_root = one_root;
    observer->newest = newest_open();
    observer->emit = emit;
    observer->data = data;
    observer->ends = epoll_create1(EPOLL_CLOEXEC);
    if (observer->ends < 0 || syscall(__NR_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &observer->sizes) != 0) {
        die_errno(EXIT_FAILED, "observe", "cannot watch execs");
    }
    size_t request = observer->sizes.seccomp_notif;
    size_t response = observer->sizes.seccomp_notif_resp;
    observer->request = must_alloc(request > sizeof *observer->request ? request : sizeof *observer->request);
    observer->response = must_alloc(response > sizeof *observer->response ? response : sizeof *observer->response);
    /* Both sides take turns: the waker may hand its processor over at once (since 6.6; else without). */
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    return observer;
}

int observer_listener(const struct observer *observer) {
    return observer->listener;
}

void observer_over(struct observer *observer) {
    close(observer->listener);
    observer->listener = -1;
}

/* False: the caller was killed meanwhile. */
static bool answer(struct observer *observer, int error) {
    memset(observer->response, 0, observer->sizes.seccomp_notif_resp);
    observer->response->id = observer->request->id;
    observer->response->error = -error;
    observer->response->flags = error == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
    return ioctl(observer->listener, SECCOMP_IOCTL_NOTIF_SEND, observer->response) == 0;
}

/* Of an orphan whose parent a signal has ended: who leads its group or its session, alive or not. The kernel gives the
 * number to nobody else while there are members. The agent leads all that make no group of their own: that says nothing. */
static pid_t leader_of(struct observer *observer, pid_t pid) {
    const pid_t leaders[] = {getpgid(pid), getsid(pid)};
    for (size_t i = 0; i < sizeof leaders / sizeof *leaders; i++) {
        pid_t leader = leaders[i];
        if (leader <= 0 || leader == pid || leader == observer->agent) {
            continue;
        }
        struct seen *seen = *seen_find(observer, leader);
        if (seen != NULL && !seen->told && seen->cause != 0) {
            return seen->cause;
        }
        if ((seen != NULL && seen->told) || ended_lately(observer, leader)) {
            return leader;
        }
    }
    return 0;
}

/* The nearest ancestor that was told; 0: none is known. */
static pid_t find_cause(struct observer *observer, pid_t pid, pid_t parent) {
    struct seen *self = *seen_find(observer, pid);
    for (int step = 0; step < ANCESTORS_MOST && parent > 1 && parent != observer->init; step++) {
        struct seen *seen = *seen_find(observer, parent);
        if (seen != NULL && seen->told) {
            return parent;
        }
        if (seen != NULL && seen->cause != 0) {
            return seen->cause;
        }
        pid_t group;
        if (!read_status(parent, &group, &parent)) {
            break;
        }
    }
    return self != NULL && self->cause != 0 ? self->cause : leader_of(observer, pid);
}

/* The process that a thread belongs to, its parent, and whether they could be told. */
static struct seen *identify(struct observer *observer, pid_t thread, pid_t *parent) {
    struct seen *seen = *seen_find(observer, thread);
    if (seen != NULL && seen->pidfd >= 0) {
        if (pidfd_parent(seen->pidfd, parent)) {
            return seen;
        }
        /* An ended process whose number this one has, or an old kernel. */
        observer_ended(observer);
    }
    pid_t group = thread;
    int pidfd = *seen_find(observer, thread) == NULL ? pidfd_of(thread) : -1;
    if (!pidfd_parent(pidfd, parent) && !read_status(thread, &group, parent)) {
        if (pidfd >= 0) {
            close(pidfd);
        }
        return NULL;
    }
    seen = seen_get(observer, group);
    if (seen->pidfd < 0) {
        seen_watch(observer, seen, pidfd >= 0 ? pidfd : pidfd_of(group));
    } else if (pidfd >= 0) {
        close(pidfd);
    }
    return seen;
}

struct arguments {
    struct text *line;
    size_t left;
};

static bool put_argument(const char *bytes, size_t count, void *data) {
    struct arguments *arguments = data;
    json_bytes(arguments->line, bytes, count);
    arguments->left -= count < arguments->left ? count : arguments->left;
    return arguments->left > 0;
}

/* Appends "argv":[…]; false when the caller's memory cannot be read. */
static bool put_arguments(struct observer *observer, pid_t pid, long count, struct text *line) {
    struct arguments arguments = {line, ARGUMENT_BYTES_MOST};
    json_key(line, "argv");
    json_open(line, '[');
    bool read = memory_strings(pid, observer->pointers, count, ARGUMENT_BYTES_MOST, put_argument, &arguments);
    json_close(line, ']');
    if (count == ARGUMENTS_MOST || arguments.left == 0) {
        json_key(line, "truncated");
        json_bool(line, true);
    }
    return read;
}

static bool is_hook(const char *program) {
    const char *last = strrchr(program, '/');
    const char *name = last == NULL ? program : last + 1;
    return strcmp(name, "holdfast-native") == 0 || strcmp(name, "holdfast-hook") == 0;
}

static void read_cwd(pid_t pid, char *cwd, size_t capacity) {
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/cwd", pid);
    ssize_t count = readlink(link, cwd, capacity - 1);
    cwd[count < 0 ? 0 : count] = '\0';
}

static void tell_hidden(struct observer *observer, pid_t pid) {
    struct text line = {0};
    begin_event(&line, "hidden", pid);
    json_key(&line, "atMs");
    json_number(&line, now_ms());
    json_close(&line, '}');
    observer->emit(&line, true, observer->data);
}

static int root_of(struct observer *observer) {
    if (observer->one_root && observer->root < 0) {
        observer->root = memory_root(observer->init);
    }
    return observer->root;
}

/* What is told of an exec once the caller runs again. */
static void tell_exec(struct observer *observer, const struct seen *seen, pid_t parent, pid_t cause, const char *cwd,
                      const char *program, struct text *line) {
    json_key(line, "ppid");
    json_number(line, parent);
    json_key(line, "cause");
    json_number(line, cause);
    json_key(line, "detached");
    json_bool(line, parent == observer->init && seen->pid != observer->agent);
    json_key(line, "cwd");
    json_string(line, cwd);
    json_key(line, "program");
    json_string(line, program);
    json_key(line, "atMs");
    json_number(line, now_ms());
    json_close(line, '}');
    /* A hook speaks by another way: what was seen before it is told before it. */
    observer->emit(line, is_hook(program), observer->data);
}

static void exec_noticed(struct observer *observer, const struct seccomp_data *call, pid_t thread) {
    bool at = call->nr == __NR_execveat;
    int directory = at ? (int)call->args[0] : AT_FDCWD;
    char cwd[4096];
    struct text path = {0};
    struct text program = {0};
    struct text line = {0};
    pid_t parent = 0;
    int file = -2;
    read_cwd(thread, cwd, sizeof cwd);
    struct seen *seen = identify(observer, thread, &parent);
    long count = seen == NULL ? -1
                              : memory_call(thread, call->args[at ? 1 : 0], call->args[at ? 2 : 1], &path, observer->pointers,
                                            ARGUMENTS_MOST);
    bool readable = count >= 0;
    if (readable) {
        file = memory_open(thread, root_of(observer), directory, path.bytes, cwd, &program);
    }
    if (readable && file != -1) {
        begin_event(&line, "exec", seen->pid);
        readable = put_arguments(observer, thread, count, &line);
    }
    if (!readable) {
        bool valid = ioctl(observer->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &observer->request->id) == 0;
        if (valid) {
            tell_hidden(observer, seen == NULL ? thread : seen->pid);
        }
        answer(observer, EACCES);
    } else if (file == -1) {
        answer(observer, 0);
    } else {
        pid_t cause = find_cause(observer, seen->pid, parent);
        bool runs = answer(observer, 0) && (file < 0 || memory_judge(file, &program));
        file = -1;
        if (runs) {
            if (!seen->told) {
                seen->told = true;
                seen->cause = 0;
                seen->since = monotonic_ms();
            }
            look_at_ends(observer, seen->pid);
            tell_exec(observer, seen, parent, cause, cwd, program.count > 0 ? program.bytes : path.bytes, &line);
        }
    }
    if (file >= 0) {
        close(file);
    }
    text_free(&path);
    text_free(&program);
    text_free(&line);
}

/* Children of one thread that were not told: they stem from `cause`. */
static void note_children(struct observer *observer, pid_t group, pid_t thread, pid_t cause) {
    char path[64];
    int child;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", group, thread);
    FILE *children = fopen(path, "re");
    while (children != NULL && fscanf(children, "%d", &child) == 1) {
        struct seen *seen = seen_get(observer, child);
        if (!seen->told) {
            seen->cause = cause;
            if (seen->pidfd < 0) {
                seen_watch(observer, seen, pidfd_of(seen->pid));
            }
        }
    }
    if (children != NULL) {
        fclose(children);
    }
}

/* A child belongs to the thread that made it. */
static void note_children_of_all(struct observer *observer, pid_t group, pid_t cause) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", group);
    DIR *threads = opendir(path);
    for (struct dirent *entry; threads != NULL && (entry = readdir(threads)) != NULL;) {
        if (entry->d_name[0] != '.') {
            note_children(observer, group, (pid_t)atoi(entry->d_name), cause);
        }
    }
    if (threads != NULL) {
        closedir(threads);
    }
}

/* Notes the code of an ending process, and the children that it leaves. `exit` ends a thread: of the last one it is the same. */
static void exit_noticed(struct observer *observer, const struct seccomp_data *call, pid_t thread) {
    bool whole = call->nr == __NR_exit_group;
    bool childless = newest_is(observer->newest, thread);
    struct seen *self = *seen_find(observer, thread);
    pid_t group = thread;
    pid_t parent = 0;
    if (self == NULL && (whole || !childless) && read_status(thread, &group, &parent)) {
        self = *seen_find(observer, group);
        childless = childless && group == thread;
    }
    bool told = self != NULL && self->told;
    if (told && whole) {
        self->exit_code = (int64_t)(call->args[0] & 0xff);
        self->ended = monotonic_ms();
        self->ended_at = now_ms();
    }
    if (!childless) {
        if (!told && parent == 0) {
            read_status(thread, &group, &parent);
        }
        pid_t cause = told ? group : find_cause(observer, group, parent);
        if (cause != 0 && whole) {
            note_children_of_all(observer, group, cause);
        } else if (cause != 0) {
            note_children(observer, group, thread, cause);
        }
    }
    answer(observer, 0);
}

void observer_notified(struct observer *observer) {
    memset(observer->request, 0, observer->sizes.seccomp_notif);
    if (ioctl(observer->listener, SECCOMP_IOCTL_NOTIF_RECV, observer->request) != 0) {
        /* ENOENT: the caller was killed before we came. */
        return;
    }
    /* The answer overwrites nothing of it: kept aside for the calls below all the same. */
    struct seccomp_data call = observer->request->data;
    pid_t thread = (pid_t)observer->request->pid;
    if (call.nr == __NR_exit_group || call.nr == __NR_exit) {
        exit_noticed(observer, &call, thread);
    } else {
        exec_noticed(observer, &call, thread);
    }
}
