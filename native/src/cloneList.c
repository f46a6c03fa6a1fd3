/* Entries that are only listed, of a tree that is its own shadow; what an earlier listing has found is not asked for again
 * as far as it is certain. */
#include "clone.h"
#include "suspect.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ctime tells of every change to content and attributes, but two changes within one tick of the clock, and stores to a
 * page of a mapped file that is dirty already: what changed in the minute before it was read is read again. */
enum { SETTLED_SECONDS = 60 };

static bool is_settled(const struct clone *clone, const struct manifest_entry *was, const struct manifest_entry *now) {
    return was->looked == LOOKED && was->type == now->type && was->host_ino == now->host_ino &&
           (clone->any_device || was->host_dev == now->host_dev) && was->host_ctime == now->host_ctime &&
           was->mtime == now->mtime &&
           was->host_ctime < clone->spare.manifest.header->begun - SETTLED_SECONDS * 1000000000ll;
}

/* What an earlier listing has read and found of a file that is still the same; NULL when it has to be read. */
static const struct manifest_entry *known_file(const struct clone *clone, const struct node *node, const char *name,
                                               const struct manifest_entry *now) {
    if (node->spare == NO_ENTRY) {
        return NULL;
    }
    const struct manifest *manifest = &clone->spare.manifest;
    uint32_t index = manifest_child(manifest, node->spare, name);
    const struct manifest_entry *was = index == NO_ENTRY ? NULL : &manifest->entries[index];
    return was && was->size == now->size && is_settled(clone, was, now) ? was : NULL;
}

static void look_inside(struct worker *worker, struct manifest_entry *record, int directory, const char *name) {
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : pread(fd, worker->buffer, CLONE_BUFFER, 0);
    if (got > 0 && suspect_bytes(worker->buffer, (size_t)got)) {
        record->flags |= ENTRY_SUSPECT;
    }
    record->looked = got >= 0 && (uint64_t)got == record->size ? LOOKED : NOT_LOOKED;
    if (fd >= 0) {
        close(fd);
    }
}

enum outcome clone_list_file(struct clone *clone, struct worker *worker, struct node *node, struct built *entry,
                             int directory, const struct statx *stat, bool look) {
    struct manifest_entry *record = &entry->record;
    record->size = stat->stx_size;
    record->flags |= suspect_name(entry->name) ? ENTRY_SUSPECT : 0;
    record->shadow_ino = stat->stx_ino;
    record->shadow_ctime = NANOSECONDS(stat->stx_ctime);
    record->shadow_btime = stat->stx_mask & STATX_BTIME ? NANOSECONDS(stat->stx_btime) : 0;
    worker->counts.files++;
    worker->counts.bytes += record->size;
    if (look && !(record->flags & ENTRY_SUSPECT) && record->size > 0 && record->size <= CLONE_BUFFER) {
        const struct manifest_entry *known = known_file(clone, node, entry->name, record);
        if (known) {
            record->flags |= known->flags & ENTRY_SUSPECT;
            record->looked = LOOKED;
            worker->counts.kept++;
        } else {
            look_inside(worker, record, directory, entry->name);
        }
    }
    return CLONED;
}

bool clone_list_is_known(const struct clone *clone, const struct node *node, const struct manifest_entry *now) {
    return node->spare != NO_ENTRY && !clone->any_device && clone_in_vendored(node) &&
           is_settled(clone, &clone->spare.manifest.entries[node->spare], now);
}

bool clone_list_known(const struct clone *clone, struct worker *worker, const struct manifest_entry *was,
                      struct built *entry) {
    if (was->type == TYPE_DIRECTORY || was->flags & ENTRY_SUSPECT) {
        return false; /* it has entries of its own; it is read, and its size must be right */
    }
    entry->record = *was;
    if (was->type == TYPE_FILE) {
        entry->record.looked = LOOKED_EARLIER;
        worker->counts.files++;
        worker->counts.bytes += was->size;
        worker->counts.kept++;
    } else if (was->type == TYPE_LINK) {
        entry->target = (char *)(uintptr_t)(clone->spare.manifest.names + was->pack_offset);
        worker->counts.links++;
    } else {
        worker->counts.special++;
    }
    return true;
}
