#include "pack.h"

#include "common.h"
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PACK_BUFFER = 1 << 20, PACK_BLOCK = 4096 };

int pack_create(struct pack *pack, int directory, uint16_t number) {
    char name[32];
    snprintf(name, sizeof name, "pack.%u", (unsigned)number);
    *pack = (struct pack){.number = number};
    pack->fd = FS(openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (pack->fd < 0) {
        return -1;
    }
    pack->made = true;
    pack->buffer = must_alloc(PACK_BUFFER);
    return 0;
}

uint64_t pack_end(const struct pack *pack) {
    return pack->written + pack->used;
}

int pack_flush(struct pack *pack) {
    if (pack->used == 0) {
        return 0;
    }
    if (FS(write_all(pack->fd, pack->buffer, pack->used)) != 0) {
        return -1;
    }
    pack->written += pack->used;
    pack->used = 0;
    return 0;
}

int pack_append(struct pack *pack, const void *bytes, size_t count) {
    const char *at = bytes;
    while (count > 0) {
        if (pack->used == PACK_BUFFER && pack_flush(pack) != 0) {
            return -1;
        }
        size_t part = PACK_BUFFER - pack->used < count ? PACK_BUFFER - pack->used : count;
        memcpy(pack->buffer + pack->used, at, part);
        pack->used += part;
        at += part;
        count -= part;
    }
    return 0;
}

int pack_share(struct pack *pack, int fd, uint64_t size, uint64_t *offset) {
    if (pack_flush(pack) != 0) {
        return -1;
    }
    uint64_t start = (pack->written + PACK_BLOCK - 1) / PACK_BLOCK * PACK_BLOCK;
    struct file_clone_range range = {.src_fd = fd, .src_offset = 0, .src_length = 0, .dest_offset = start};
    if (FS(ioctl(pack->fd, FICLONERANGE, &range)) != 0) {
        return -1;
    }
    pack->written = start + size;
    if (lseek(pack->fd, (off_t)pack->written, SEEK_SET) < 0) {
        return -1;
    }
    *offset = start;
    return 0;
}

int pack_close(struct pack *pack) {
    if (pack->buffer == NULL) {
        return 0;
    }
    int result = pack_flush(pack);
    int error = errno;
    if (close(pack->fd) != 0 && result == 0) {
        result = -1;
        error = errno;
    }
    free(pack->buffer);
    pack->buffer = NULL;
    pack->fd = -1;
    errno = error;
    return result;
}
