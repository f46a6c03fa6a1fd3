#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, PATH_PIECE = 256, VECTOR_PIECE = 512, STRING_PIECE = 128, STRINGS_AT_ONCE = 16 };

/* Reads up to the end of the page, as one piece of a remote read fails or succeeds whole. */
static ssize_t read_piece(pid_t pid, uint64_t address, void *bytes, size_t most) {
    size_t in_page = PAGE_BYTES - (size_t)(address % PAGE_BYTES);
    size_t count = most < in_page ? most : in_page;
    struct iovec local = {bytes, count};
    struct iovec remote = {(void *)(uintptr_t)address, count};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

bool memory_string(pid_t pid, uint64_t address, size_t most, struct text *string) {
    char piece[PAGE_BYTES];
    size_t left = most;
    text_add(string, "");
    while (left > 0) {
        /* A string is short as a rule: the first piece takes little. */
        size_t wanted = left == most && left > 512 ? 512 : left < sizeof piece ? left : sizeof piece;
        ssize_t got = read_piece(pid, address, piece, wanted);
        if (got <= 0) {
            return false;
        }
        size_t count = strnlen(piece, (size_t)got);
        text_bytes(string, piece, count);
        if (count < (size_t)got) {
            return true;
        }
        address += count;
        left -= count;
    }
    return true;
}

long memory_vector(pid_t pid, uint64_t address, uint64_t *pointers, long most) {
    long count = 0;
    while (count < most) {
        ssize_t got = read_piece(pid, address, pointers + count, (size_t)(most - count) * sizeof *pointers);
        if (got < (ssize_t)sizeof *pointers) {
            return -1;
        }
        long more = got / (long)sizeof *pointers;
        for (long i = 0; i < more; i++) {
            if (pointers[count + i] == 0) {
                return count + i;
            }
        }
        count += more;
        address += (uint64_t)more * sizeof *pointers;
    }
    return count;
}

/* Length of a piece at `address` that is read in one go: not over the end of the page. */
static size_t piece_of(uint64_t address, size_t most) {
    size_t in_page = PAGE_BYTES - (size_t)(address % PAGE_BYTES);
    return most < in_page ? most : in_page;
}

long memory_call(pid_t pid, uint64_t path, uint64_t vector, struct text *string, uint64_t *pointers, long most) {
    char piece[PATH_PIECE];
    size_t path_bytes = piece_of(path, sizeof piece);
    size_t wanted = (size_t)most * sizeof *pointers;
    size_t vector_bytes = vector == 0 ? 0 : piece_of(vector, wanted < VECTOR_PIECE ? wanted : VECTOR_PIECE);
    struct iovec local[2] = {{piece, path_bytes}, {pointers, vector_bytes}};
    struct iovec remote[2] = {{(void *)(uintptr_t)path, path_bytes}, {(void *)(uintptr_t)vector, vector_bytes}};
    ssize_t got = process_vm_readv(pid, local, 2, remote, 2, 0);
    size_t length = got < (ssize_t)path_bytes ? path_bytes : strnlen(piece, path_bytes);
    if (length < path_bytes) {
        text_bytes(string, piece, length);
    } else if (!memory_string(pid, path, PAGE_BYTES, string)) {
        return -1;
    }
    if (vector == 0) {
        return 0;
    }
    for (size_t i = 0; got == (ssize_t)(path_bytes + vector_bytes) && i < vector_bytes / sizeof *pointers; i++) {
        if (pointers[i] == 0) {
            return (long)i;
        }
    }
    return memory_vector(pid, vector, pointers, most);
}

bool memory_strings(pid_t pid, const uint64_t *pointers, long count, size_t most,
                    bool (*take)(const char *bytes, size_t count, void *data), void *data) {
    char pieces[STRINGS_AT_ONCE][STRING_PIECE];
    struct iovec local[STRINGS_AT_ONCE];
    struct iovec remote[STRINGS_AT_ONCE];
    for (long from = 0; from < count; from += STRINGS_AT_ONCE) {
        int at_once = count - from < STRINGS_AT_ONCE ? (int)(count - from) : STRINGS_AT_ONCE;
        size_t wanted = 0;
        for (int i = 0; i < at_once; i++) {
            uint64_t address = pointers[from + i];
            size_t bytes = piece_of(address, STRING_PIECE);
            local[i] = (struct iovec){pieces[i], bytes};
            remote[i] = (struct iovec){(void *)(uintptr_t)address, bytes};
            wanted += bytes;
        }
        bool all = process_vm_readv(pid, local, (unsigned long)at_once, remote, (unsigned long)at_once, 0) == (ssize_t)wanted;
        for (int i = 0; i < at_once; i++) {
            size_t length = all ? strnlen(pieces[i], local[i].iov_len) : local[i].iov_len;
            if (length < local[i].iov_len) {
                length = length < most ? length : most;
                if (!take(pieces[i], length, data)) {
                    return true;
                }
                most -= length;
                continue;
            }
            struct text whole = {0};
            bool read = memory_string(pid, pointers[from + i], most, &whole);
            bool more = read && take(whole.bytes, whole.count, data);
            most -= whole.count < most ? whole.count : most;
            text_free(&whole);
            if (!more) {
                return read;
            }
        }
    }
    return true;
}

bool memory_judge(int file, struct text *resolved) {
    struct stat stat;
    char link[64];
    char path[PAGE_BYTES];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t count = readlink(link, path, sizeof path - 1);
    bool runs = fstat(file, &stat) == 0 && S_ISREG(stat.st_mode) && (stat.st_mode & 0111) != 0;
    close(file);
    if (count > 0) {
        text_bytes(resolved, path, (size_t)count);
    }
    return runs;
}

int memory_root(pid_t pid) {
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/root", pid);
    return open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Opened as the process itself would: its root, absolute links within it. */
static int open_within(pid_t pid, int root, const char *path) {
    int own = root < 0 ? memory_root(pid) : root;
    if (own < 0) {
        return -1;
    }
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    int file = (int)syscall(__NR_openat2, own, path, &how, sizeof how);
    int error = errno;
    if (own != root) {
        close(own);
    }
    errno = error;
    return file;
}

/* Whether a path names nothing for the process either. It is so where the deepest directory of it that is there lacks the
 * next name. What is there and leads nowhere may lead somewhere for the process: `self` in proc is another for each reader. */
static bool surely_missing(pid_t pid, int root, const char *path) {
    char parent[PAGE_BYTES];
    snprintf(parent, sizeof parent, "%s", path);
    for (;;) {
        char *slash = strrchr(parent, '/');
        const char *name = slash == NULL ? parent : slash + 1;
        struct stat stat;
        if (slash == NULL || name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
            return false;
        }
        *slash = '\0';
        int directory = open_within(pid, root, slash == parent ? "/" : parent);
        if (directory >= 0) {
            bool missing = fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW) != 0 && (errno == ENOENT || errno == ENOTDIR);
            close(directory);
            return missing;
        }
        if (errno != ENOENT) {
            return errno == ENOTDIR;
        }
    }
}

/* A link of proc that is the process's own, not of whoever reads it; NULL: another path. */
static const char *own_link(const char *path) {
    static const char *const places[] = {"/proc/self/", "/proc/thread-self/"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        size_t length = strlen(places[i]);
        const char *rest = path + length;
        if (strncmp(path, places[i], length) == 0 &&
            (strcmp(rest, "exe") == 0 || (strncmp(rest, "fd/", 3) == 0 && strspn(rest + 3, "0123456789") == strlen(rest + 3)))) {
            return rest;
        }
    }
    return NULL;
}

/* Where relative paths begin; false when that has no path any more. */
static bool base_of(pid_t pid, int directory, const char *cwd, char *base, size_t capacity) {
    static const char gone[] = " (deleted)";
    char link[64];
    if (directory == AT_FDCWD) {
        snprintf(base, capacity, "%s", cwd);
    } else {
        snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, directory);
        ssize_t count = readlink(link, base, capacity - 1);
        base[count < 0 ? 0 : count] = '\0';
    }
    size_t length = strlen(base);
    return length < sizeof gone || strcmp(base + length - (sizeof gone - 1), gone) != 0;
}

int memory_open(pid_t pid, int root, int directory, const char *path, const char *cwd, struct text *resolved) {
    char own[PAGE_BYTES];
    const char *link = own_link(path);
    int file = -1;
    if (path[0] == '\0' || link != NULL) {
        if (link != NULL) {
            snprintf(own, sizeof own, "/proc/%d/%s", pid, link);
        } else {
            snprintf(own, sizeof own, "/proc/%d/fd/%d", pid, directory); /* fexecve */
        }
        file = open(own, O_PATH | O_CLOEXEC);
        if (file < 0) {
            text_add(resolved, path);
            return -2;
        }
        return file;
    }
    struct text absolute = {0};
    bool known = path[0] == '/' || base_of(pid, directory, cwd, own, sizeof own);
    if (path[0] != '/') {
        text_format(&absolute, "%s/", own);
    }
    text_add(&absolute, path);
    if (known) {
        file = open_within(pid, root, absolute.bytes);
        known = file >= 0 || ((errno == ENOENT || errno == ENOTDIR) && surely_missing(pid, root, absolute.bytes));
    }
    if (file < 0) {
        text_add(resolved, absolute.bytes);
    }
    text_free(&absolute);
    return known ? file : -2;
}
