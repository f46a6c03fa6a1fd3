/* Walking trees: opening beneath a root, sorted listings, and a pool of threads over a stack of work. */
#ifndef HOLDFAST_TREE_H
#define HOLDFAST_TREE_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * Opens `path` (relative, "" is the root itself) without following a symbolic link in any component and without
 * leaving `root`; paths longer than PATH_MAX are walked in pieces. -1 with errno.
 */
int open_beneath(int root, const char *path, int flags);

/* Names of a directory but . and .., sorted by bytes. `type` is DT_*, DT_UNKNOWN where the filesystem does not tell. */
struct listing_item {
    const char *name;
    unsigned char type;
};

struct listing {
    struct listing_item *items;
    size_t count;
    char *names;
};

/* 0, or -1 with errno; frees nothing on success. */
int list_directory(int fd, struct listing *listing);
void listing_free(struct listing *listing);

/*
 * Threads over one stack: every piece may push more. `work` gets the thread's number. Ends when the stack is empty
 * and nobody works, or as soon as `*stop` is set (what is left on the stack is then not worked on).
 */
struct pool {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    void **stack;
    size_t count;
    size_t capacity;
    size_t working;
    atomic_bool *stop;
    void (*work)(void *context, unsigned thread, void *piece);
    void *context;
};

void pool_push(struct pool *pool, void *piece);
void pool_run(struct pool *pool, unsigned threads);

/* Threads that pay: the processors we may run on, at most 8. */
unsigned useful_threads(void);

/* Nanoseconds since the epoch of a statx timestamp. */
#define NANOSECONDS(stamp) ((int64_t)(stamp).tv_sec * 1000000000 + (int64_t)(stamp).tv_nsec)

/*
 * The longest relative path of an entry that is cloned, listed or told of, in bytes. A call takes PATH_MAX, the root it lies
 * below included; what is nested deeper few programs can reach. It bounds descriptors, stack and time, whatever an agent nests.
 */
enum { LONGEST_PATH = PATH_MAX / 4 * 3 };

/* Removes what is at `name` in `directory`, however deep it is; modes that are in the way are changed. 0, or -1. */
int remove_tree(int directory, const char *name);

/* Raises the soft limit of descriptors a little where it is very low; a thread needs about eight. */
void want_descriptors(unsigned count);

#endif
