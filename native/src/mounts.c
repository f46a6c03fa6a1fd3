/*
 * Overlays first: bwrap 0.8 has none. Root needs a mount namespace of its own for them, anyone else a user namespace in
 * which that same user is mapped to itself; bwrap then makes its own inside. Overlay options name descriptors, so that no
 * character of a path can be read as an option.
 */
#include "mounts.h"

#include "common.h"
#include "frames.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_file(int socket, const char *path, const char *content) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write_all(fd, content, strlen(content)) != 0) {
        frame_fail(socket, EXIT_REFUSED, "user-namespace", "cannot write %s", path);
    }
    close(fd);
}

static void enter_namespaces(int socket) {
    uid_t user = geteuid();
    gid_t group = getegid();
    if (user == 0 && unshare(CLONE_NEWNS) == 0) {
        return;
    }
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
        frame_fail(socket, EXIT_REFUSED, "user-namespace", "cannot create a user namespace for the overlay mounts");
    }
    char map[64];
    write_file(socket, "/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%u %u 1", user, user);
    write_file(socket, "/proc/self/uid_map", map);
    snprintf(map, sizeof map, "%u %u 1", group, group);
    write_file(socket, "/proc/self/gid_map", map);
}

static int open_directory(int socket, const char *path) {
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        frame_fail(socket, EXIT_FAILED, "mount-overlay", "cannot open %s", path);
    }
    return fd;
}

static void mount_overlay(int socket, const struct plan_record *record) {
    int at = open_directory(socket, record->fields[0]);
    int lower = open_directory(socket, record->fields[1]);
    int upper = open_directory(socket, record->fields[2]);
    char options[256];
    char target[64];
    int work = -1;
    unsigned long flags = MS_NODEV | MS_NOSUID;
    if (record->verb == PLAN_OVERLAY) {
        work = open_directory(socket, record->fields[3]);
        snprintf(options, sizeof options,
                 "lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d,userxattr", lower, upper,
                 work);
    } else {
        /* A second mount of the same upper for reading: as the topmost of two lower layers. */
        flags |= MS_RDONLY;
        snprintf(options, sizeof options, "lowerdir=/proc/self/fd/%d:/proc/self/fd/%d,userxattr", upper, lower);
    }
    snprintf(target, sizeof target, "/proc/self/fd/%d", at);
    if (mount("holdfast", target, "overlay", flags, options) != 0) {
        frame_fail(socket, EXIT_REFUSED, "mount-overlay", "cannot mount an overlay on %s", record->fields[0]);
    }
    close(at);
    close(lower);
    close(upper);
    close(work);
}

static int make_directory(int socket, int at, const char *name) {
    int fd = mkdirat(at, name, 0755) == 0 ? openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0) {
        frame_fail(socket, EXIT_FAILED, "mount-overlay", "cannot make a layer in memory");
    }
    return fd;
}

/* Writes go to a tmpfs on AT, which the overlay then covers: they are gone with this mount namespace. */
static void mount_overlay_memory(const struct plan *plan, int socket, const struct plan_record *record) {
    const char *top = record->fields[1];
    char options[256];
    char target[64];
    int under = open_directory(socket, record->fields[0]);
    snprintf(target, sizeof target, "/proc/self/fd/%d", under);
    long long most = plan_limit(plan, "memoryBytes");
    /* A size of 0 is none. */
    snprintf(options, sizeof options, "mode=0755,size=%lld", most > 0 ? most : 0);
    if (mount("holdfast", target, "tmpfs", MS_NODEV | MS_NOSUID, options) != 0) {
        frame_fail(socket, EXIT_REFUSED, "mount-overlay", "cannot mount memory on %s", record->fields[0]);
    }
    int at = open_directory(socket, record->fields[0]);
    int upper = make_directory(socket, at, "upper");
    int work = make_directory(socket, at, "work");
    int bottom = open_directory(socket, record->fields[2]);
    int above = *top == '\0' ? -1 : open_directory(socket, top);
    char lower[96];
    if (above < 0) {
        snprintf(lower, sizeof lower, "/proc/self/fd/%d", bottom);
    } else {
        snprintf(lower, sizeof lower, "/proc/self/fd/%d:/proc/self/fd/%d", above, bottom);
    }
    snprintf(options, sizeof options, "lowerdir=%s,upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d,userxattr", lower,
             upper, work);
    snprintf(target, sizeof target, "/proc/self/fd/%d", at);
    if (mount("holdfast", target, "overlay", MS_NODEV | MS_NOSUID, options) != 0) {
        frame_fail(socket, EXIT_REFUSED, "mount-overlay", "cannot mount an overlay on %s", record->fields[0]);
    }
    close(under);
    close(at);
    close(upper);
    close(work);
    close(bottom);
    close(above);
}

void mounts_overlay(const struct plan *plan, int socket) {
    if (plan_find(plan, PLAN_OVERLAY) == NULL && plan_find(plan, PLAN_OVERLAY_READ) == NULL &&
        plan_find(plan, PLAN_OVERLAY_MEMORY) == NULL) {
        return;
    }
    enter_namespaces(socket);
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0) {
        frame_fail(socket, EXIT_REFUSED, "mount-overlay", "cannot keep the overlay mounts private");
    }
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->records[i].verb == PLAN_OVERLAY || plan->records[i].verb == PLAN_OVERLAY_READ) {
            mount_overlay(socket, &plan->records[i]);
        } else if (plan->records[i].verb == PLAN_OVERLAY_MEMORY) {
            mount_overlay_memory(plan, socket, &plan->records[i]);
        }
    }
}

static void add(struct text *arguments, const char *argument) {
    text_bytes(arguments, argument, strlen(argument) + 1);
}

static void add_number(struct text *arguments, int number) {
    char decimal[16];
    snprintf(decimal, sizeof decimal, "%d", number);
    add(arguments, decimal);
}

/* A descriptor for bwrap: of bytes in memory, read from their start. */
static int hold_bytes(int socket, const char *bytes, size_t count) {
    int fd = memfd_create("holdfast", 0);
    if (fd < 0 || write_all(fd, bytes, count) != 0 || lseek(fd, 0, SEEK_SET) != 0) {
        frame_fail(socket, EXIT_FAILED, "memory", "cannot hold a file of the sandbox in memory");
    }
    return fd;
}

static void add_copy(struct text *arguments, int fd, const char *mode, const char *target) {
    add(arguments, "--perms");
    add(arguments, mode);
    add(arguments, "--file");
    add_number(arguments, fd);
    add(arguments, target);
}

static void add_pair(struct text *arguments, const char *option, const struct plan_record *record) {
    add(arguments, option);
    add(arguments, record->fields[0]);
    add(arguments, record->fields[1]);
}

static void add_mount(const struct plan *plan, int socket, struct text *arguments, const struct plan_record *record) {
    bool ablated = plan_ablates(plan, "read-only");
    switch (record->verb) {
        case PLAN_READ:
            add_pair(arguments, ablated ? "--bind" : "--ro-bind", record);
            break;
        case PLAN_READ_TRY:
            add_pair(arguments, ablated ? "--bind-try" : "--ro-bind-try", record);
            break;
        case PLAN_WRITE:
            add_pair(arguments, "--bind", record);
            break;
        case PLAN_TMPFS:
            if (plan_limit(plan, "memoryBytes") > 0) {
                char size[32];
                snprintf(size, sizeof size, "%lld", plan_limit(plan, "memoryBytes"));
                add(arguments, "--size");
                add(arguments, size);
            }
            add(arguments, "--perms");
            add(arguments, record->fields[1]);
            add(arguments, "--tmpfs");
            add(arguments, record->fields[0]);
            break;
        case PLAN_DIRECTORY:
            add(arguments, "--perms");
            add(arguments, record->fields[1]);
            add(arguments, "--dir");
            add(arguments, record->fields[0]);
            break;
        case PLAN_SYMLINK:
            add_pair(arguments, "--symlink", record);
            break;
        case PLAN_FILE:
            add_copy(arguments, hold_bytes(socket, record->fields[2], strlen(record->fields[2])), record->fields[1],
                     record->fields[0]);
            break;
        case PLAN_COPY: {
            int fd = open(record->fields[0], O_RDONLY);
            struct stat stat;
            if (fd >= 0 && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
                add_copy(arguments, fd, (stat.st_mode & 0111) != 0 ? "0555" : "0444", record->fields[1]);
            }
            break;
        }
        case PLAN_SEAL:
            if (!ablated) {
                add(arguments, "--remount-ro");
                add(arguments, record->fields[0]);
            }
            break;
        case PLAN_DEV:
        case PLAN_PROC:
            add(arguments, record->verb == PLAN_DEV ? "--dev" : "--proc");
            add(arguments, record->fields[0]);
            break;
        default:
            break;
    }
}

static void add_isolation(const struct plan *plan, struct text *arguments) {
    static const char *const always[] = {"--unshare-user", "--die-with-parent", "--new-session", "--as-pid-1",
                                         "--clearenv"};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        add(arguments, always[i]);
    }
    add(arguments, "--unshare-all");
    if (plan_ablates(plan, "network")) {
        add(arguments, "--share-net");
    }
    if (!plan_allows(plan, "user-namespaces") && !plan_ablates(plan, "user-namespaces")) {
        add(arguments, "--disable-userns");
    }
    add(arguments, plan_ablates(plan, "capabilities") ? "--cap-add" : "--cap-drop");
    add(arguments, "ALL");
    static const struct {
        enum plan_verb verb;
        const char *option;
    } identity[] = {{PLAN_UID, "--uid"}, {PLAN_GID, "--gid"}, {PLAN_HOSTNAME, "--hostname"}};
    for (size_t i = 0; i < sizeof identity / sizeof *identity; i++) {
        const struct plan_record *record = plan_find(plan, identity[i].verb);
        /* Another user inside than outside is a second user namespace, which takes what capabilities are good for. */
        bool ablated = identity[i].verb != PLAN_HOSTNAME && plan_ablates(plan, "identity");
        if (record != NULL && !ablated) {
            add(arguments, identity[i].option);
            add(arguments, record->fields[0]);
        }
    }
}

void mounts_enter(const struct plan *plan, int socket, int info) {
    char self[4096];
    ssize_t count = readlink("/proc/self/exe", self, sizeof self - 1);
    if (count < 0) {
        frame_fail(socket, EXIT_FAILED, "self", "cannot find this program");
    }
    self[count] = '\0';
    if (geteuid() == 0) {
        /* Best effort: a container may forbid it. */
        (void)!setgroups(0, NULL);
    }
    mounts_overlay(plan, socket);
    struct text arguments = {0};
    add_isolation(plan, &arguments);
    add_pair(&arguments, "--ro-bind", &(struct plan_record){.fields = {self, NATIVE_INSIDE}});
    for (size_t i = 0; i < plan->count; i++) {
        add_mount(plan, socket, &arguments, &plan->records[i]);
    }
    add(&arguments, "--chdir");
    add(&arguments, "/");
    add(&arguments, "--info-fd");
    add_number(&arguments, info);
    int held = hold_bytes(socket, arguments.bytes, arguments.count);
    char held_number[16];
    char socket_number[16];
    snprintf(held_number, sizeof held_number, "%d", held);
    snprintf(socket_number, sizeof socket_number, "%d", socket);
    fcntl(socket, F_SETFD, 0);
    fcntl(info, F_SETFD, 0);
    const char *bwrap = plan_find(plan, PLAN_BWRAP)->fields[0];
    char *const command[] = {(char *)bwrap, "--args", held_number, "--", NATIVE_INSIDE, "init", socket_number, NULL};
    char *const environment[] = {NULL};
    execve(bwrap, command, environment);
    fcntl(socket, F_SETFD, FD_CLOEXEC);
    frame_fail(socket, EXIT_REFUSED, "bwrap-missing", "cannot run %s", bwrap);
}
