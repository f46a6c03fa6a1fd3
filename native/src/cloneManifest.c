/* From the directories of the walk to records: breadth first, so that children are consecutive and follow their parent. What is
 * written is not kept: a large tree's records would take more memory, and more time to get it, than the walk itself. */
#include "clone.h"
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { RECORDS_AT_ONCE = 2048 };

struct writer {
    int fd;
    struct manifest_entry *records; /* those that are not written yet */
    unsigned waiting;
    struct manifest_header header; /* its counts are of what was added */
    uint64_t next_child; /* record of the next directory's first child */
    struct text names;
    struct text noted;
    struct node *last; /* of those whose entries are to be added */
    bool failed;
};

static void flush(struct writer *writer) {
    size_t bytes = writer->waiting * sizeof *writer->records;
    writer->failed = writer->failed || FS(write_all(writer->fd, writer->records, bytes)) != 0;
    writer->waiting = 0;
}

/* `record` has what was found of the entry; `children` are a directory's. */
static void add(struct writer *writer, struct manifest_entry record, const char *name, size_t length, const char *target,
                uint32_t parent, uint32_t children) {
    record.parent = parent;
    record.name_offset = writer->names.count;
    record.name_length = (uint32_t)length;
    record.first_child = record.type == TYPE_DIRECTORY ? (uint32_t)writer->next_child : 0;
    record.child_count = children;
    writer->next_child += children;
    text_bytes(&writer->names, name, length);
    if (record.type == TYPE_LINK) {
        record.pack_offset = target ? writer->names.count : 0;
        record.size = target ? record.size : 0;
        text_bytes(&writer->names, target ? target : "", record.size);
    } else if (record.type == TYPE_FILE && !(record.flags & ENTRY_ABSENT)) {
        writer->header.files++;
        writer->header.bytes += record.size;
    }
    if (record.flags & (ENTRY_SUSPECT | ENTRY_LINKED) || (length == 4 && memcmp(name, ".git", 4) == 0)) {
        uint32_t index = (uint32_t)writer->header.count;
        text_bytes(&writer->noted, &index, sizeof index);
        writer->header.noted++;
    }
    writer->header.count++;
    writer->records[writer->waiting++] = record;
    if (writer->waiting == RECORDS_AT_ONCE) {
        flush(writer);
    }
}

/* Puts a directory at the end of those whose entries are to be added. */
static void follow(struct writer *writer, struct node *child) {
    child->index = (uint32_t)writer->header.count;
    child->next = NULL;
    writer->last->next = child;
    writer->last = child;
}

/* Where the filesystem tells what has changed, a directory is known with all that is below it, and counts now. */
static void add_known(struct writer *writer, struct clone *clone, const struct node *node) {
    struct counts *counts = &clone->workers[0].counts;
    const struct manifest *known = &clone->spare.manifest;
    const struct manifest_entry *entry = &known->entries[known->entries[node->spare].first_child];
    counts->directories += clone->marks != NULL;
    for (uint32_t i = 0; i < node->count; i++, entry++) {
        struct manifest_entry record = *entry;
        uint32_t children = 0;
        if (clone->marks) {
            clone_count_known(counts, entry);
        } else if (record.type == TYPE_FILE) {
            record.looked = LOOKED_EARLIER;
        }
        if (record.type == TYPE_DIRECTORY) {
            struct node *child = must_alloc(sizeof *child);
            children = entry->child_count;
            *child = (struct node){.spare = (uint32_t)(entry - known->entries), .count = children, .known = true};
            follow(writer, child);
        }
        const char *target = entry->type == TYPE_LINK ? known->names + entry->pack_offset : NULL;
        add(writer, record, known->names + entry->name_offset, entry->name_length, target, node->index, children);
    }
}

static void add_directories(struct writer *writer, struct clone *clone) {
    writer->last = clone->root;
    clone->root->next = NULL; /* from here on it links those whose entries are to be added */
    for (struct node *node = clone->root; node && !writer->failed; node = node->next) {
        if (node->known) {
            add_known(writer, clone, node);
            continue;
        }
        for (uint32_t i = 0; i < node->count; i++) {
            struct built *entry = &node->entries[i];
            if (entry->child) {
                follow(writer, entry->child);
            }
            add(writer, entry->record, entry->name, strlen(entry->name), entry->target, node->index,
                entry->child ? entry->child->count : 0);
        }
    }
}

static int write_records(struct clone *clone, int fd) {
    struct writer writer = {
        .fd = fd,
        .records = must_alloc(RECORDS_AT_ONCE * sizeof *writer.records),
        .header = {.magic = {'H', 'F', 'M', 'A', 'N', 'I', '0', '1'}, .begun = clone->begun, .identity = clone->origin.identity},
        .next_child = 1,
    };
    writer.failed = FS(write_all(fd, &writer.header, sizeof writer.header)) != 0;
    struct manifest_entry top = {
        .type = TYPE_DIRECTORY, .mode = clone->root->mode, .mtime = NANOSECONDS(clone->root->times[1])};
    add(&writer, top, "", 0, NULL, 0, clone->root->count);
    add_directories(&writer, clone);
    flush(&writer);
    writer.header.names_bytes = writer.names.count;
    if (!writer.failed && writer.header.count > UINT32_MAX) {
        errno = EOVERFLOW;
        writer.failed = true;
    }
    writer.failed = writer.failed || FS(write_all(fd, writer.names.bytes, writer.names.count)) != 0 ||
                    write_all(fd, writer.noted.bytes, writer.noted.count) != 0 || lseek(fd, 0, SEEK_SET) != 0 ||
                    FS(write_all(fd, &writer.header, sizeof writer.header)) != 0;
    int error = errno;
    free(writer.records);
    text_free(&writer.names);
    text_free(&writer.noted);
    errno = error;
    return writer.failed ? -1 : 0;
}

int clone_write_manifest(struct clone *clone, const char *path) {
    uint64_t *identity = &clone->origin.identity;
    if (getrandom(identity, sizeof *identity, 0) != sizeof *identity) {
        *identity = 0; /* nobody begins with it */
    }
    char *temporary = must_format("%s.new", path);
    int fd = FS(open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
    int result = fd < 0 ? -1 : write_records(clone, fd);
    int error = errno;
    if (fd >= 0 && (close(fd) != 0 || result != 0 || FS(rename(temporary, path)) != 0)) {
        error = result != 0 ? error : errno;
        result = -1;
        unlink(temporary);
    }
    free(temporary);
    errno = error;
    return result;
}
