#include "tree.h"

#include "common.h"
#include "subvolume.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/btrfs.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_piece(int root, const char *path, int flags) {
    struct open_how how = {
        .flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    int fd;
    do {
        fd = (int)syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof how);
        /* EAGAIN: a rename elsewhere raced with the "beneath" check; the kernel asks to try again. */
    } while (fd < 0 && (errno == EINTR || errno == EAGAIN));
    return fd;
}

int open_beneath(int root, const char *path, int flags) {
    if (strlen(path) < PATH_MAX - 1) {
        return open_piece(root, path, flags);
    }
    int at = root;
    char piece[PATH_MAX];
    while (strlen(path) >= PATH_MAX - 1) {
        size_t cut = PATH_MAX - 2;
        while (cut > 0 && path[cut] != '/') {
            cut--;
        }
        memcpy(piece, path, cut);
        piece[cut] = 0;
        int next = cut ? open_piece(at, piece, O_PATH | O_DIRECTORY) : -1;
        if (at != root) {
            close(at);
        }
        if (next < 0) {
            return -1;
        }
        at = next;
        path += cut + 1;
    }
    int fd = open_piece(at, path, flags);
    int error = errno;
    close(at);
    errno = error;
    return fd;
}

static int by_name(const void *left, const void *right) {
    const struct listing_item *a = left;
    const struct listing_item *b = right;
    return strcmp(a->name, b->name);
}

struct raw_entry {
    uint64_t ino;
    int64_t off;
    unsigned short length;
    unsigned char type;
    char name[];
};

/* Gathers names in one growing buffer; items hold offsets until the buffer has stopped moving. */
int list_directory(int fd, struct listing *listing) {
    _Alignas(8) char buffer[32768];
    struct text names = {0};
    size_t capacity = 0;
    *listing = (struct listing){0};
    for (;;) {
        long got = syscall(SYS_getdents64, fd, buffer, sizeof buffer);
        if (got < 0) {
            int error = errno;
            text_free(&names);
            free(listing->items);
            errno = error;
            return -1;
        }
        if (got == 0) {
            break;
        }
        for (long at = 0; at < got;) {
            const struct raw_entry *entry = (const void *)(buffer + at);
            at += entry->length;
            if (entry->name[0] == '.' && (!entry->name[1] || (entry->name[1] == '.' && !entry->name[2]))) {
                continue;
            }
            if (listing->count == capacity) {
                capacity = capacity ? capacity * 2 : 32;
                listing->items = must_realloc(listing->items, capacity * sizeof *listing->items);
            }
            listing->items[listing->count++] = (struct listing_item){(const char *)(uintptr_t)names.count, entry->type};
            text_bytes(&names, entry->name, strlen(entry->name) + 1);
        }
    }
    listing->names = names.bytes;
    for (size_t i = 0; i < listing->count; i++) {
        listing->items[i].name = names.bytes + (uintptr_t)listing->items[i].name;
    }
    if (listing->count > 1) {
        qsort(listing->items, listing->count, sizeof *listing->items, by_name);
    }
    return 0;
}

void listing_free(struct listing *listing) {
    free(listing->items);
    free(listing->names);
    *listing = (struct listing){0};
}

void pool_push(struct pool *pool, void *piece) {
    pthread_mutex_lock(&pool->mutex);
    if (pool->count == pool->capacity) {
        pool->capacity = pool->capacity ? pool->capacity * 2 : 256;
        pool->stack = must_realloc(pool->stack, pool->capacity * sizeof *pool->stack);
    }
    pool->stack[pool->count++] = piece;
    pthread_cond_signal(&pool->changed);
    pthread_mutex_unlock(&pool->mutex);
}

struct pool_thread {
    struct pool *pool;
    unsigned number;
};

static void *pool_loop(void *argument) {
    struct pool_thread *self = argument;
    struct pool *pool = self->pool;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (pool->count == 0 && pool->working > 0 && !atomic_load(pool->stop)) {
            pthread_cond_wait(&pool->changed, &pool->mutex);
        }
        if (pool->count == 0 || atomic_load(pool->stop)) {
            break;
        }
        void *piece = pool->stack[--pool->count];
        pool->working++;
        pthread_mutex_unlock(&pool->mutex);
        pool->work(pool->context, self->number, piece);
        pthread_mutex_lock(&pool->mutex);
        pool->working--;
        if (pool->working == 0) {
            pthread_cond_broadcast(&pool->changed);
        }
    }
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

void pool_run(struct pool *pool, unsigned threads) {
    struct pool_thread selves[8];
    pthread_t handles[8];
    unsigned started = 0;
    for (unsigned i = 1; i < threads && i < 8; i++) {
        selves[i] = (struct pool_thread){pool, i};
        if (pthread_create(&handles[i], NULL, pool_loop, &selves[i]) != 0) {
            break;
        }
        started = i;
    }
    selves[0] = (struct pool_thread){pool, 0};
    pool_loop(&selves[0]);
    for (unsigned i = 1; i <= started; i++) {
        pthread_join(handles[i], NULL);
    }
    free(pool->stack);
    pool->stack = NULL;
}

unsigned useful_threads(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return 2;
    }
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : count > 8 ? 8 : (unsigned)count;
}

/* One removal. Directories that lie deeper than DEEPEST_REMOVED are moved to its top first, and are met there again. */
struct removal {
    int top;
    uint64_t moved;
};

enum { DEEPEST_REMOVED = 100 };

static int remove_directory(struct removal *removal, int parent, const char *name, unsigned depth);

static int remove_entry(struct removal *removal, int directory, const char *name, unsigned char type, unsigned depth) {
    if (type != DT_DIR) {
        if (unlinkat(directory, name, 0) == 0 || errno == ENOENT) {
            return 0;
        }
        if (errno != EISDIR && errno != EPERM) {
            return -1;
        }
    }
    return remove_directory(removal, directory, name, depth);
}

static bool is_subvolume_root(int parent, const char *name) {
    struct stat stat;
    return fstatat(parent, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(stat.st_mode) &&
           stat.st_ino == SUBVOLUME_INODE;
}

/* A snapshot goes at once; read-only ones in no other way. False: it is none, or users may not: entry by entry then. */
static bool remove_subvolume(int parent, const char *name) {
    struct btrfs_ioctl_vol_args arguments = {0};
    if (strlen(name) >= sizeof arguments.name || !is_subvolume_root(parent, name)) {
        return false;
    }
    strcpy(arguments.name, name);
    if (ioctl(parent, BTRFS_IOC_SNAP_DESTROY, &arguments) == 0) {
        return true;
    }
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    uint64_t flags = 0; /* the owner may make it writable again */
    if (fd >= 0) {
        (void)ioctl(fd, BTRFS_IOC_SUBVOL_SETFLAGS, &flags);
        close(fd);
    }
    return false;
}

/* False: it cannot be moved (it is another subvolume, say), and is emptied where it is. */
static bool move_to_top(struct removal *removal, int parent, const char *name) {
    char fresh[64];
    for (int attempt = 0; attempt < 1000; attempt++) {
        snprintf(fresh, sizeof fresh, ".holdfast-deep-%llu", (unsigned long long)removal->moved++);
        if (renameat2(parent, name, removal->top, fresh, RENAME_NOREPLACE) == 0) {
            return true;
        }
        /* Moving a directory writes its own "..". */
        if (errno != EEXIST && (errno != EACCES || fchmodat(parent, name, 0700, 0) != 0)) {
            return false;
        }
    }
    return false;
}

static int remove_entries(struct removal *removal, int fd, unsigned depth) {
    struct listing listing;
    (void)lseek(fd, 0, SEEK_SET);
    int result = list_directory(fd, &listing);
    if (result == 0 && listing.count > 0) {
        (void)fchmod(fd, 0700); /* removing needs w and x; a failure shows at the unlink */
    }
    for (size_t i = 0; result == 0 && i < listing.count; i++) {
        result = remove_entry(removal, fd, listing.items[i].name, listing.items[i].type, depth + 1);
    }
    int error = errno;
    listing_free(&listing);
    errno = error;
    return result;
}

/* One level deep per call, a descriptor per level. */
static int remove_directory(struct removal *removal, int parent, const char *name, unsigned depth) {
    if (depth >= DEEPEST_REMOVED && move_to_top(removal, parent, name)) {
        return 0;
    }
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0) {
        fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    if (fd < 0) {
        return errno == ENOENT ? 0 : -1;
    }
    if (remove_subvolume(parent, name)) {
        close(fd);
        return 0;
    }
    if (depth == 0) {
        removal->top = fd;
    }
    uint64_t moved;
    int result;
    do {
        moved = removal->moved;
        result = remove_entries(removal, fd, depth);
    } while (result == 0 && depth == 0 && removal->moved > moved); /* what was moved here has come after the listing */
    int error = errno;
    close(fd);
    errno = error;
    return result == 0 ? unlinkat(parent, name, AT_REMOVEDIR) : -1;
}

int remove_tree(int directory, const char *name) {
    char *copy = must_strdup(name);
    char *slash = strrchr(copy, '/');
    int parent = directory;
    if (slash && slash != copy) {
        *slash = 0;
        parent = openat(directory, copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    int result = -1;
    if (parent >= 0 || parent == AT_FDCWD) {
        struct removal removal = {.top = -1};
        result = remove_entry(&removal, parent, slash && slash != copy ? slash + 1 : copy, DT_UNKNOWN, 0);
    } else if (errno == ENOENT) {
        result = 0;
    }
    int error = errno;
    if (parent != directory && parent >= 0) {
        close(parent);
    }
    free(copy);
    errno = error;
    return result;
}

void want_descriptors(unsigned count) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < count && limit.rlim_max > limit.rlim_cur) {
        limit.rlim_cur = limit.rlim_max < count ? limit.rlim_max : count;
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* best effort: the walk reports EMFILE itself */
    }
}
