/*
 * What has changed in a workspace since a snapshot of it was listed, told by btrfs and not by a look at every file.
 *
 * A snapshot is made while a transaction of the filesystem is committed: nobody writes, and what waited to be written has been.
 * So it has all changes of transactions up to its own (`otransid`), and those of later ones alone are missing. Of two snapshots of one
 * subvolume (known by its uuid, which a restored or received one does not keep):
 *
 *   Nothing has changed when the number that every change of an inode leaves in the subvolume (`ctransid`) is the same in both. Stores
 *   to mapped pages count: making a snapshot writes them out, and pages are write-protected as they are written, so that a later
 *   store is a later change. Whoever may make a snapshot may ask this. One thing changes a tree without that number: the log that is
 *   replayed when a filesystem is mounted after a crash. It leaves a root of a later transaction (`generation`) than that of the
 *   earlier snapshot. The generation is asked before the later snapshot is made; another snapshot in between raises it too, in vain.
 *
 *   Else, for CAP_SYS_ADMIN, a search of the later snapshot finds every inode item that was written since. Names are of their
 *   directory's inode; what is gone is no item, but a change of its directory. Where a directory that is still the same has the
 *   inode of the earlier one, it has its names and, unmarked, their inodes. A subtree that was moved is not where it was listed, or has
 *   another inode at its top, which the move has written: it is listed anew. Numbers of inodes are not given twice, and a new one
 *   is a new item anyway. Replayed items have the later number.
 *
 * Numbers of transactions only rise, as long as a filesystem is not put back to an earlier image: what says where the listing comes from
 * must lie on the same filesystem, so that both go back. A listing that something was missing from is no such beginning.
 */
#include "changedInodes.h"
#include "clone.h"
#include "fault.h"
#include "subvolume.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/btrfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ORIGIN_FORMAT "%16" SCNx64 ".%16" SCNx64 ".%" SCNu64 ".%" SCNu64 ".%16" SCNx64 ".%" SCNu64 ".%" SCNu64 ".%" SCNu64

bool origin_parse(struct origin *origin, const char *text) {
    int end = 0;
    int got = sscanf(text, ORIGIN_FORMAT "%n", &origin->uuid[0], &origin->uuid[1], &origin->transid, &origin->ctransid,
                     &origin->identity, &origin->directories, &origin->links, &origin->special, &end);
    return got == 8 && text[end] == 0;
}

char *origin_format(const struct origin *origin) {
    return must_format("%" PRIx64 ".%" PRIx64 ".%" PRIu64 ".%" PRIu64 ".%" PRIx64 ".%" PRIu64 ".%" PRIu64 ".%" PRIu64,
                       origin->uuid[0], origin->uuid[1], origin->transid, origin->ctransid, origin->identity,
                       origin->directories, origin->links, origin->special);
}

static bool ask(int fd, struct btrfs_ioctl_get_subvol_info_args *info) {
    memset(info, 0, sizeof *info);
    return ioctl(fd, BTRFS_IOC_GET_SUBVOL_INFO, info) >= 0;
}

static bool is_same_filesystem(int fd, const char *path) {
    struct btrfs_ioctl_fs_info_args here = {0};
    struct btrfs_ioctl_fs_info_args there = {0};
    int other = open(path, O_RDONLY | O_CLOEXEC);
    bool same = other >= 0 && ioctl(fd, BTRFS_IOC_FS_INFO, &here) >= 0 &&
                ioctl(other, BTRFS_IOC_FS_INFO, &there) >= 0 && memcmp(here.fsid, there.fsid, sizeof here.fsid) == 0;
    if (other >= 0) {
        close(other);
    }
    return same;
}

void origin_before(struct clone *clone) {
    struct btrfs_ioctl_get_subvol_info_args info;
    clone->generation = ask(clone->source, &info) ? info.generation : 0;
}

static void change_marks(struct clone *clone, const struct inodes *inodes) {
    const struct manifest *known = &clone->spare.manifest;
    const int64_t settled = clone_settled_before(clone);
    uint8_t *marks = clone->marks;
    if (changed_inode(inodes, SUBVOLUME_INODE)) {
        marks[0] |= MARK_CHANGED;
    }
    for (uint64_t i = 1; inodes->count > 0 && i < known->header->count; i++) {
        const struct manifest_entry *was = &known->entries[i];
        const struct inode *inode = changed_inode(inodes, was->host_ino);
        /* one that was only read has its times yet */
        if (!inode || (inode->ctime == was->host_ctime && inode->mtime == was->mtime && was->host_ctime < settled &&
                       (was->type != TYPE_FILE || inode->size == was->size))) {
            continue;
        }
        marks[i] |= MARK_CHANGED;
        for (uint32_t at = was->parent; !(marks[at] & MARK_CHANGED_BELOW); at = known->entries[at].parent) {
            marks[at] |= MARK_CHANGED_BELOW;
        }
    }
}

void origin_after(struct clone *clone, const struct origin *since, const char *known_path) {
    struct btrfs_ioctl_get_subvol_info_args info;
    if (!ask(clone->frozen, &info) || info.otransid == 0) {
        return;
    }
    memcpy(clone->origin.uuid, info.parent_uuid, sizeof clone->origin.uuid);
    clone->origin.transid = info.otransid;
    clone->origin.ctransid = info.ctransid;
    const struct manifest *known = &clone->spare.manifest;
    if (!since || !known->header || known->header->identity != since->identity ||
        memcmp(since->uuid, clone->origin.uuid, sizeof since->uuid) != 0 || since->transid >= info.otransid ||
        !is_same_filesystem(clone->frozen, known_path)) {
        return;
    }
    struct inodes inodes = {0};
    bool unchanged = since->ctransid == info.ctransid && clone->generation == since->transid;
    if (unchanged || changed_inodes(clone->frozen, since->transid, &inodes) == 0) {
        clone->marks = must_alloc(known->header->count);
        memset(clone->marks, 0, known->header->count);
        if (inodes.count == 0 || manifest_is_sound(known)) {
            change_marks(clone, &inodes);
        } else {
            clone_forget_known(clone);
        }
    }
    free(inodes.list);
}

bool origin_take_all(struct clone *clone, const struct origin *since, const char *path) {
    if (!clone->marks || clone->marks[0] != 0) {
        return false;
    }
    char *known = must_format("/proc/self/fd/%d", clone->known);
    bool taken = FS(linkat(AT_FDCWD, known, AT_FDCWD, path, AT_SYMLINK_FOLLOW)) == 0;
    free(known);
    if (taken) {
        const struct manifest_header *header = clone->spare.manifest.header;
        struct counts *counts = &clone->workers[0].counts;
        counts->files = counts->kept = header->files;
        counts->bytes = header->bytes;
        counts->directories = since->directories;
        counts->links = since->links;
        counts->special = since->special;
        clone->origin.identity = header->identity;
    }
    return taken;
}

/* False while one record could be another's the next time. */
bool origin_is_whole(const struct clone *clone) {
    for (unsigned i = 0; i < 8; i++) {
        const struct counts *counts = &clone->workers[i].counts;
        if (counts->unreadable || counts->vanished || counts->unseen) {
            return false;
        }
    }
    return clone->origin.transid != 0 && clone->origin.identity != 0;
}
