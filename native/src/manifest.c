#include "manifest.h"

#include "common.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void check_header(const struct manifest *manifest, const char *path) {
    const struct manifest_header *header = manifest->header;
    uint64_t room = manifest->bytes - sizeof *header;
    if (memcmp(header->magic, "HFMANI01", 8) != 0 || header->count == 0 ||
        header->count > room / sizeof *manifest->entries ||
        header->noted > header->count ||
        header->names_bytes != room - header->count * sizeof *manifest->entries - header->noted * sizeof(uint32_t)) {
        die(EXIT_FAILED, "read-manifest", "%s is not a manifest", path);
    }
}

/* The number of the first record with an index out of bounds; `count` when there is none. */
static uint64_t find_damage(const struct manifest *manifest) {
    const struct manifest_header *header = manifest->header;
    for (uint64_t i = 0; i < header->count; i++) {
        const struct manifest_entry *entry = &manifest->entries[i];
        uint64_t end = (uint64_t)entry->first_child + entry->child_count;
        if (entry->name_offset > header->names_bytes || entry->name_length > header->names_bytes - entry->name_offset ||
            (i > 0 && entry->parent >= i) || (entry->child_count > 0 && (entry->first_child <= i || end > header->count)) ||
            (entry->type == TYPE_LINK && (entry->pack_offset > header->names_bytes ||
                                          entry->size > header->names_bytes - entry->pack_offset))) {
            return i;
        }
    }
    return header->count;
}

bool manifest_is_sound(const struct manifest *manifest) {
    return find_damage(manifest) == manifest->header->count;
}

static int map(struct manifest *manifest, const char *path, int flags) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat stat;
    if (fd < 0 || fstat(fd, &stat) != 0) {
        die_errno(EXIT_FAILED, "open-manifest", "cannot open %s", path);
    }
    if (stat.st_size < (off_t)sizeof(struct manifest_header)) {
        die(EXIT_FAILED, "read-manifest", "%s is not a manifest", path);
    }
    manifest->bytes = (size_t)stat.st_size;
    const char *start = mmap(NULL, manifest->bytes, PROT_READ, MAP_PRIVATE | flags, fd, 0);
    if (start == MAP_FAILED) {
        die_errno(EXIT_FAILED, "map-manifest", "cannot map %s", path);
    }
    manifest->header = (const void *)start;
    manifest->entries = (const void *)(start + sizeof(struct manifest_header));
    check_header(manifest, path);
    manifest->names = (const char *)(manifest->entries + manifest->header->count);
    return fd;
}

int manifest_map(struct manifest *manifest, const char *path) {
    return map(manifest, path, 0);
}

void manifest_open(struct manifest *manifest, const char *path) {
    close(map(manifest, path, MAP_POPULATE));
    uint64_t damaged = find_damage(manifest);
    if (damaged != manifest->header->count) {
        die(EXIT_FAILED, "read-manifest", "%s is damaged at record %llu", path, (unsigned long long)damaged);
    }
}

void manifest_close(struct manifest *manifest) {
    munmap((void *)(uintptr_t)manifest->header, manifest->bytes);
}

uint32_t manifest_child(const struct manifest *manifest, uint32_t directory, const char *name) {
    size_t length = strlen(name);
    uint32_t low = manifest->entries[directory].first_child;
    uint32_t high = low + manifest->entries[directory].child_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct manifest_entry *entry = &manifest->entries[middle];
        size_t common = entry->name_length < length ? entry->name_length : length;
        int order = memcmp(manifest->names + entry->name_offset, name, common);
        if (order == 0 && entry->name_length == length) {
            return middle;
        }
        if (order < 0 || (order == 0 && entry->name_length < length)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NO_ENTRY;
}
