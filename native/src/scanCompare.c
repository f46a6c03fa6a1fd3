#include "scan.h"

#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens what holds the base's bytes, and says where they start. -1: not available any more. */
static int open_base(struct scan *scan, const struct manifest_entry *entry, const char *path, off_t *offset) {
    *offset = 0;
    if (entry->flags & ENTRY_SAVED) {
        *offset = (off_t)entry->pack_offset;
        return entry->pack < PACKS && scan->packs[entry->pack] >= 0 ? dup(scan->packs[entry->pack]) : -1;
    }
    int fd = scan->host >= 0 ? open_beneath(scan->host, path, O_RDONLY | O_NONBLOCK) : -1;
    struct stat stat;
    if (fd >= 0 && (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode) || stat.st_ino != entry->host_ino ||
                    (uint64_t)stat.st_size != entry->size || NANOSECONDS(stat.st_ctim) != entry->host_ctime ||
                    NANOSECONDS(stat.st_mtim) != entry->mtime)) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool read_exactly(int fd, char *buffer, size_t count, off_t offset) {
    while (count > 0) {
        ssize_t got = FS(pread(fd, buffer, count, offset));
        if (got <= 0) {
            if (got < 0 && errno == EINTR) {
                continue;
            }
            return false;
        }
        buffer += got;
        count -= (size_t)got;
        offset += got;
    }
    return true;
}

char scan_compare(struct spot *spot, const struct manifest_entry *entry, const char *name, const char *path) {
    struct scan_worker *worker = spot->worker;
    off_t offset;
    int base = open_base(spot->scan, entry, path, &offset);
    int shadow = FS(openat(spot->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    char answer = base < 0 || shadow < 0 ? 'U' : '=';
    worker->compared++;
    for (uint64_t at = 0; answer == '=' && at < entry->size;) {
        size_t part = entry->size - at < COMPARE_BUFFER ? (size_t)(entry->size - at) : COMPARE_BUFFER;
        if (!read_exactly(base, worker->left, part, offset + (off_t)at)) {
            answer = 'U';
        } else if (!read_exactly(shadow, worker->right, part, (off_t)at) ||
                   memcmp(worker->left, worker->right, part) != 0) {
            answer = 'M';
        }
        at += part;
    }
    if (base >= 0) {
        close(base);
    }
    if (shadow >= 0) {
        close(shadow);
    }
    return answer;
}
