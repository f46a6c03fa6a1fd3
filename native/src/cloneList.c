/* Trees that are only listed, and are their own shadow; what an earlier listing has found is not asked for again as far as
 * it is certain.
 *
 * Of a snapshot it is the snapshot that is listed, but its inodes are not in memory yet, and reading them is what takes the
 * time. So the live tree is walked, after the snapshot was made: an inode of it whose ctime is older than our beginning is
 * the snapshot's, by its number, and so is the content that was read while its ctime stayed so. (Making a snapshot writes
 * out what is dirty; a later store to a mapped page gets a later ctime.) A directory has the snapshot's names when that is
 * so of it before and after its entries were asked. Anything else is looked at in the snapshot. */
#include "clone.h"
#include "fault.h"
#include "suspect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* ctime tells of every change to content and attributes, but two changes within one tick of the clock, and stores to a
 * page of a mapped file that is dirty already: what changed in the minute before it was read is read again. */
enum { SETTLED_SECONDS = 60 };

int64_t clone_settled_before(const struct clone *clone) {
    return clone->spare.manifest.header->begun - SETTLED_SECONDS * 1000000000ll;
}

void clone_forget_known(struct clone *clone) {
    free(clone->marks);
    clone->marks = NULL;
    clone->root->spare = NO_ENTRY;
}

static bool is_settled(const struct clone *clone, const struct manifest_entry *was, const struct manifest_entry *now) {
    return was->looked == LOOKED && was->type == now->type && was->host_ino == now->host_ino &&
           (clone->any_device || was->host_dev == now->host_dev) && was->host_ctime == now->host_ctime &&
           was->mtime == now->mtime &&
           was->host_ctime < clone_settled_before(clone);
}

/* An error that keeps others out too, or says that there is nothing. After any other one nothing is known. */
static bool is_lasting(int error) {
    return error == EACCES || error == EPERM || error == ENOENT || error == ENOTDIR || error == ELOOP ||
           error == EOVERFLOW;
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
    if (was && node->same && was->type == TYPE_FILE && was->looked == LOOKED && was->host_ino == now->host_ino &&
        !clone->marks[index]) {
        return was; /* and whatever its times are */
    }
    return was && was->size == now->size && is_settled(clone, was, now) ? was : NULL;
}

/* What cannot be looked into now, but could be another time, must be looked at before anybody sees it. */
static void look_inside(struct worker *worker, struct manifest_entry *record, int directory, const char *name) {
    int fd = FS(openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOATIME));
    if (fd < 0 && errno == EPERM) {
        fd = FS(openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)); /* somebody else's */
    }
    ssize_t got = fd < 0 ? -1 : FS(pread(fd, worker->buffer, CLONE_BUFFER, 0));
    bool whole = got >= 0 && (uint64_t)got == record->size;
    if (got >= 0 ? !whole || suspect_bytes(worker->buffer, (size_t)got) : !is_lasting(errno)) {
        record->flags |= ENTRY_SUSPECT;
    }
    record->looked = whole ? LOOKED : NOT_LOOKED;
    worker->counts.unseen += !whole;
    if (fd >= 0) {
        close(fd);
    }
}

/* True when its content was read. */
static bool look_at_file(struct place *at, struct built *entry, int directory, const struct statx *stat) {
    struct manifest_entry *record = &entry->record;
    struct counts *counts = &at->worker->counts;
    *record = (struct manifest_entry){
        .type = TYPE_FILE,
        .flags = suspect_name(at->node->name, entry->name) ? ENTRY_SUSPECT : 0,
        .mode = stat->stx_mode & 07777,
        .size = stat->stx_size,
        .mtime = NANOSECONDS(stat->stx_mtime),
        .host_ino = stat->stx_ino,
        .host_dev = makedev(stat->stx_dev_major, stat->stx_dev_minor),
        .host_ctime = NANOSECONDS(stat->stx_ctime),
        .shadow_ino = stat->stx_ino,
        .shadow_ctime = NANOSECONDS(stat->stx_ctime),
        .shadow_btime = stat->stx_mask & STATX_BTIME ? NANOSECONDS(stat->stx_btime) : 0,
    };
    if (!at->look || record->flags & ENTRY_SUSPECT || record->size == 0 || record->size > CLONE_BUFFER) {
        return false;
    }
    const struct manifest_entry *known = known_file(at->clone, at->node, entry->name, record);
    if (known) {
        record->flags |= known->flags & ENTRY_SUSPECT;
        record->looked = LOOKED;
        counts->kept++;
        return false;
    }
    look_inside(at->worker, record, directory, entry->name);
    return true;
}

/* True when its content was read. Of a listing only secrets are marked as linked: whoever hides one looks for its other names. */
static bool list_file(struct place *at, struct built *entry, int directory, const struct statx *stat) {
    bool read = look_at_file(at, entry, directory, stat);
    bool is_linked = entry->record.flags & ENTRY_SUSPECT && stat->stx_nlink > 1;
    entry->record.flags |= is_linked ? ENTRY_LINKED : 0;
    return read;
}

static bool ask(int directory, const char *name, struct statx *stat) {
    return FS(statx(directory, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, stat)) == 0;
}

/* Whether an entry of the live tree is the frozen one. A subvolume inside is not: snapshots have an empty directory there. */
static bool is_still(const struct clone *clone, const struct statx *stat) {
    return clone_is_at_rest(clone, NANOSECONDS(stat->stx_ctime)) &&
           makedev(stat->stx_dev_major, stat->stx_dev_minor) == clone->root_device;
}

/* -1 with errno. */
static int frozen_directory(struct place *at) {
    if (at->frozen < 0) {
        char *path = clone_path(at->node, NULL);
        at->frozen = FS(open_beneath(at->clone->frozen, path, O_RDONLY | O_DIRECTORY));
        free(path);
    }
    return at->frozen;
}

/* One question a file. */
static enum outcome look_at(struct place *at, struct built *entry, int directory, bool *still) {
    struct statx stat;
    bool live = directory == at->source && at->clone->frozen >= 0 && !at->node->frozen;
    *still = true;
    if (directory < 0 || !ask(directory, entry->name, &stat)) {
        *still = !live;
        return errno == ENOENT ? VANISHED
               : is_lasting(errno) ? UNREADABLE
                                   : clone_fail(at->clone, at->node, entry->name, "look-at-file");
    }
    if (live && !is_still(at->clone, &stat)) {
        *still = false;
        return VANISHED;
    }
    if (!S_ISREG(stat.stx_mode)) {
        const struct stat other = {.st_mode = stat.stx_mode,
                                   .st_size = (off_t)stat.stx_size,
                                   .st_ino = stat.stx_ino,
                                   .st_dev = makedev(stat.stx_dev_major, stat.stx_dev_minor),
                                   .st_mtim = {stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec},
                                   .st_ctim = {stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec}};
        return clone_other(at, entry, directory, &other);
    }
    if (list_file(at, entry, directory, &stat) && live) {
        struct statx after; /* what was read is what is frozen only if nobody has written meanwhile */
        *still = ask(directory, entry->name, &after) && is_still(at->clone, &after) && after.stx_ino == stat.stx_ino;
    }
    return CLONED;
}

enum outcome clone_list_entry(struct place *at, struct built *entry) {
    bool still;
    enum outcome outcome = look_at(at, entry, at->source, &still);
    if (!still && outcome != FATAL) {
        outcome = look_at(at, entry, frozen_directory(at), &still);
    }
    if (outcome == CLONED && entry->record.type == TYPE_FILE) {
        at->worker->counts.files++;
        at->worker->counts.bytes += entry->record.size;
    }
    return outcome;
}

/* Whether a directory of the live tree is the frozen one, with the same entries. */
static bool is_still_directory(const struct clone *clone, const struct node *node, int directory) {
    struct stat stat;
    return fstat(directory, &stat) == 0 && stat.st_dev == clone->root_device &&
           clone_is_at_rest(clone, NANOSECONDS(stat.st_ctim)) &&
           (!node->own || stat.st_ino == node->own->record.host_ino);
}

/* Having been read is a change too, where the filesystem tells of changes. -1 with errno. */
static int open_names(int root, const char *path) {
    int fd = FS(open_beneath(root, path, O_RDONLY | O_DIRECTORY | O_NOATIME));
    return fd < 0 && errno == EPERM ? FS(open_beneath(root, path, O_RDONLY | O_DIRECTORY)) : fd;
}

/* -1 with errno. */
static int open_listed(struct place *at) {
    struct clone *clone = at->clone;
    const char *path = at->path;
    if (clone->frozen >= 0 && !at->node->frozen) {
        int live = open_names(clone->source, path);
        if (live >= 0 && is_still_directory(clone, at->node, live)) {
            return live;
        }
        if (live >= 0) {
            close(live);
        }
        at->node->frozen = true;
    }
    return open_names(at->node->frozen ? clone->frozen : clone->source, path);
}

/* Whether a directory has the entries that an earlier listing found. */
static bool is_known(const struct clone *clone, const struct node *node) {
    if (clone->marks) {
        return node->same && !(clone->marks[node->spare] & MARK_CHANGED);
    }
    return node->own && node->spare != NO_ENTRY && !clone->any_device && clone_in_vendored(node) &&
           is_settled(clone, &clone->spare.manifest.entries[node->spare], &node->own->record);
}

/* Whether an entry that an earlier listing found has to be looked at itself: it has entries of its own, or it is read and its
 * size must be right. */
static bool is_looked_at(const struct clone *clone, const struct manifest_entry *was) {
    if (clone->marks) {
        return clone->marks[was - clone->spare.manifest.entries] != 0;
    }
    return was->type == TYPE_DIRECTORY || was->flags & ENTRY_SUSPECT;
}

/* Fills an entry from an earlier listing. */
static void take_known(struct place *at, const struct manifest_entry *was, struct built *entry) {
    struct clone *clone = at->clone;
    entry->record = *was;
    if (was->type == TYPE_DIRECTORY) {
        struct node *child = entry->child = must_alloc(sizeof *child);
        *child = (struct node){.parent = at->node,
                               .name = entry->name,
                               .own = entry,
                               .spare = (uint32_t)(was - clone->spare.manifest.entries),
                               .mode = was->mode};
        clone_know_directory(clone, child);
    }
    if (was->type == TYPE_FILE) {
        entry->record.looked = clone->marks ? was->looked : LOOKED_EARLIER;
    } else if (was->type == TYPE_LINK) {
        entry->target = (char *)(uintptr_t)(at->clone->spare.manifest.names + was->pack_offset);
    }
}

void clone_count_known(struct counts *counts, const struct manifest_entry *was) {
    if (was->type == TYPE_FILE) {
        counts->files++;
        counts->bytes += was->size;
        counts->kept++;
    } else if (was->type == TYPE_LINK) {
        counts->links++;
    } else if (was->type != TYPE_DIRECTORY) { /* which counts when its own entries do */
        counts->special++;
    }
}

void clone_know_directory(struct clone *clone, struct node *node) {
    if (!clone->marks || node->spare == NO_ENTRY) {
        return;
    }
    const struct manifest_entry *was = &clone->spare.manifest.entries[node->spare];
    node->same = was->type == TYPE_DIRECTORY && (!node->own || node->own->record.host_ino == was->host_ino);
    if (node->same && clone->marks[node->spare] == 0) {
        node->known = true;
        node->count = was->child_count;
        if (node->own) {
            node->own->record.looked = LOOKED;
        }
    }
}

/* The entries that an earlier listing found in this directory. False with errno when it cannot be opened; that is done only
 * where an entry has to be looked at. */
static bool list_known_entries(struct place *at) {
    struct node *node = at->node;
    const struct manifest *known = &at->clone->spare.manifest;
    const struct manifest_entry *first = &known->entries[known->entries[node->spare].first_child];
    uint32_t count = known->entries[node->spare].child_count;
    size_t room = 1;
    node->known = true;
    for (uint32_t i = 0; i < count; i++) {
        room += first[i].name_length + 1;
        node->known = node->known && !is_looked_at(at->clone, &first[i]);
    }
    if (node->known) {
        for (uint32_t i = 0; i < count; i++) {
            clone_count_known(&at->worker->counts, &first[i]);
        }
        node->count = count;
        return true;
    }
    at->source = open_listed(at);
    if (at->source < 0) {
        return false;
    }
    char *name = node->names = must_alloc(room);
    if (!clone_make_entries(at, count)) {
        return true;
    }
    for (uint32_t i = 0; i < count && !atomic_load(&at->clone->stop); i++) {
        struct built *entry = &node->entries[node->count];
        bool looked_at = is_looked_at(at->clone, &first[i]);
        memcpy(name, known->names + first[i].name_offset, first[i].name_length);
        name[first[i].name_length] = 0;
        entry->name = name;
        name += first[i].name_length + 1;
        if (!looked_at) {
            take_known(at, &first[i], entry);
            clone_count_known(&at->worker->counts, &first[i]);
        }
        if (!clone_settle_entry(at, entry, looked_at ? clone_list_entry(at, entry) : CLONED)) {
            break;
        }
    }
    return true;
}

/* False with errno when the names cannot be listed. */
static bool list_entries(struct place *at) {
    struct listing listing = {0};
    if (is_known(at->clone, at->node)) {
        return list_known_entries(at);
    }
    at->source = open_listed(at);
    if (at->source < 0) {
        return false;
    }
    if (!clone_skips_directory(at->clone, at->node, at->source) && FS(list_directory(at->source, &listing)) != 0) {
        return false;
    }
    clone_entries(at, &listing);
    listing_free(&listing);
    return true;
}

/* A directory that only its owner's mode shuts is left out: the agent does not get in either. */
static void leave_out(struct place *at) {
    if (!at->node->parent || !is_lasting(errno)) {
        clone_fail(at->clone, at->node, NULL, "open-directory");
        return;
    }
    clone_unreadable(at->clone, at->node, NULL, errno);
    at->worker->counts.unreadable++;
    at->whole = false;
}

static void forget_entries(struct node *node) {
    for (uint32_t i = 0; i < node->count; i++) {
        free(node->entries[i].target);
        free(node->entries[i].child);
    }
    free(node->entries);
    free(node->names);
    node->entries = NULL;
    node->names = NULL;
    node->count = 0;
}

void clone_list_directory(struct place *at) {
    struct clone *clone = at->clone;
    struct node *node = at->node;
    const struct counts before = at->worker->counts;
    at->look = at->save && !clone_in_vendored(node);
    at->whole = true;
    bool listed = list_entries(at);
    if (listed && clone->frozen >= 0 && !node->frozen && !is_still_directory(clone, node, at->source)) {
        forget_entries(node); /* somebody was at it just now */
        at->worker->counts = before;
        at->whole = true;
        node->frozen = true;
        close(at->source);
        listed = list_entries(at);
    }
    if (!listed) {
        leave_out(at);
    }
    for (uint32_t i = 0; clone->frozen >= 0 && i < node->count; i++) {
        if (node->entries[i].child && !node->entries[i].child->known) {
            pool_push(&clone->pool, node->entries[i].child);
        }
    }
    at->worker->counts.directories++;
    if (node->own) {
        node->own->record.looked = at->whole && !node->mount ? LOOKED : NOT_LOOKED;
    }
}
