/* Another process's memory and paths, while it waits for an answer to its notification. */
#ifndef HOLDFAST_MEMORY_H
#define HOLDFAST_MEMORY_H

#include "common.h"

#include <sys/types.h>

/* The NUL-terminated string at `address`, at most `most` bytes of it; false when it cannot be read. */
bool memory_string(pid_t pid, uint64_t address, size_t most, struct text *string);

/* The pointers of a NULL-terminated vector, at most `most`; the count, or -1. */
long memory_vector(pid_t pid, uint64_t address, uint64_t *pointers, long most);

/* The string at `path` and the pointers of the vector at `vector` (0: none), at most `most`, mostly in one read. The count,
 * or -1 when one of them cannot be read. */
long memory_call(pid_t pid, uint64_t path, uint64_t vector, struct text *string, uint64_t *pointers, long most);

/* Strings by their pointers, mostly in one read; each is given to `take` in turn, until that says false. False when one
 * cannot be read. `most` bounds their bytes together. */
bool memory_strings(pid_t pid, const uint64_t *pointers, long count, size_t most,
                    bool (*take)(const char *bytes, size_t count, void *data), void *data);

/* Opens (O_PATH) what `path` names for that process, within `root`: a descriptor of its root directory, or -1 to look that
 * up. -1: nothing is there; -2: not known. Of what is not opened, `resolved` gets the path as it was asked for. `directory`
 * is the descriptor number that execveat gave, or AT_FDCWD. */
int memory_open(pid_t pid, int root, int directory, const char *path, const char *cwd, struct text *resolved);

/* The root directory of a process, O_PATH; -1 when it is gone. */
int memory_root(pid_t pid);

/* Whether it is an executable file; `resolved` gets its path in the sandbox. Closes it. */
bool memory_judge(int file, struct text *resolved);

#endif
