/* The walk: a directory is one piece of work; its entries are made in order of name, its subdirectories become pieces. */
#include "clone.h"
#include "suspect.h"
#include "fault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

char *clone_path(const struct node *node, const char *name) {
    size_t length = name ? strlen(name) : 0;
    for (const struct node *at = node; at && at->parent; at = at->parent) {
        length += strlen(at->name) + (length > 0);
    }
    char *path = must_alloc(length + 1);
    size_t end = length;
    path[end] = 0;
    if (name) {
        end -= strlen(name);
        memcpy(path + end, name, strlen(name));
    }
    for (const struct node *at = node; at && at->parent; at = at->parent) {
        if (end < length) {
            path[--end] = '/';
        }
        end -= strlen(at->name);
        memcpy(path + end, at->name, strlen(at->name));
    }
    return path;
}

enum outcome clone_fail(struct clone *clone, const struct node *node, const char *name, const char *step) {
    int error = errno;
    pthread_mutex_lock(&clone->mutex);
    if (!clone->failed) {
        clone->failed = true;
        clone->failed_errno = error;
        clone->failed_step = step;
        clone->failed_path = clone_path(node, name);
    }
    pthread_mutex_unlock(&clone->mutex);
    atomic_store(&clone->stop, true);
    return FATAL;
}

void clone_unreadable(struct clone *clone, const struct node *node, const char *name, int error) {
    char *path = clone_path(node, name);
    pthread_mutex_lock(&clone->mutex);
    if (clone->unreadable_told++ < 100) {
        json_open(&clone->unreadable, '{');
        json_key(&clone->unreadable, "path");
        json_string(&clone->unreadable, path);
        json_key(&clone->unreadable, "reason");
        json_string(&clone->unreadable, strerror(error));
        json_close(&clone->unreadable, '}');
    }
    pthread_mutex_unlock(&clone->mutex);
    free(path);
}

static bool is_mount(const struct clone *clone, const struct node *node, const char *name) {
    if (clone->mount_count == 0) {
        return false;
    }
    char *path = clone_path(node, name);
    bool found = false;
    for (size_t i = 0; i < clone->mount_count && !found; i++) {
        found = strcmp(clone->mounts[i], path) == 0;
    }
    free(path);
    return found;
}

static enum outcome clone_link(struct clone *clone, struct worker *worker, struct node *node, struct built *entry,
                               int source, int shadow, const struct stat *stat) {
    size_t room = stat->st_size > 0 ? (size_t)stat->st_size + 1 : 4096;
    char *target = must_alloc(room + 1);
    ssize_t length = FS(readlinkat(source, entry->name, target, room));
    if (length < 0) {
        free(target);
        return errno == ENOENT || errno == EINVAL ? VANISHED : UNREADABLE;
    }
    target[length] = 0;
    entry->target = target;
    entry->record.size = (uint64_t)length;
    if (clone->shadow < 0) {
        worker->counts.links++;
        return CLONED;
    }
    struct timespec times[2] = {stat->st_atim, stat->st_mtim};
    if (FS(symlinkat(target, shadow, entry->name)) != 0) {
        return clone_fail(clone, node, entry->name, "create-link");
    }
    if (FS(utimensat(shadow, entry->name, times, AT_SYMLINK_NOFOLLOW)) != 0 ||
        clone_stat_shadow(worker, shadow, entry->name, &entry->record) != 0) {
        return clone_fail(clone, node, entry->name, "set-times");
    }
    worker->counts.links++;
    return CLONED;
}

bool clone_in_objects(const struct node *node) {
    bool store = false;
    for (const struct node *at = node; at->parent; at = at->parent) {
        store = store || strcmp(at->name, "objects") == 0 || strcmp(at->name, "lfs") == 0;
        if (store && strcmp(at->name, ".git") == 0) {
            return true;
        }
    }
    return false;
}

bool clone_in_vendored(const struct node *node) {
    static const char *const names[] = {"node_modules", ".venv", "venv", "site-packages", "vendor", "target"};
    for (const struct node *at = node; at->parent; at = at->parent) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            if (strcmp(at->name, names[i]) == 0) {
                return true;
            }
        }
    }
    return false;
}

static enum outcome clone_directory_entry(struct clone *clone, struct node *node, struct built *entry, int shadow,
                                          const struct stat *stat) {
    if (clone->shadow >= 0 && FS(mkdirat(shadow, entry->name, 0700)) != 0) {
        return clone_fail(clone, node, entry->name, "create-directory");
    }
    struct node *child = must_alloc(sizeof *child);
    *child = (struct node){
        .parent = node, .name = entry->name, .own = entry, .mode = stat->st_mode & 07777, .spare = NO_ENTRY};
    if (node->spare != NO_ENTRY) {
        child->spare = manifest_child(&clone->spare.manifest, node->spare, entry->name);
    }
    child->times[0] = stat->st_atim;
    child->times[1] = stat->st_mtim;
    entry->child = child;
    child->known = clone->shadow < 0 && clone_list_is_known(clone, child, &entry->record);
    if (is_mount(clone, node, entry->name)) {
        entry->record.flags |= ENTRY_MOUNT;
        child->mount = true;
    }
    pool_push(&clone->pool, child);
    return CLONED;
}

struct place {
    struct clone *clone;
    struct worker *worker;
    struct node *node;
    int source, shadow;
    int spare; /* -1: nothing of the spare is here */
    bool save;
    bool look; /* of a tree that is only listed: contents are looked at for secrets */
    bool whole; /* every entry was found */
};

static enum outcome clone_regular(struct place *at, struct built *entry, const struct stat *stat) {
    struct hard_link *first = NULL;
    entry->record.type = TYPE_FILE;
    if (stat->st_nlink > 1 && clone_is_late_link(at->clone, at->node, entry, stat, &first)) {
        entry->record.flags |= ENTRY_LINKED | (suspect_name(entry->name) ? ENTRY_SUSPECT : 0);
        return CLONED;
    }
    if (at->spare >= 0 && clone_take_spare(at->clone, at->worker, at->node, entry, stat, at->spare, at->shadow)) {
        return CLONED;
    }
    enum outcome outcome =
        clone_file(at->clone, at->worker, at->node, entry, at->source, at->shadow, at->save);
    if (first) {
        pthread_mutex_lock(&at->clone->mutex);
        first->ready = outcome == CLONED;
        pthread_mutex_unlock(&at->clone->mutex);
    }
    return outcome;
}

static enum outcome clone_entry(struct place *at, struct built *entry) {
    struct stat stat;
    struct manifest_entry *record = &entry->record;
    if (FS(fstatat(at->source, entry->name, &stat, AT_SYMLINK_NOFOLLOW)) != 0) {
        return errno == ENOENT ? VANISHED : UNREADABLE;
    }
    record->mode = stat.st_mode & 07777;
    record->mtime = NANOSECONDS(stat.st_mtim);
    record->host_ino = stat.st_ino;
    record->host_dev = stat.st_dev;
    record->host_ctime = NANOSECONDS(stat.st_ctim);
    switch (stat.st_mode & S_IFMT) {
    case S_IFREG:
        return clone_regular(at, entry, &stat);
    case S_IFDIR:
        record->type = TYPE_DIRECTORY;
        return clone_directory_entry(at->clone, at->node, entry, at->shadow, &stat);
    case S_IFLNK:
        record->type = TYPE_LINK;
        return clone_link(at->clone, at->worker, at->node, entry, at->source, at->shadow, &stat);
    default:
        record->type = TYPE_OTHER;
        record->flags |= ENTRY_ABSENT;
        at->worker->counts.special++;
        return CLONED;
    }
}

/* The same of a tree that is only listed: one question a file. */
static enum outcome list_entry(struct place *at, struct built *entry) {
    struct statx stat;
    struct manifest_entry *record = &entry->record;
    if (FS(statx(at->source, entry->name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &stat)) != 0) {
        return errno == ENOENT ? VANISHED : UNREADABLE;
    }
    if (!S_ISREG(stat.stx_mode)) {
        return clone_entry(at, entry);
    }
    record->type = TYPE_FILE;
    record->mode = stat.stx_mode & 07777;
    record->mtime = NANOSECONDS(stat.stx_mtime);
    record->host_ino = stat.stx_ino;
    record->host_dev = makedev(stat.stx_dev_major, stat.stx_dev_minor);
    record->host_ctime = NANOSECONDS(stat.stx_ctime);
    return clone_list_file(at->clone, at->worker, at->node, entry, at->source, &stat, at->look);
}

/* Counts an entry of a directory in, or leaves it out. False when the run is over. */
static bool settle_entry(struct place *at, struct built *entry, enum outcome outcome) {
    struct node *node = at->node;
    switch (outcome) {
    case CLONED:
        node->count++;
        return true;
    case UNREADABLE:
        clone_unreadable(at->clone, node, entry->name, errno);
        at->worker->counts.unreadable++;
        entry->record.type = entry->record.type ? entry->record.type : TYPE_OTHER;
        entry->record.flags = ENTRY_ABSENT | ENTRY_UNREADABLE;
        node->count++;
        at->whole = false;
        return true;
    case VANISHED:
        at->worker->counts.vanished++;
        *entry = (struct built){0};
        at->whole = false;
        return true;
    case FATAL: break;
    }
    return false;
}

static bool make_entries(struct place *at, size_t count) {
    at->node->entries = calloc(count ? count : 1, sizeof *at->node->entries);
    if (!at->node->entries) {
        errno = ENOMEM;
        clone_fail(at->clone, at->node, NULL, "memory");
        return false;
    }
    return true;
}

static void clone_entries(struct place *at, const struct listing *listing) {
    struct node *node = at->node;
    if (!make_entries(at, listing->count)) {
        return;
    }
    for (size_t i = 0; i < listing->count && !atomic_load(&at->clone->stop); i++) {
        struct built *entry = &node->entries[node->count];
        entry->name = listing->items[i].name;
        if (!settle_entry(at, entry, at->clone->shadow < 0 ? list_entry(at, entry) : clone_entry(at, entry))) {
            return;
        }
    }
}

/* The entries that an earlier listing found in this directory. */
static void list_known_entries(struct place *at) {
    struct node *node = at->node;
    const struct manifest *known = &at->clone->spare.manifest;
    const struct manifest_entry *first = &known->entries[known->entries[node->spare].first_child];
    uint32_t count = known->entries[node->spare].child_count;
    size_t room = 1;
    for (uint32_t i = 0; i < count; i++) {
        room += first[i].name_length + 1;
    }
    char *name = node->names = must_alloc(room);
    if (!make_entries(at, count)) {
        return;
    }
    for (uint32_t i = 0; i < count && !atomic_load(&at->clone->stop); i++) {
        struct built *entry = &node->entries[node->count];
        memcpy(name, known->names + first[i].name_offset, first[i].name_length);
        name[first[i].name_length] = 0;
        entry->name = name;
        name += first[i].name_length + 1;
        bool taken = clone_list_known(at->clone, at->worker, &first[i], entry);
        if (!settle_entry(at, entry, taken ? CLONED : list_entry(at, entry))) {
            return;
        }
    }
}

/* proc, sysfs, cgroup and their kind, mounted somewhere in the tree: not files to work on. */
static bool is_pseudo(int fd) {
    static const long kinds[] = {0x9fa0, 0x62656572, 0x27e0eb, 0x63677270, 0x1cd1, 0x64626720, 0x74726163,
                                 0xcafe4a11, 0x73636673, 0x6165676c, 0x42494e4d, 0x19800202, 0x6e736673};
    struct statfs stat;
    for (size_t i = 0; fstatfs(fd, &stat) == 0 && i < sizeof kinds / sizeof *kinds; i++) {
        if (stat.f_type == kinds[i]) {
            return true;
        }
    }
    return false;
}

/* Mode and times go last; a mode that would keep us out waits until all threads are done. */
static int finish_directory(struct clone *clone, struct node *node, int shadow) {
    if ((node->mode & 0700) != 0700) {
        pthread_mutex_lock(&clone->mutex);
        node->late = true;
        node->next = clone->late_nodes;
        clone->late_nodes = node;
        pthread_mutex_unlock(&clone->mutex);
        return 0;
    }
    return FS(fchmod(shadow, node->mode)) == 0 && FS(futimens(shadow, node->times)) == 0 ? 0 : -1;
}

static bool skip_directory(struct clone *clone, struct node *node, int source) {
    struct stat stat;
    if (node->mount) {
        return true;
    }
    return fstat(source, &stat) == 0 && stat.st_dev != clone->root_device && is_pseudo(source);
}

static void work(void *context, unsigned thread, void *piece) {
    struct clone *clone = context;
    struct node *node = piece;
    struct place at = {.clone = clone, .worker = &clone->workers[thread], .node = node, .spare = -1, .save = !clone_in_objects(node)};
    at.whole = true;
    at.look = at.save && !clone_in_vendored(node);
    char *path = clone_path(node, NULL);
    at.source = FS(open_beneath(clone->source, path, O_RDONLY | O_DIRECTORY));
    int source_error = errno;
    bool listing_only = clone->shadow < 0;
    at.shadow = listing_only ? -1 : FS(open_beneath(clone->shadow, path, O_RDONLY | O_DIRECTORY));
    if ((!listing_only && at.shadow < 0) || (at.source < 0 && (source_error == EMFILE || source_error == ENFILE))) {
        errno = !listing_only && at.shadow < 0 ? errno : source_error;
        clone_fail(clone, node, NULL, "open-directory");
    } else {
        struct listing listing = {0};
        if (at.source >= 0 && node->known) {
            list_known_entries(&at);
        } else if (at.source < 0 || (!skip_directory(clone, node, at.source) && FS(list_directory(at.source, &listing)) != 0)) {
            errno = at.source < 0 ? source_error : errno;
            if (!node->parent) {
                clone_fail(clone, node, NULL, "open-directory"); /* without its top there is no fork */
            } else {
                clone_unreadable(clone, node, NULL, errno);
                at.worker->counts.unreadable++;
                at.whole = false;
            }
        } else if (!listing_only) {
            clone_xattrs(at.worker, at.source, at.shadow);
        }
        if (!listing_only && node->spare != NO_ENTRY) {
            at.spare = open_beneath(clone->spare.root, path, O_RDONLY | O_DIRECTORY);
        }
        if (!node->entries) {
            clone_entries(&at, &listing);
            node->names = listing.names;
            listing.names = NULL;
        }
        listing_free(&listing);
        at.worker->counts.directories++;
        if (node->own) {
            node->own->record.looked = at.whole && !node->mount ? LOOKED : NOT_LOOKED;
        }
        if (!listing_only && finish_directory(clone, node, at.shadow) != 0) {
            clone_fail(clone, node, NULL, "set-mode");
        }
    }
    if (at.source >= 0) {
        close(at.source);
    }
    if (at.shadow >= 0) {
        close(at.shadow);
    }
    if (at.spare >= 0) {
        close(at.spare);
    }
    free(path);
}

bool clone_tree(struct clone *clone, unsigned threads) {
    clone->pool = (struct pool){.mutex = PTHREAD_MUTEX_INITIALIZER,
                                .changed = PTHREAD_COND_INITIALIZER,
                                .stop = &clone->stop,
                                .work = work,
                                .context = clone};
    pool_push(&clone->pool, clone->root);
    pool_run(&clone->pool, threads);
    if (!clone->failed && !atomic_load(&clone->stop)) {
        clone_finish_late(clone);
    }
    return !clone->failed && !atomic_load(&clone->stop);
}
