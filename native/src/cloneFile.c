/* One regular file: content by sharing blocks, or by data ranges when sparse, or by bytes; then everything else it has. */
#include "clone.h"
#include "suspect.h"
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Up to here a content that was read anyway is saved by its bytes. Sharing its blocks with the pack would make the
 * filesystem fill up the block at which the pack ends, and wait for the disk, for every file. */
enum { SAVED_BY_BYTES = 64 * 1024 };

/* Of one copy: where it stands, and whether an error was the reader's (then the file is unreadable, not the run over). */
struct copy {
    struct clone *clone;
    struct worker *worker;
    struct manifest_entry *record;
    int from, to;
    bool read_failed;
    const char *step;
};

static int failed(struct copy *copy, const char *step) {
    copy->step = step;
    return -1;
}

/* Copies `count` bytes at `offset` and saves them when asked. Returns the bytes copied, short at the end of the file. */
static int64_t copy_bytes(struct copy *copy, off_t offset, uint64_t count, bool save) {
    uint64_t done = 0;
    while (done < count) {
        size_t part = count - done < CLONE_BUFFER ? (size_t)(count - done) : CLONE_BUFFER;
        ssize_t got = FS(pread(copy->from, copy->worker->buffer, part, offset + (off_t)done));
        if (got < 0) {
            if (errno == EINTR) {
                continue;
            }
            copy->read_failed = true;
            return failed(copy, "read-file");
        }
        if (got == 0) {
            break;
        }
        for (ssize_t at = 0; at < got;) {
            ssize_t put =
                FS(pwrite(copy->to, copy->worker->buffer + at, (size_t)(got - at), offset + (off_t)done + at));
            if (put < 0 && errno != EINTR) {
                return failed(copy, "write-file");
            }
            at += put > 0 ? put : 0;
        }
        if (save && pack_append(&copy->worker->pack, copy->worker->buffer, (size_t)got) != 0) {
            return failed(copy, "save-base");
        }
        if (save && done < SUSPECT_LIMIT && suspect_bytes(copy->worker->buffer, (size_t)got)) {
            copy->record->flags |= ENTRY_SUSPECT; /* a mark across two buffers is missed: tokens stand in small files */
        }
        done += (uint64_t)got;
    }
    return (int64_t)done;
}

/* Big and not saved: the kernel moves the bytes. Falls back to reading and writing. */
static int64_t copy_in_kernel(struct copy *copy, off_t offset, uint64_t count) {
    uint64_t done = 0;
    while (done < count) {
        off_t in = offset + (off_t)done;
        off_t out = in;
        uint64_t part = count - done < (1u << 30) ? count - done : (1u << 30);
        ssize_t got = FS(copy_file_range(copy->from, &in, copy->to, &out, (size_t)part, 0));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            int64_t rest = copy_bytes(copy, offset + (off_t)done, count - done, false);
            return rest < 0 ? -1 : (int64_t)done + rest;
        }
        done += (uint64_t)got;
    }
    return (int64_t)done;
}

static int copy_sparse(struct copy *copy, uint64_t size) {
    for (off_t at = 0; at < (off_t)size;) {
        off_t data = lseek(copy->from, at, SEEK_DATA);
        if (data < 0) {
            if (errno == ENXIO) {
                break;
            }
            return copy_bytes(copy, at, size - (uint64_t)at, false) < 0 ? -1 : 0;
        }
        off_t hole = lseek(copy->from, data, SEEK_HOLE);
        if (hole < 0 || hole > (off_t)size) {
            hole = (off_t)size;
        }
        if (hole > data && copy_bytes(copy, data, (uint64_t)(hole - data), false) < 0) {
            return -1;
        }
        at = hole > data ? hole : (off_t)size;
    }
    return FS(ftruncate(copy->to, (off_t)size)) == 0 ? 0 : failed(copy, "write-file");
}

/* Saves what now stands in the shadow file. */
static int save_shadow(struct copy *copy, uint64_t size) {
    struct pack *pack = &copy->worker->pack;
    for (uint64_t at = 0; at < size;) {
        ssize_t got = FS(pread(copy->to, copy->worker->buffer, CLONE_BUFFER, (off_t)at));
        if (got <= 0) {
            return failed(copy, "save-base");
        }
        if (pack_append(pack, copy->worker->buffer, (size_t)got) != 0) {
            return failed(copy, "save-base");
        }
        at += (uint64_t)got;
    }
    return 0;
}

/* Of a file whose bytes nobody had to read: from the source, whose pages are more likely in memory. True when the buffer
 * has all of it. */
static bool look_for_secrets(struct copy *copy, bool save) {
    if (!save || copy->record->size > CLONE_BUFFER) {
        return false;
    }
    ssize_t got = FS(pread(copy->from, copy->worker->buffer, CLONE_BUFFER, 0));
    bool whole = got >= 0 && (uint64_t)got == copy->record->size;
    if (!whole || suspect_bytes(copy->worker->buffer, (size_t)got)) {
        copy->record->flags |= ENTRY_SUSPECT;
    }
    return whole;
}

bool clone_is_at_rest(const struct clone *clone, int64_t ctime) {
    return ctime < clone->begun - 1000000000; /* times have the clock's tick */
}

static bool share_content(struct copy *copy) {
    struct clone *clone = copy->clone;
    if (!clone->share || atomic_load(&clone->cannot_share)) {
        return false;
    }
    if (FS(ioctl(copy->to, FICLONE, copy->from)) == 0) {
        return true;
    }
    if (errno == EOPNOTSUPP || errno == ENOTTY || errno == ENOSYS) {
        atomic_store(&clone->cannot_share, true);
    }
    return false;
}

/* Content of `size` bytes, and its saved copy. The shadow's size may differ when somebody is writing the file. */
static int copy_content(struct copy *copy, const struct stat *stat, bool save) {
    struct counts *counts = &copy->worker->counts;
    struct manifest_entry *record = copy->record;
    uint64_t size = (uint64_t)stat->st_size;
    bool fits = save && size <= copy->clone->save_limit;
    record->size = size;
    record->pack = copy->worker->pack.number;
    if (size == 0) {
        record->flags |= save ? ENTRY_SAVED : 0;
        return 0;
    }
    if (share_content(copy)) {
        struct stat now;
        if (fstat(copy->to, &now) != 0) {
            return failed(copy, "stat-shadow");
        }
        counts->shared++;
        record->size = (uint64_t)now.st_size;
        if (look_for_secrets(copy, save) && record->size <= SAVED_BY_BYTES &&
            clone_is_at_rest(copy->clone, NANOSECONDS(stat->st_ctim))) {
            record->pack_offset = pack_end(&copy->worker->pack);
            record->flags |= ENTRY_SAVED;
            return pack_append(&copy->worker->pack, copy->worker->buffer, record->size) == 0
                       ? 0
                       : failed(copy, "save-base");
        }
        if (save && pack_share(&copy->worker->pack, copy->to, record->size, &record->pack_offset) == 0) {
            record->flags |= ENTRY_SAVED;
        } else if (fits) {
            record->pack_offset = pack_end(&copy->worker->pack);
            record->flags |= ENTRY_SAVED;
            return save_shadow(copy, record->size);
        }
        return 0;
    }
    counts->copied++;
    record->pack_offset = pack_end(&copy->worker->pack);
    record->flags |= fits ? ENTRY_SAVED : 0;
    if ((uint64_t)stat->st_blocks * 512 < size) {
        counts->sparse++;
        if (copy_sparse(copy, size) != 0) {
            return -1;
        }
        return fits ? save_shadow(copy, size) : 0;
    }
    int64_t done = fits ? copy_bytes(copy, 0, size, true) : copy_in_kernel(copy, 0, size);
    if (done < 0) {
        return -1;
    }
    record->size = (uint64_t)done;
    return 0;
}

int clone_stat_shadow(struct worker *worker, int directory, const char *name, struct manifest_entry *record) {
    struct statx stat;
    int flags = AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH);
    if (FS(statx(directory, name, flags, STATX_BASIC_STATS | STATX_BTIME, &stat)) != 0) {
        return -1;
    }
    record->shadow_ino = stat.stx_ino;
    record->shadow_ctime = NANOSECONDS(stat.stx_ctime);
    record->shadow_btime = stat.stx_mask & STATX_BTIME ? NANOSECONDS(stat.stx_btime) : 0;
    if (record->shadow_ctime > worker->last_ctime) {
        worker->last_ctime = record->shadow_ctime;
    }
    return 0;
}

void clone_fill_record(struct manifest_entry *record, const struct stat *stat) {
    record->mode = stat->st_mode & 07777;
    record->mtime = NANOSECONDS(stat->st_mtim);
    record->host_ino = stat->st_ino;
    record->host_dev = stat->st_dev;
    record->host_ctime = NANOSECONDS(stat->st_ctim);
}

/* A file that changes while it is copied is copied again, so that shadow and saved base are one state of it. */
static int copy_steady(struct copy *copy, struct stat *stat, bool save) {
    for (int attempt = 0;; attempt++) {
        struct stat after;
        copy->record->flags &= (uint8_t)~ENTRY_SAVED;
        if (copy_content(copy, stat, save) != 0) {
            return -1;
        }
        if (FS(fstat(copy->from, &after)) != 0) {
            copy->read_failed = true;
            return failed(copy, "stat-file");
        }
        bool same = after.st_size == stat->st_size && NANOSECONDS(after.st_mtim) == NANOSECONDS(stat->st_mtim) &&
                    NANOSECONDS(after.st_ctim) == NANOSECONDS(stat->st_ctim) &&
                    copy->record->size == (uint64_t)stat->st_size;
        *stat = after;
        if (same) {
            return 0;
        }
        if (attempt == 3) {
            copy->worker->counts.changing++;
            copy->record->host_ino = 0; /* never taken for the base */
            return 0;
        }
        if (ftruncate(copy->to, 0) != 0 || lseek(copy->to, 0, SEEK_SET) < 0) {
            return failed(copy, "write-file");
        }
    }
}

static int finish(struct copy *copy, const struct stat *stat) {
    struct timespec times[2] = {stat->st_atim, stat->st_mtim};
    clone_xattrs(copy->worker, copy->from, copy->to);
    if (FS(fchmod(copy->to, stat->st_mode & 07777)) != 0) {
        return failed(copy, "set-mode");
    }
    if (FS(futimens(copy->to, times)) != 0) {
        return failed(copy, "set-times");
    }
    return clone_stat_shadow(copy->worker, copy->to, "", copy->record) == 0 ? 0 : failed(copy, "stat-shadow");
}

enum outcome clone_file(struct clone *clone, struct worker *worker, struct node *node, struct built *entry,
                        int source_directory, int shadow_directory, bool save) {
    struct copy copy = {.clone = clone, .worker = worker, .record = &entry->record, .to = -1, .step = "open-file"};
    struct stat stat;
    /* O_NONBLOCK: a FIFO that took the file's place must not hang us. */
    copy.from =
        FS(openat(source_directory, entry->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOATIME));
    if (copy.from < 0 && errno == EPERM) {
        copy.from = openat(source_directory, entry->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    }
    if (copy.from < 0) {
        if (errno == ENOENT || errno == ELOOP) {
            return VANISHED;
        }
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? clone_fail(clone, node, entry->name, copy.step)
                                                                    : UNREADABLE;
    }
    enum outcome outcome = FATAL;
    if (fstat(copy.from, &stat) != 0 || !S_ISREG(stat.st_mode)) {
        outcome = VANISHED;
    } else {
        clone_fill_record(copy.record, &stat);
        copy.record->flags |= suspect_name(node->name, entry->name) ? ENTRY_SUSPECT : 0;
        copy.step = "create-file";
        copy.to =
            FS(openat(shadow_directory, entry->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (copy.to >= 0 && copy_steady(&copy, &stat, save && clone->base >= 0) == 0) {
            uint64_t host_ino = copy.record->host_ino;
            clone_fill_record(copy.record, &stat);
            copy.record->host_ino = host_ino == 0 ? 0 : copy.record->host_ino;
            outcome = finish(&copy, &stat) == 0 ? CLONED : FATAL;
        }
        if (outcome == FATAL && copy.read_failed) {
            unlinkat(shadow_directory, entry->name, 0);
            outcome = UNREADABLE;
        } else if (outcome == FATAL) {
            clone_fail(clone, node, entry->name, copy.step);
        }
    }
    int error = errno;
    close(copy.from);
    if (copy.to >= 0 && close(copy.to) != 0 && outcome == CLONED) {
        outcome = clone_fail(clone, node, entry->name, "write-file");
    }
    errno = error;
    if (outcome == CLONED) {
        worker->counts.files++;
        worker->counts.bytes += entry->record.size;
    }
    return outcome;
}
