/* Taking one operation back, from whatever point its process died at. */
#include "common.h"
#include "publish.h"
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Where an operation stands, told by inodes. */
enum standing {
    NOT_DONE,
    DONE,
    /* Done, and changed, replaced or removed by somebody since. */
    EDITED,
    /* A filesystem without exchange: the old file has two names, nothing is replaced yet. */
    LINKED,
    /* A filesystem without exchange: replaced, the old file still under its passing name. */
    HALF_DONE,
    UNKNOWN,
};

static bool look(int directory, const char *name, struct stat *found, bool *there) {
    *there = FS(fstatat(directory, name, found, AT_SYMLINK_NOFOLLOW)) == 0;
    return *there || errno == ENOENT;
}

static enum standing put_standing(const struct op *op, int stage, int parent, const char *name) {
    struct stat target;
    struct stat slot;
    struct stat old;
    bool target_there;
    bool slot_there;
    bool old_there;
    char old_name[64];
    old_slot(op, old_name);
    if (!look(parent, name, &target, &target_there) || !look(stage, op->slot, &slot, &slot_there) ||
        !look(stage, old_name, &old, &old_there)) {
        return UNKNOWN;
    }
    if (old_there) {
        if (target_there && is_same_inode(&target, op->expected)) {
            return LINKED;
        }
        return target_there && is_same_but_ctime(&target, op->staged) ? HALF_DONE : EDITED;
    }
    bool fresh = op->expected[0] == '\0';
    bool done = fresh ? !slot_there : slot_there && is_same_inode(&slot, op->expected);
    if (!done) {
        return NOT_DONE;
    }
    if (op->kind == OP_MKDIR) {
        return target_there && is_same_inode(&target, op->staged) ? DONE : NOT_DONE;
    }
    return target_there && is_same_but_ctime(&target, op->staged) ? DONE : EDITED;
}

static enum standing removal_standing(const struct op *op, int stage, int parent, const char *name) {
    struct stat target;
    struct stat slot;
    bool target_there;
    bool slot_there;
    if (!look(stage, op->slot, &slot, &slot_there) || !look(parent, name, &target, &target_there)) {
        return UNKNOWN;
    }
    /* An emptied directory that is there again is as good as brought back. */
    if (!slot_there || (target_there && op->kind == OP_RMDIR)) {
        return NOT_DONE;
    }
    return target_there ? EDITED : DONE;
}

static enum standing standing_of(const struct op *op, int stage, int parent, const char *name) {
    switch (op->kind) {
    case OP_PUT:
    case OP_MKDIR: return put_standing(op, stage, parent, name);
    case OP_REMOVE:
    case OP_RMDIR: return removal_standing(op, stage, parent, name);
    case OP_MODE: return NOT_DONE;
    }
    return NOT_DONE;
}

static int mode_back(const struct op *op, int parent, const char *name) {
    int fd = FS(openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (fd == -1) {
        return errno == ENOENT ? 0 : -1;
    }
    struct stat found;
    unsigned old_mode = 0;
    int done = FS(fstat(fd, &found));
    mode_t mode = (mode_t)strtoul(op->staged, NULL, 8);
    if (done == 0 && is_same_inode(&found, op->expected) && (found.st_mode & 07777) == mode &&
        sscanf(op->expected, "%*[0-9]:%*[0-9]:%o:", &old_mode) == 1) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        done = FS(chmod(path, old_mode & 07777));
    }
    int saved = errno;
    close(fd);
    errno = saved;
    return done;
}

static int put_back(const struct op *op, int stage, int parent, const char *name, enum standing standing) {
    char old[64];
    old_slot(op, old);
    switch (standing) {
    case LINKED: return FS(unlinkat(stage, old, 0));
    case HALF_DONE: return FS(renameat(stage, old, parent, name));
    default: break;
    }
    if (op->expected[0] == '\0') {
        return rename_fresh(parent, name, stage, op->slot);
    }
    int done = lacks_exchange() ? (errno = EINVAL, -1) : FS(renameat2(parent, name, stage, op->slot, RENAME_EXCHANGE));
    if (done == -1 && (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)) {
        done = FS(renameat(stage, op->slot, parent, name));
    }
    return done;
}

/* What came back into the slot was written to in the very last moment: give it back to the person. */
static bool came_back_edited(const struct op *op, int stage) {
    struct stat found;
    return FS(fstatat(stage, op->slot, &found, AT_SYMLINK_NOFOLLOW)) == 0 && is_same_inode(&found, op->staged) &&
           !is_same_but_ctime(&found, op->staged);
}

static int undo_put(const struct op *op, int stage, int parent, const char *name, enum standing standing,
                    bool *alone) {
    int done = put_back(op, stage, parent, name, standing);
    if (done == 0 && standing == DONE && came_back_edited(op, stage)) {
        *alone = true;
        done = op->expected[0] == '\0' ? rename_fresh(stage, op->slot, parent, name)
                                       : FS(renameat2(parent, name, stage, op->slot, RENAME_EXCHANGE));
    }
    return done;
}

static int undo(const struct op *op, int stage, int parent, const char *name, enum standing standing, bool *alone) {
    switch (op->kind) {
    case OP_PUT: return undo_put(op, stage, parent, name, standing, alone);
    case OP_REMOVE:
    case OP_RMDIR: return rename_fresh(stage, op->slot, parent, name);
    case OP_MKDIR: {
        int empty = is_empty_directory(parent, name);
        if (empty == 0) {
            *alone = true;
            return 0;
        }
        return empty == -1 ? -1 : rename_fresh(parent, name, stage, op->slot);
    }
    case OP_MODE: return mode_back(op, parent, name);
    }
    return 0;
}

bool rollback_op(struct publish *publish, const struct op *op, int *problem) {
    const char *name;
    int parent = open_parent(publish, op, &name);
    int stage = publish->stages[op->stage];
    if (parent == -1) {
        struct stat kept;
        bool gone = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
        if (!gone) {
            *problem = errno;
            return true;
        }
        /* The person took the directory away: what lies in the slot, if it is theirs, has no place to go back to. */
        bool lost = op->expected[0] != '\0' && fstatat(stage, op->slot, &kept, AT_SYMLINK_NOFOLLOW) == 0 &&
                    is_same_inode(&kept, op->expected);
        return !lost;
    }
    enum standing standing = standing_of(op, stage, parent, name);
    if (standing == UNKNOWN) {
        *problem = errno;
        return true;
    }
    if (standing == EDITED) {
        return false;
    }
    bool alone = false;
    if ((standing != NOT_DONE || op->kind == OP_MODE) &&
        undo(op, stage, parent, name, standing, &alone) == -1) {
        *problem = errno;
    }
    return !alone;
}

bool was_edited(struct publish *publish, const struct op *op) {
    const char *name;
    int parent = open_parent(publish, op, &name);
    if (parent == -1) {
        return false;
    }
    return standing_of(op, publish->stages[op->stage], parent, name) == EDITED;
}
