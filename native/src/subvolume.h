/* btrfs subvolumes, by the ioctls an ordinary user may call on directories of his own. All return 0, or -1 with errno. */
#ifndef HOLDFAST_SUBVOLUME_H
#define HOLDFAST_SUBVOLUME_H

#include <stdbool.h>

/* The inode of every subvolume's root. */
enum { SUBVOLUME_INODE = 256 };

/* Makes an empty subvolume at `path`. */
int subvolume_create(const char *path);
/* Makes a snapshot of the subvolume `from` at `path`; EINVAL when `from` is a plain directory. */
int subvolume_snapshot(const char *from, const char *path, bool read_only);
/* Deletes the subvolume at `path`; EPERM where the mount does not let users do so. */
int subvolume_delete(const char *path);
/* True when `path` is the root of a btrfs subvolume. */
bool subvolume_is(const char *path);

#endif
