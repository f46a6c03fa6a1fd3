#include "changedInodes.h"

#include "common.h"

#include <endian.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum { SEARCH_BYTES = 1 << 18 };

static int64_t nanoseconds(const struct btrfs_timespec *time) {
    return (int64_t)le64toh(time->sec) * 1000000000 + le32toh(time->nsec);
}

static void add_inode(struct inodes *inodes, uint64_t number, const struct btrfs_inode_item *item) {
    if (inodes->count == inodes->capacity) {
        inodes->capacity = inodes->capacity ? inodes->capacity * 2 : 256;
        inodes->list = must_realloc(inodes->list, inodes->capacity * sizeof *inodes->list);
    }
    inodes->list[inodes->count++] = (struct inode){
        .number = number,
        .size = le64toh(item->size),
        .ctime = nanoseconds(&item->ctime),
        .mtime = nanoseconds(&item->mtime),
    };
}

/* The items of one answer; moves the key behind the last of them. Inodes come in the order of their numbers. */
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

int changed_inodes(int fd, uint64_t since, struct inodes *inodes) {
    struct btrfs_ioctl_search_args_v2 *search = must_alloc(sizeof *search + SEARCH_BYTES);
    memset(search, 0, sizeof *search);
    search->key = (struct btrfs_ioctl_search_key){
        .max_objectid = BTRFS_LAST_FREE_OBJECTID,
        .min_objectid = BTRFS_FIRST_FREE_OBJECTID,
        .max_type = UINT8_MAX,
        .max_offset = UINT64_MAX,
        .min_transid = since,
        .max_transid = UINT64_MAX,
    };
    int result;
    do {
        search->key.nr_items = UINT32_MAX;
        search->buf_size = SEARCH_BYTES;
        result = ioctl(fd, BTRFS_IOC_TREE_SEARCH_V2, search);
        if (result == 0 && search->key.nr_items > 0) {
            take_items(search, since, inodes);
        }
    } while (result == 0 && search->key.nr_items > 0);
    free(search);
    return result;
}

static int by_number(const void *left, const void *right) {
    const struct inode *a = left;
    const struct inode *b = right;
    return a->number < b->number ? -1 : a->number > b->number;
}

const struct inode *changed_inode(const struct inodes *inodes, uint64_t number) {
    const struct inode wanted = {.number = number};
    return inodes->count == 0 ? NULL
                              : bsearch(&wanted, inodes->list, inodes->count, sizeof wanted, by_number);
}
