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
#include "scan.h"

#include <endian.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { SEARCH_BYTES = 1 << 18, DIRTY_MOST_KIB = 64 * 1024 };

struct inode {
    uint64_t number, size;
    int64_t ctime;
};

struct inodes {
    struct inode *list;
    size_t count, capacity;
};

static void add_inode(struct inodes *inodes, uint64_t number, const struct btrfs_inode_item *item) {
    if (inodes->count == inodes->capacity) {
        inodes->capacity = inodes->capacity ? inodes->capacity * 2 : 256;
        inodes->list = must_realloc(inodes->list, inodes->capacity * sizeof *inodes->list);
    }
    inodes->list[inodes->count++] = (struct inode){
        .number = number,
        .size = le64toh(item->size),
        .ctime = (int64_t)le64toh(item->ctime.sec) * 1000000000 + le32toh(item->ctime.nsec),
    };
}

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

/* The items of one answer; moves the key behind the last of them. */
static void take_items(struct btrfs_ioctl_search_args_v2 *search, uint64_t since, struct inodes *inodes) {
    const char *at = (const char *)search->buf;
    struct btrfs_ioctl_search_header header = {0};
    for (uint32_t i = 0; i < search->key.nr_items; i++) {
        memcpy(&header, at, sizeof header);
        at += sizeof header;
        struct btrfs_inode_item item;
        if (header.type == BTRFS_INODE_ITEM_KEY && header.len >= sizeof item) {
            memcpy(&item, at, sizeof item);
            if (le64toh(item.transid) > since) {
                add_inode(inodes, header.objectid, &item);
            }
        }
        at += header.len;
    }
    struct btrfs_ioctl_search_key *key = &search->key;
    key->min_objectid = header.objectid + (header.type == UINT8_MAX && header.offset == UINT64_MAX);
    key->min_type = header.type + (header.offset == UINT64_MAX);
    key->min_offset = header.offset + 1;
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
    struct btrfs_ioctl_search_args_v2 *search = must_alloc(sizeof *search + SEARCH_BYTES);
    memset(search, 0, sizeof *search);
    search->key = (struct btrfs_ioctl_search_key){
        .max_objectid = BTRFS_LAST_FREE_OBJECTID,
        .min_objectid = BTRFS_FIRST_FREE_OBJECTID,
        .max_type = UINT8_MAX,
        .max_offset = UINT64_MAX,
        .min_transid = info.otransid,
        .max_transid = UINT64_MAX,
    };
    int result;
    do {
        search->key.nr_items = UINT32_MAX;
        search->buf_size = SEARCH_BYTES;
        result = ioctl(fd, BTRFS_IOC_TREE_SEARCH_V2, search);
        if (result == 0 && search->key.nr_items > 0) {
            take_items(search, info.otransid, inodes);
        }
    } while (result == 0 && search->key.nr_items > 0);
    free(search);
    return result == 0;
}

static int by_number(const void *left, const void *right) {
    const struct inode *a = left;
    const struct inode *b = right;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* A file or folder that was only read has its ctime yet. One of the moment of the snapshot may tell of a change after it. */
static bool has_changed(const struct manifest *manifest, const struct manifest_entry *entry, const struct inodes *inodes) {
    if (entry->flags & ENTRY_ABSENT) {
        return true; /* the manifest does not say what stands there */
    }
    if (inodes->count == 0) {
        return false;
    }
    const struct inode wanted = {.number = entry->shadow_ino};
    const struct inode *inode = bsearch(&wanted, inodes->list, inodes->count, sizeof wanted, by_number);
    return inode && (inode->ctime != entry->shadow_ctime || inode->ctime >= manifest->header->begun ||
                     (entry->type == TYPE_FILE && inode->size != entry->size));
}

uint8_t *scan_changed(const struct manifest *manifest, int shadow) {
    struct inodes inodes = {0};
    if (!find_changed(shadow, &inodes)) {
        free(inodes.list);
        return NULL;
    }
    if (inodes.count > 1) {
        qsort(inodes.list, inodes.count, sizeof *inodes.list, by_number);
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
