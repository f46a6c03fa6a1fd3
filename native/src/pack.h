/* A pack: saved contents of base files, one after the other in one file; no inode per file, and shared blocks where the
 * filesystem can. */
#ifndef HOLDFAST_PACK_H
#define HOLDFAST_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pack {
    int fd;           /* -1: closed */
    bool made;        /* the file is there, and ours */
    uint16_t number;
    uint64_t written; /* bytes in the file */
    char *buffer;     /* bytes to come */
    size_t used;
};

/* Creates `pack.<number>` (0600) in the directory. 0, or -1 with errno. */
int pack_create(struct pack *pack, int directory, uint16_t number);
/* Where the next byte goes. */
uint64_t pack_end(const struct pack *pack);
int pack_append(struct pack *pack, const void *bytes, size_t count);
/* Appends the whole of `fd` by sharing its blocks; `*offset` says where. -1 with errno where that cannot be done. */
int pack_share(struct pack *pack, int fd, uint64_t size, uint64_t *offset);
int pack_flush(struct pack *pack);
/* Flushes, closes, frees. 0, or -1 with errno. */
int pack_close(struct pack *pack);

#endif
