/* A spare: an earlier clone, whose files are moved into a new one instead of being made again. What is moved must be what a
 * copy would be now; what is not moved is left, and goes with the spare. */
#include "clone.h"
#include "fault.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* ctime tells of every change to content, mode, attributes and links. A file that changed when the spare was already being
 * made may have changed twice within one tick of the clock: it is not trusted. */
static bool is_unchanged(const struct manifest *manifest, const struct manifest_entry *was, const struct stat *now) {
    return was->type == TYPE_FILE && !(was->flags & (ENTRY_ABSENT | ENTRY_UNREADABLE | ENTRY_LINKED)) &&
           now->st_nlink == 1 && was->host_ino == now->st_ino && was->host_dev == now->st_dev &&
           was->host_ctime == NANOSECONDS(now->st_ctim) && was->mtime == NANOSECONDS(now->st_mtim) &&
           was->size == (uint64_t)now->st_size && was->mode == (now->st_mode & 07777u) &&
           was->host_ctime < manifest->header->begun && was->pack < SPARE_PACK;
}

static bool is_untouched(int directory, const char *name, const struct manifest_entry *was) {
    struct stat stat;
    return fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(stat.st_mode) &&
           stat.st_ino == was->shadow_ino && (uint64_t)stat.st_size == was->size &&
           NANOSECONDS(stat.st_ctim) == was->shadow_ctime;
}

bool clone_take_spare(struct clone *clone, struct worker *worker, struct node *node, struct built *entry,
                      const struct stat *stat, int from, int to) {
    const struct manifest *manifest = &clone->spare.manifest;
    uint32_t index = manifest_child(manifest, node->spare, entry->name);
    if (index == NO_ENTRY) {
        return false;
    }
    const struct manifest_entry *was = &manifest->entries[index];
    if (!is_unchanged(manifest, was, stat) || !is_untouched(from, entry->name, was) ||
        FS(renameat(from, entry->name, to, entry->name)) != 0) {
        return false;
    }
    struct manifest_entry record = *was;
    record.pack = (uint16_t)(record.pack + SPARE_PACK);
    if (clone_stat_shadow(worker, to, entry->name, &record) != 0) {
        unlinkat(to, entry->name, 0); /* it is copied then */
        return false;
    }
    entry->record = record;
    worker->counts.files++;
    worker->counts.bytes += record.size;
    worker->counts.kept++;
    return true;
}
