/* Doing one operation of a publish. What it replaces is checked before and, once it lies safe in the slot, again. */
#include "common.h"
#include "publish.h"
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_unsupported(int number) { return number == EINVAL || number == ENOSYS || number == EOPNOTSUPP; }

/*
 * Swaps target and slot. Without RENAME_EXCHANGE the old file is linked beside first, so that it is never without a name.
 * The target is named first: the kernel then tells who watches its directory that the name went and came. The other way
 * about it would be told last as gone, and an editor that has the file open would not load it anew.
 */
static int swap(const struct op *op, int stage, int parent, const char *name) {
    if (!lacks_exchange()) {
        int done = FS(renameat2(parent, name, stage, op->slot, RENAME_EXCHANGE));
        if (done == 0 || !is_unsupported(errno)) {
            return done;
        }
    }
    char old[64];
    old_slot(op, old);
    if (FS(linkat(parent, name, stage, old, 0)) == -1 && errno != EEXIST) {
        return -1;
    }
    if (FS(renameat(stage, op->slot, parent, name)) == -1) {
        return -1;
    }
    return FS(renameat(stage, old, stage, op->slot));
}

/* The person's file came into the slot instead of what was expected: put it back at once. */
static enum op_result swap_back(const struct op *op, int stage, int parent, const char *name) {
    if (swap(op, stage, parent, name) == -1) {
        return OP_FAILED;
    }
    return OP_CHANGED;
}

static struct stat *find_linked(const struct publish *publish, const struct stat *found) {
    for (size_t i = 0; i < publish->linked_count; i++) {
        struct stat *one = &publish->linked[i];
        if (one->st_dev == found->st_dev && one->st_ino == found->st_ino) {
            return one;
        }
    }
    return NULL;
}

/* Call with what an operation has just moved or changed. */
static void note_linked(struct publish *publish, const struct stat *found) {
    if (S_ISDIR(found->st_mode) || found->st_nlink < 2) {
        return;
    }
    struct stat *known = find_linked(publish, found);
    if (!known) {
        publish->linked = must_realloc(publish->linked, (publish->linked_count + 1) * sizeof *publish->linked);
        known = &publish->linked[publish->linked_count++];
    }
    *known = *found;
}

static bool is_moved(const struct publish *publish, const struct stat *found, const char *identity, bool with_ctime) {
    const struct stat *known = find_linked(publish, found);
    char text[IDENTITY_BYTES];
    if (!known || !is_same_inode(known, identity)) {
        return false;
    }
    format_identity(known, text);
    return with_ctime ? is_same(found, text) : is_same_but_ctime(found, text);
}

/* What was there when the operation was prepared, or what our own operations have made of it under another of its names. */
static bool is_expected(const struct publish *publish, const struct stat *found, const char *identity) {
    return is_same(found, identity) || is_moved(publish, found, identity, true);
}

static bool is_expected_but_ctime(const struct publish *publish, const struct stat *found, const char *identity) {
    return is_same_but_ctime(found, identity) || is_moved(publish, found, identity, false);
}

static enum op_result put(struct publish *publish, const struct op *op, int stage, int parent, const char *name) {
    struct stat found;
    bool there = FS(fstatat(parent, name, &found, AT_SYMLINK_NOFOLLOW)) == 0;
    if (!there && errno != ENOENT) {
        return OP_FAILED;
    }
    if (there && is_same_inode(&found, op->staged)) {
        if (FS(fstatat(stage, op->slot, &found, AT_SYMLINK_NOFOLLOW)) == 0) {
            note_linked(publish, &found);
        }
        return OP_DONE;
    }
    if (op->expected[0] == '\0') {
        if (there) {
            return OP_CHANGED;
        }
        if (rename_fresh(stage, op->slot, parent, name) == -1) {
            return errno == EEXIST ? OP_CHANGED : OP_FAILED;
        }
        return OP_DONE;
    }
    if (!there || !is_expected(publish, &found, op->expected)) {
        return OP_CHANGED;
    }
    if (swap(op, stage, parent, name) == -1) {
        return errno == ENOENT ? OP_CHANGED : OP_FAILED;
    }
    if (FS(fstatat(stage, op->slot, &found, AT_SYMLINK_NOFOLLOW)) == -1) {
        return OP_FAILED;
    }
    if (!is_expected_but_ctime(publish, &found, op->expected)) {
        return swap_back(op, stage, parent, name);
    }
    note_linked(publish, &found);
    return OP_DONE;
}

static enum op_result take_away(struct publish *publish, const struct op *op, int stage, int parent, const char *name) {
    struct stat found;
    if (FS(fstatat(parent, name, &found, AT_SYMLINK_NOFOLLOW)) == -1) {
        struct stat kept;
        if (errno != ENOENT) {
            return OP_FAILED;
        }
        bool done = FS(fstatat(stage, op->slot, &kept, AT_SYMLINK_NOFOLLOW)) == 0 &&
                    is_same_inode(&kept, op->expected);
        if (done) {
            note_linked(publish, &kept);
        }
        return done ? OP_DONE : OP_CHANGED;
    }
    if (!is_expected(publish, &found, op->expected)) {
        return OP_CHANGED;
    }
    if (rename_fresh(parent, name, stage, op->slot) == -1) {
        return errno == ENOENT ? OP_CHANGED : OP_FAILED;
    }
    if (FS(fstatat(stage, op->slot, &found, AT_SYMLINK_NOFOLLOW)) == -1) {
        return OP_FAILED;
    }
    if (is_expected_but_ctime(publish, &found, op->expected)) {
        note_linked(publish, &found);
        return OP_DONE;
    }
    return rename_fresh(stage, op->slot, parent, name) == -1 ? OP_FAILED : OP_CHANGED;
}

/* A directory that is not empty, in use as a mount point, or gone stays as it is: that loses nothing. */
static enum op_result take_directory(const struct op *op, int stage, int parent, const char *name) {
    int empty = is_empty_directory(parent, name);
    if (empty == -1 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP) {
        return OP_FAILED;
    }
    if (empty != 1) {
        return OP_DONE;
    }
    if (rename_fresh(parent, name, stage, op->slot) == -1) {
        bool kept = errno == EBUSY || errno == EXDEV || errno == ENOENT;
        return kept ? OP_DONE : OP_FAILED;
    }
    empty = is_empty_directory(stage, op->slot);
    if (empty == 1) {
        return OP_DONE;
    }
    return empty == -1 || rename_fresh(stage, op->slot, parent, name) == -1 ? OP_FAILED : OP_DONE;
}

static enum op_result make_directory(const struct op *op, int stage, int parent, const char *name) {
    struct stat found;
    if (FS(fstatat(parent, name, &found, AT_SYMLINK_NOFOLLOW)) == 0) {
        return S_ISDIR(found.st_mode) ? OP_DONE : OP_CHANGED;
    }
    if (errno != ENOENT) {
        return OP_FAILED;
    }
    if (rename_fresh(stage, op->slot, parent, name) == -1) {
        return errno == EEXIST ? OP_CHANGED : OP_FAILED;
    }
    return OP_DONE;
}

static enum op_result change_mode(struct publish *publish, const struct op *op, int parent, const char *name) {
    int fd = FS(openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (fd == -1) {
        return errno == ENOENT ? OP_CHANGED : OP_FAILED;
    }
    mode_t mode = (mode_t)strtoul(op->staged, NULL, 8);
    struct stat found;
    enum op_result result = OP_FAILED;
    if (FS(fstat(fd, &found)) == 0) {
        bool done = is_same_inode(&found, op->expected) && (found.st_mode & 07777) == mode;
        result = done || is_expected(publish, &found, op->expected) ? OP_DONE : OP_CHANGED;
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (!done && result == OP_DONE && FS(chmod(path, mode)) == -1) {
            result = OP_FAILED;
        }
        if (result == OP_DONE && fstat(fd, &found) == 0) {
            note_linked(publish, &found);
        }
    }
    int saved = errno;
    close(fd);
    errno = saved;
    return result;
}

/* New files have no identity of their own to compare: the directory that they come into must be the one that was looked
 * into. */
static enum op_result check_parent(const struct op *op, int parent) {
    struct stat found;
    if (op->parent[0] == '\0') {
        return OP_DONE;
    }
    if (FS(fstat(parent, &found)) == -1) {
        return OP_FAILED;
    }
    return is_same_inode(&found, op->parent) ? OP_DONE : OP_CHANGED;
}

enum op_result apply_op(struct publish *publish, const struct op *op) {
    const char *name;
    int parent = open_parent(publish, op, &name);
    if (parent == -1) {
        if (op->kind == OP_RMDIR && errno == ENOENT) {
            return OP_DONE;
        }
        /* A parent that is gone, a file or a link by now: somebody changed it. */
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EXDEV ? OP_CHANGED : OP_FAILED;
    }
    enum op_result same = check_parent(op, parent);
    if (same != OP_DONE) {
        return same;
    }
    int stage = publish->stages[op->stage];
    switch (op->kind) {
    case OP_PUT: return put(publish, op, stage, parent, name);
    case OP_REMOVE: return take_away(publish, op, stage, parent, name);
    case OP_RMDIR: return take_directory(op, stage, parent, name);
    case OP_MKDIR: return make_directory(op, stage, parent, name);
    case OP_MODE: return change_mode(publish, op, parent, name);
    }
    return OP_FAILED;
}

/* Few paths: each directory by itself, so that nobody else's writes are waited for. Many: the filesystem at once. */
int publish_sync(struct publish *publish) {
    enum { FEW = 16 };
    for (size_t i = 0; i < publish->stage_count; i++) {
        int done = publish->op_count > FEW ? FS(syncfs(publish->stages[i])) : FS(fsync(publish->stages[i]));
        if (done == -1) {
            return -1;
        }
    }
    if (publish->op_count > FEW) {
        return 0;
    }
    for (size_t i = 0; i < publish->op_count; i++) {
        const char *name;
        if (open_parent(publish, &publish->ops[i], &name) == -1) {
            continue;
        }
        int fd = FS(openat(publish->parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        int done = fd == -1 ? FS(syncfs(publish->root)) : FS(fsync(fd));
        int saved = errno;
        if (fd != -1) {
            close(fd);
        }
        errno = saved;
        if (done == -1) {
            return -1;
        }
    }
    return 0;
}
