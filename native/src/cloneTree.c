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
#include <unistd.h>

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

static enum outcome clone_directory_entry(struct place *at, struct built *entry, const struct stat *stat) {
    struct clone *clone = at->clone;
    struct node *node = at->node;
    uint32_t spare = NO_ENTRY;
    if (clone->shadow >= 0) {
        if (clone_make_directory(at, entry, &spare) != CLONED) {
            return FATAL;
        }
    } else if (node->spare != NO_ENTRY) {
        spare = manifest_child(&clone->spare.manifest, node->spare, entry->name);
    }
    struct node *child = must_alloc(sizeof *child);
    *child = (struct node){
        .parent = node, .name = entry->name, .own = entry, .mode = stat->st_mode & 07777, .spare = spare};
    child->path_bytes = node->path_bytes + (node->path_bytes > 0) + (uint32_t)strlen(entry->name);
    clone_know_directory(clone, child);
    child->times[0] = stat->st_atim;
    child->times[1] = stat->st_mtim;
    entry->child = child;
    if (is_mount(clone, node, entry->name)) {
        entry->record.flags |= ENTRY_MOUNT;
        child->mount = true;
    }
    if (clone->frozen < 0) {
        pool_push(&clone->pool, child);
    }
    return CLONED;
}

static enum outcome clone_regular(struct place *at, struct built *entry, const struct stat *stat) {
    struct hard_link *first = NULL;
    entry->record.type = TYPE_FILE;
    if (stat->st_nlink > 1 && clone_is_late_link(at->clone, at->node, entry, stat, &first)) {
        entry->record.flags |= ENTRY_LINKED | (suspect_name(at->node->name, entry->name) ? ENTRY_SUSPECT : 0);
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

enum outcome clone_other(struct place *at, struct built *entry, int source, const struct stat *stat) {
    struct manifest_entry *record = &entry->record;
    clone_fill_record(record, stat);
    if (at->clone->shadow < 0) {
        record->shadow_ino = record->host_ino; /* what is listed is its own shadow */
        record->shadow_ctime = record->host_ctime;
    }
    switch (stat->st_mode & S_IFMT) {
    case S_IFDIR:
        record->type = TYPE_DIRECTORY;
        return clone_directory_entry(at, entry, stat);
    case S_IFLNK:
        record->type = TYPE_LINK;
        record->flags |= suspect_name(at->node->name, entry->name) ? ENTRY_SUSPECT : 0; /* what it leads to is */
        return clone_link(at->clone, at->worker, at->node, entry, source, at->shadow, stat);
    default:
        record->type = TYPE_OTHER;
        record->flags |= ENTRY_ABSENT;
        at->worker->counts.special++;
        return CLONED;
    }
}

static bool has_long_path(const struct node *node, const char *name) {
    return node->path_bytes + (node->path_bytes > 0) + strlen(name) > LONGEST_PATH;
}

static enum outcome clone_entry(struct place *at, struct built *entry) {
    struct stat stat;
    if (FS(fstatat(at->source, entry->name, &stat, AT_SYMLINK_NOFOLLOW)) != 0) {
        int error = errno;
        bool cleared = clone_clear(at, entry->name);
        errno = error;
        return !cleared ? FATAL : error == ENOENT ? VANISHED : UNREADABLE;
    }
    if (clone_keep(at, entry, &stat)) {
        return CLONED;
    }
    if (!S_ISDIR(stat.st_mode) && !clone_clear(at, entry->name)) {
        return FATAL;
    }
    if (!S_ISREG(stat.st_mode)) {
        return clone_other(at, entry, at->source, &stat);
    }
    clone_fill_record(&entry->record, &stat);
    return clone_regular(at, entry, &stat);
}

bool clone_settle_entry(struct place *at, struct built *entry, enum outcome outcome) {
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

bool clone_make_entries(struct place *at, size_t count) {
    at->node->entries = calloc(count ? count : 1, sizeof *at->node->entries);
    if (!at->node->entries) {
        errno = ENOMEM;
        clone_fail(at->clone, at->node, NULL, "memory");
        return false;
    }
    return true;
}

/* What is nested too deep to be named is left out of a clone. In a tree that is only listed the agent gets there: unknown. */
static enum outcome make_entry(struct place *at, struct built *entry) {
    bool listed = at->clone->shadow < 0;
    if (has_long_path(at->node, entry->name)) {
        if (!listed && !clone_clear(at, entry->name)) {
            return FATAL;
        }
        errno = ENAMETOOLONG;
        return listed ? clone_fail(at->clone, at->node, entry->name, "nested-too-deep") : UNREADABLE;
    }
    return listed ? clone_list_entry(at, entry) : clone_entry(at, entry);
}

void clone_entries(struct place *at, struct listing *listing) {
    struct node *node = at->node;
    if (!clone_make_entries(at, listing->count)) {
        return;
    }
    node->names = listing->names;
    listing->names = NULL; /* the entries' names are in there */
    for (size_t i = 0; i < listing->count && !atomic_load(&at->clone->stop); i++) {
        struct built *entry = &node->entries[node->count];
        entry->name = listing->items[i].name;
        if (!clone_settle_entry(at, entry, make_entry(at, entry))) {
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
static int finish_directory(const struct place *at) {
    struct clone *clone = at->clone;
    struct node *node = at->node;
    if ((node->mode & 0700) != 0700) {
        pthread_mutex_lock(&clone->mutex);
        node->late = true;
        node->next = clone->late_nodes;
        clone->late_nodes = node;
        pthread_mutex_unlock(&clone->mutex);
        return 0;
    }
    if (clone_is_finished(at)) {
        return 0;
    }
    return FS(fchmod(at->shadow, node->mode)) == 0 && FS(futimens(at->shadow, node->times)) == 0 ? 0 : -1;
}

bool clone_skips_directory(struct clone *clone, struct node *node, int source) {
    struct stat stat;
    if (node->mount) {
        return true;
    }
    return fstat(source, &stat) == 0 && stat.st_dev != clone->root_device && is_pseudo(source);
}

/* One directory that is cloned. */
static void clone_directory(struct place *at) {
    struct clone *clone = at->clone;
    const char *path = at->path;
    struct node *node = at->node;
    struct listing listing = {0};
    bool inherited = false;
    at->source = FS(open_beneath(clone->source, path, O_RDONLY | O_DIRECTORY));
    int source_error = errno;
    at->shadow = FS(open_beneath(clone->shadow, path, O_RDONLY | O_DIRECTORY));
    if (at->shadow < 0 || (at->source < 0 && (source_error == EMFILE || source_error == ENFILE))) {
        errno = at->shadow < 0 ? errno : source_error;
        clone_fail(clone, node, NULL, "open-directory");
        return;
    }
    if (at->source < 0 ||
        (!clone_skips_directory(clone, node, at->source) && FS(list_directory(at->source, &listing)) != 0)) {
        errno = at->source < 0 ? source_error : errno;
        if (!node->parent) {
            clone_fail(clone, node, NULL, "open-directory"); /* without its top there is no fork */
        } else {
            clone_unreadable(clone, node, NULL, errno);
            at->worker->counts.unreadable++;
        }
    } else {
        inherited = clone_xattrs(at->worker, at->source, at->shadow);
    }
    if (clone_tidy_directory(at, &listing)) {
        clone_entries(at, &listing);
    }
    if (inherited) {
        clone_inherited(at->worker, at->source, at->shadow);
    }
    listing_free(&listing);
    at->worker->counts.directories++;
    if (finish_directory(at) != 0) {
        clone_fail(clone, node, NULL, "set-mode");
    }
}

static void work(void *context, unsigned thread, void *piece) {
    struct clone *clone = context;
    struct node *node = piece;
    struct place at = {.clone = clone,
                       .worker = &clone->workers[thread],
                       .node = node,
                       .source = -1,
                       .shadow = -1,
                       .frozen = -1,
                       .save = !clone_in_objects(node)};
    char *path = clone_path(node, NULL);
    at.path = path;
    if (clone->shadow < 0) {
        clone_list_directory(&at);
    } else {
        clone_directory(&at);
    }
    const int opened[] = {at.source, at.shadow, at.frozen};
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++) {
        if (opened[i] >= 0) {
            close(opened[i]);
        }
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
