/* Which inodes of a btrfs subvolume have changed since a transaction of its filesystem, by a search of its tree. */
#ifndef HOLDFAST_CHANGED_INODES_H
#define HOLDFAST_CHANGED_INODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inode {
    uint64_t number, size;
    int64_t ctime, mtime;
};

/* Sorted by number, each once. */
struct inodes {
    struct inode *list;
    size_t count, capacity;
};

/* Those whose items in the tree of the subvolume at `fd` were written in a later transaction than `since`. What is only in memory is
 * not among them, nor is what is gone (its directory is). Needs CAP_SYS_ADMIN. 0, or -1 with errno; `inodes` is to be freed in any case. */
int changed_inodes(int fd, uint64_t since, struct inodes *inodes);
/* NULL when it is not among them. */
const struct inode *changed_inode(const struct inodes *inodes, uint64_t number);

#endif
