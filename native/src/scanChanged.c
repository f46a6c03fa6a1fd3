/*
 * Which entries of a manifest have changed in a btrfs snapshot since it was made, without a look at the others.
 *
 * Whatever changes an inode gives its item the number of the transaction at work, later than the one that made the snapshot,
 * and the tree can be searched for leaves that were written since. A file that was written has its new time in the tree only
 * when its data is on the disk: so the filesystem is synced first, unless that would take longer than a look at everything.
 * Asking needs CAP_SYS_ADMIN: for others, and after any error, nothing is known, and everything is looked at.
 *
 * A directory's inode changes with its names. A subvolume that was made inside is a new name with a tree of its own.
 */
#include "changedInodes.h"
#include "scan.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { DIRTY_MOST_KIB = 64 * 1024 };

/* Whether little is waiting to be written to the disks of this machine. */
static bool is_soon_synced(void) {
    char text[1024];
    int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) {
        close(fd);
    }
    text[got < 0 ? 0 : got] = 0;
    const char *dirty = strstr(text, "\nDirty:");
    return dirty && strtol(dirty + strlen("\nDirty:"), NULL, 10) < DIRTY_MOST_KIB;
}

/* For others than root nothing is synced in vain. */
static bool may_search(int fd) {
    struct btrfs_ioctl_search_args arguments = {.key = {.min_objectid = 1, .nr_items = 1}};
    return ioctl(fd, BTRFS_IOC_TREE_SEARCH, &arguments) == 0;
}

/* False when it cannot be told. */
static bool find_changed(int fd, struct inodes *inodes) {
    struct btrfs_ioctl_get_subvol_info_args info = {0};
    if (!is_soon_synced() || !may_search(fd) || syncfs(fd) != 0 || ioctl(fd, BTRFS_IOC_GET_SUBVOL_INFO, &info) < 0 || info.otransid == 0) {
        return false;
    }
    return changed_inodes(fd, info.otransid, inodes) == 0;
}

/* A file or folder that was only read has its ctime yet. One of the moment of the snapshot may tell of a change after it. */
static bool has_changed(const struct manifest *manifest, const struct manifest_entry *entry, const struct inodes *inodes) {
    if (entry->flags & ENTRY_ABSENT) {
        return true; /* the manifest does not say what stands there */
    }
    const struct inode *inode = changed_inode(inodes, entry->shadow_ino);
    return inode && (inode->ctime != entry->shadow_ctime || inode->ctime >= manifest->header->begun ||
                     (entry->type == TYPE_FILE && inode->size != entry->size));
}

uint8_t *scan_changed(const struct manifest *manifest, int shadow) {
    struct inodes inodes = {0};
    if (!find_changed(shadow, &inodes)) {
        free(inodes.list);
        return NULL;
    }
    uint64_t count = manifest->header->count;
    uint8_t *marks = must_alloc(count);
    memset(marks, 0, count);
    marks[0] = HAS_CHANGED; /* its inode is in no record */
    for (uint64_t i = 1; i < count; i++) {
        if (!has_changed(manifest, &manifest->entries[i], &inodes)) {
            continue;
        }
        marks[i] |= HAS_CHANGED;
        for (uint32_t at = manifest->entries[i].parent; !(marks[at] & CHANGED_BELOW); at = manifest->entries[at].parent) {
            marks[at] |= CHANGED_BELOW;
        }
    }
    free(inodes.list);
    return marks;
}
