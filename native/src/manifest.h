/*
 * The manifest: what the base was at the fork, and how to see that a shadow file is still untouched.
 *
 * File (little-endian, as the machine is): a header of 64 bytes, `count` records of 112 bytes, `names_bytes` bytes of names and
 * link targets, then the numbers (4 bytes) of the `noted` records that a fork asks for: those that are suspect, share their
 * inode, or are named .git. Record 0 is the root; the children of a directory are consecutive and sorted by the bytes of
 * their names; a parent stands before its children. Written under a temporary name and renamed: a manifest that exists
 * is whole.
 *
 * Untouched. A shadow file is the base's when type, inode, size and ctime are the recorded ones: ctime cannot be set
 * from inside the sandbox, and the cloner waits until the clock has passed the last recorded one before it ends.
 *
 * Saved. Content of a regular file at `pack_offset` (`size` bytes) of `pack.<pack>` in the base directory, when
 * ENTRY_SAVED. Otherwise the host's file is the base while its inode, size, mtime and ctime are the recorded ones, or
 * else the shadow's file while it is untouched. A symbolic link's target is in the names, at `pack_offset`.
 */
#ifndef HOLDFAST_MANIFEST_H
#define HOLDFAST_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TYPE_FILE = 'f', TYPE_LINK = 'l', TYPE_DIRECTORY = 'd', TYPE_OTHER = 'o' };

enum {
    ENTRY_SAVED = 1,      /* the content is in a pack */
    ENTRY_MOUNT = 2,      /* a directory left empty: an overlay comes over it */
    ENTRY_ABSENT = 4,     /* in the base, but not in the shadow: FIFO, socket, device, unreadable */
    ENTRY_UNREADABLE = 8, /* a directory whose entries, or a file whose content, could not be read */
    ENTRY_LINKED = 16,    /* shares its inode with another entry; of a listing: a secret that has other names somewhere */
    ENTRY_SUSPECT = 32,    /* may hold secrets: see suspect.h */
};

struct manifest_header {
    char magic[8]; /* "HFMANI01" */
    uint64_t count;
    uint64_t names_bytes;
    uint64_t files;
    uint64_t bytes;
    int64_t begun; /* when the clone began, by the clock that file times come from */
    uint64_t noted;
    uint64_t identity; /* no other manifest has this number */
};

struct manifest_entry {
    uint64_t name_offset;
    uint32_t name_length;
    uint32_t parent;
    uint32_t first_child;
    uint32_t child_count;
    uint32_t mode; /* twelve permission bits */
    uint8_t type;
    uint8_t flags;
    uint16_t pack;
    uint64_t size;
    int64_t mtime;
    uint64_t host_ino;
    int64_t host_ctime;
    uint64_t host_dev;
    uint64_t shadow_ino;
    int64_t shadow_ctime;
    int64_t shadow_btime;
    uint64_t pack_offset;
    uint64_t looked; /* enum looked */
};

/* How far a listing has gone into an entry. Directories: all its entries were found. Files: the whole content was read to see
 * whether it may hold secrets. */
enum looked {
    NOT_LOOKED = 0,
    LOOKED = 1,
    LOOKED_EARLIER = 2, /* a file whose attributes are those of an earlier listing: they may have changed before this one */
};

_Static_assert(sizeof(struct manifest_header) == 64, "header layout");
_Static_assert(sizeof(struct manifest_entry) == 112, "record layout");

struct manifest {
    const struct manifest_header *header;
    const struct manifest_entry *entries;
    const char *names;
    size_t bytes;
};

/* Maps a manifest and checks that every index in it is in bounds, or dies. */
void manifest_open(struct manifest *manifest, const char *path);
/* Maps a manifest whose records nobody has looked at yet, or dies. Returns its descriptor. */
int manifest_map(struct manifest *manifest, const char *path);
/* Whether every index in it is in bounds. */
bool manifest_is_sound(const struct manifest *manifest);
void manifest_close(struct manifest *manifest);

enum { NO_ENTRY = UINT32_MAX };

/* The entry of that name in a directory; NO_ENTRY when there is none. */
uint32_t manifest_child(const struct manifest *manifest, uint32_t directory, const char *name);

#endif
