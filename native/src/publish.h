/*
 * publish: moves prepared files into a workspace, all or none, and back.
 *
 * Each operation swaps what stands at a path with what lies in a slot of a stage: a private directory of ours on the
 * same mount. So nothing is ever overwritten: what was replaced lies in the slot afterwards, the same inode, and taking
 * an operation back is the same swap. Which side of the swap an operation is on is told by inode numbers alone, so that
 * a process that died at any call can be followed by another that finishes or takes back.
 */
#ifndef HOLDFAST_PUBLISH_H
#define HOLDFAST_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

enum op_kind { OP_PUT, OP_REMOVE, OP_RMDIR, OP_MKDIR, OP_MODE };

/* `expected` is the identity of what must stand at `path` ("" for nothing), `staged` that of what lies in the slot. For
 * OP_MODE `staged` is the new mode in octal. `parent` is the identity of the directory that was looked into while the
 * operation was prepared: another one under the same name is somebody's change ("" when it is not known). */
struct op {
    enum op_kind kind;
    size_t stage;
    const char *slot;
    const char *path;
    const char *expected;
    const char *staged;
    const char *parent;
};

struct publish {
    int root;
    int *stages;
    size_t stage_count;
    struct op *ops;
    size_t op_count;
    /* The parent directory of the last path, kept because operations come sorted. */
    int parent;
    const char *parent_of;
    size_t parent_length;
    /* Files of several names as our own operations have left them: every one of them moves the ctime of all the names. */
    struct stat *linked;
    size_t linked_count;
};

/* How one operation went. */
enum op_result { OP_DONE, OP_CHANGED, OP_FAILED };

enum { IDENTITY_BYTES = 160 };

/* "dev:ino:mode:size:mtime/ctime"; of a directory without size and times. */
void format_identity(const struct stat *found, char text[static IDENTITY_BYTES]);
/* The whole identity, or all but the time of the last change, which a rename moves. */
bool is_same(const struct stat *found, const char *identity);
bool is_same_but_ctime(const struct stat *found, const char *identity);
/* Only device and inode. */
bool is_same_inode(const struct stat *found, const char *identity);

/* Opens (or keeps) the parent directory of an operation; gives the last name. -1 with errno. */
int open_parent(struct publish *publish, const struct op *op, const char **name);
void forget_parent(struct publish *publish);
/* 1 empty, 0 not, -1 with errno. */
int is_empty_directory(int parent, const char *name);
/* Renames without replacing anything. */
int rename_fresh(int from, const char *name, int to, const char *target);
/* The slot's name while a filesystem without exchange is between two links. */
void old_slot(const struct op *op, char name[static 64]);

int publish_prepare(struct publish *publish);
enum op_result apply_op(struct publish *publish, const struct op *op);
/* Takes one operation back if it was done; true unless somebody changed it since, which is then left alone. Dies of
 * nothing: errno is in *problem. */
bool rollback_op(struct publish *publish, const struct op *op, int *problem);
/* True when the operation was done and what it left has been changed since. */
bool was_edited(struct publish *publish, const struct op *op);
/* Makes the renames durable. 0, or -1 with errno. */
int publish_sync(struct publish *publish);

#endif
