/*
 * A spare: an earlier clone of the same tree, which becomes the new one. It is renamed into the new one's place as a whole; then
 * the walk keeps every file and symbolic link that is what a copy would be now, and removes whatever else stands there before
 * it makes it anew. So what has not changed costs one look on either side.
 *
 * Invariant: when the walk is over, nothing stands in the shadow that it has not kept or made. What cannot be removed ends
 * the run: a stale file may hold what the workspace hides by now.
 */
#include "clone.h"
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ctime tells of every change to content, mode, attributes and links. A file that changed when the spare was already being
 * made may have changed twice within one tick of the clock: it is not trusted. */
static bool is_unchanged(const struct manifest *manifest, const struct manifest_entry *was, const struct stat *now) {
    return was->type == (S_ISREG(now->st_mode) ? TYPE_FILE : TYPE_LINK) &&
           !(was->flags & (ENTRY_ABSENT | ENTRY_UNREADABLE | ENTRY_LINKED)) && now->st_nlink == 1 &&
           was->host_ino == now->st_ino && was->host_dev == now->st_dev &&
           was->host_ctime == NANOSECONDS(now->st_ctim) && was->mtime == NANOSECONDS(now->st_mtim) &&
           was->size == (uint64_t)now->st_size && was->mode == (now->st_mode & 07777u) &&
           was->host_ctime < manifest->header->begun && was->pack < SPARE_PACK;
}

static bool is_untouched(int directory, const char *name, const struct manifest_entry *was, mode_t type) {
    struct stat stat;
    return FS(fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW)) == 0 && (stat.st_mode & S_IFMT) == type &&
           stat.st_ino == was->shadow_ino && (uint64_t)stat.st_size == was->size &&
           NANOSECONDS(stat.st_ctim) == was->shadow_ctime;
}

static const struct manifest_entry *record_of(const struct place *at, const char *name, uint32_t *index) {
    const struct manifest *manifest = &at->clone->spare.manifest;
    *index = at->node->spare == NO_ENTRY ? NO_ENTRY : manifest_child(manifest, at->node->spare, name);
    return *index == NO_ENTRY ? NULL : &manifest->entries[*index];
}

bool clone_becomes_spare(struct clone *clone, const char *spare, const char *to) {
    const struct manifest_entry *root = &clone->spare.manifest.entries[0];
    if ((root->mode & 0700) != 0700 || FS(renameat2(AT_FDCWD, spare, AT_FDCWD, to, RENAME_NOREPLACE)) != 0) {
        return false;
    }
    clone->root->spare = 0;
    return true;
}

bool clone_keep(struct place *at, struct built *entry, const struct stat *stat) {
    uint32_t index;
    const struct manifest_entry *was = record_of(at, entry->name, &index);
    const struct manifest *manifest = &at->clone->spare.manifest;
    if (!was || !(S_ISREG(stat->st_mode) || S_ISLNK(stat->st_mode)) || !is_unchanged(manifest, was, stat) ||
        !is_untouched(at->shadow, entry->name, was, stat->st_mode & S_IFMT)) {
        return false;
    }
    entry->record = *was;
    if (was->type == TYPE_LINK) {
        entry->target = (char *)(uintptr_t)(manifest->names + was->pack_offset); /* only read */
        at->worker->counts.links++;
        return true;
    }
    entry->record.pack = (uint16_t)(was->pack + SPARE_PACK);
    at->worker->counts.files++;
    at->worker->counts.bytes += was->size;
    at->worker->counts.kept++;
    return true;
}

bool clone_clear(struct place *at, const char *name) {
    if (at->node->spare == NO_ENTRY || FS(remove_tree(at->shadow, name)) == 0) {
        return true;
    }
    clone_fail(at->clone, at->node, name, "clear-spare");
    return false;
}

/* A directory whose mode shuts us out is made anew. */
enum outcome clone_make_directory(struct place *at, struct built *entry, uint32_t *spare) {
    const struct manifest_entry *was = record_of(at, entry->name, spare);
    struct stat stat;
    if (was && was->type == TYPE_DIRECTORY && (was->mode & 0700) == 0700 &&
        FS(fstatat(at->shadow, entry->name, &stat, AT_SYMLINK_NOFOLLOW)) == 0 && S_ISDIR(stat.st_mode)) {
        return CLONED;
    }
    *spare = NO_ENTRY;
    if (!clone_clear(at, entry->name)) {
        return FATAL;
    }
    return FS(mkdirat(at->shadow, entry->name, 0700)) == 0
               ? CLONED
               : clone_fail(at->clone, at->node, entry->name, "create-directory");
}

bool clone_tidy_directory(struct place *at, const struct listing *source) {
    struct listing there;
    bool fresh = at->node->spare == NO_ENTRY;
    if (fresh && at->node->parent) {
        return true;
    }
    if (!clone_drop_xattrs(at)) { /* the top has what its place has given it */
        clone_fail(at->clone, at->node, NULL, "clear-spare");
        return false;
    }
    if (fresh) {
        return true;
    }
    if (FS(list_directory(at->shadow, &there)) != 0) {
        clone_fail(at->clone, at->node, NULL, "clear-spare");
        return false;
    }
    bool done = true;
    size_t next = 0;
    for (size_t i = 0; done && i < there.count; i++) {
        int order = -1;
        while (next < source->count && (order = strcmp(source->items[next].name, there.items[i].name)) < 0) {
            next++;
        }
        done = (next < source->count && order == 0) || clone_clear(at, there.items[i].name);
    }
    listing_free(&there);
    return done;
}

bool clone_is_finished(const struct place *at) {
    struct stat stat;
    return at->node->spare != NO_ENTRY && fstat(at->shadow, &stat) == 0 &&
           (stat.st_mode & 07777) == at->node->mode &&
           NANOSECONDS(stat.st_mtim) == NANOSECONDS(at->node->times[1]);
}
