/* Giving prepared files the owner and extended attributes of what they replace, and making them durable. */
#include "common.h"
#include "publish.h"
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

/* What cannot be carried over (another owner, a protected attribute) is left: the content matters more. */
static bool is_tolerable(int number) {
    return number == EPERM || number == EACCES || number == EOPNOTSUPP || number == ENODATA || number == EINVAL;
}

/* Never file capabilities or signatures: they belong to the old content. */
static bool is_carried(const char *name) {
    return strncmp(name, "user.", 5) == 0 || strncmp(name, "system.posix_acl_", 17) == 0 ||
           strcmp(name, "security.selinux") == 0 || strcmp(name, "security.SMACK64") == 0;
}

static int copy_attribute(int from, int to, const char *name) {
    ssize_t size = fgetxattr(from, name, NULL, 0);
    if (size == -1) {
        return -1;
    }
    char *value = must_alloc((size_t)size + 1);
    size = fgetxattr(from, name, value, (size_t)size);
    int done = size == -1 ? -1 : FS(fsetxattr(to, name, value, (size_t)size, 0));
    int saved = errno;
    free(value);
    errno = saved;
    return done;
}

static int copy_attributes(int from, int to) {
    ssize_t size = flistxattr(from, NULL, 0);
    if (size <= 0) {
        return size == -1 && !is_tolerable(errno) ? -1 : 0;
    }
    char *names = must_alloc((size_t)size + 1);
    size = flistxattr(from, names, (size_t)size);
    int done = 0;
    for (char *name = names; done == 0 && name < names + size; name += strlen(name) + 1) {
        if (is_carried(name) && copy_attribute(from, to, name) == -1 && !is_tolerable(errno)) {
            done = -1;
        }
    }
    int saved = errno;
    free(names);
    errno = saved;
    return done;
}

/* Owner of what stands there; of a new path that of its directory, where we may give files away or it asks for that. */
static int adopt_owner(int stage, const struct op *op, const struct stat *model, bool replaces) {
    struct stat own;
    if (FS(fstatat(stage, op->slot, &own, AT_SYMLINK_NOFOLLOW)) == -1) {
        return -1;
    }
    bool all = replaces || geteuid() == 0;
    uid_t uid = all ? model->st_uid : own.st_uid;
    gid_t gid = all || (model->st_mode & S_ISGID) != 0 ? model->st_gid : own.st_gid;
    if (own.st_uid == uid && own.st_gid == gid) {
        return 0;
    }
    int done = FS(fchownat(stage, op->slot, uid, gid, AT_SYMLINK_NOFOLLOW));
    return done == -1 && !is_tolerable(errno) ? -1 : 0;
}

static int adopt(struct publish *publish, const struct op *op) {
    const char *name;
    struct stat model;
    int stage = publish->stages[op->stage];
    int parent = open_parent(publish, op, &name);
    if (parent == -1) {
        /* Its parent is still in the stage. */
        return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
    }
    bool replaces = op->expected[0] != '\0';
    if (FS(replaces ? fstatat(parent, name, &model, AT_SYMLINK_NOFOLLOW) : fstat(parent, &model)) == -1) {
        return errno == ENOENT ? 0 : -1;
    }
    if (adopt_owner(stage, op, &model, replaces) == -1) {
        return -1;
    }
    if (!replaces || !S_ISREG(model.st_mode)) {
        return 0;
    }
    int from = FS(openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    int to = FS(openat(stage, op->slot, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    int done = from == -1 || to == -1 ? (is_tolerable(errno) || errno == ENOENT || errno == ELOOP ? 0 : -1)
                                      : copy_attributes(from, to);
    int saved = errno;
    if (from != -1) {
        close(from);
    }
    if (to != -1) {
        close(to);
    }
    errno = saved;
    return done;
}

static int sync_slot(int stage, const struct op *op) {
    int fd = FS(openat(stage, op->slot, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd == -1) {
        return errno == ELOOP ? 0 : errno == EACCES ? FS(syncfs(stage)) : -1;
    }
    int done = FS(fsync(fd));
    int saved = errno;
    close(fd);
    errno = saved;
    return done;
}

int publish_prepare(struct publish *publish) {
    enum { FEW = 16 };
    for (size_t i = 0; i < publish->op_count; i++) {
        const struct op *op = &publish->ops[i];
        if (op->kind != OP_PUT && op->kind != OP_MKDIR) {
            continue;
        }
        if (adopt(publish, op) == -1) {
            die_errno(EXIT_FAILED, "adopt", "cannot prepare %s", op->path);
        }
        if (publish->op_count <= FEW && sync_slot(publish->stages[op->stage], op) == -1) {
            die_errno(EXIT_FAILED, "sync", "cannot make %s durable", op->path);
        }
    }
    for (size_t i = 0; i < publish->stage_count; i++) {
        int stage = publish->stages[i];
        if ((publish->op_count > FEW ? FS(syncfs(stage)) : FS(fsync(stage))) == -1) {
            die_errno(EXIT_FAILED, "sync", "cannot make the stage durable");
        }
    }
    return 0;
}
