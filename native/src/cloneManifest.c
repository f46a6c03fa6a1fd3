/* From the directories of the walk to records: breadth first, so that children are consecutive and follow their parent. */
#include "clone.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct writer {
    struct manifest_entry *records;
    uint64_t count;
    struct text names;
    uint64_t files, bytes;
};

static uint64_t count_entries(const struct node *node) {
    uint64_t total = node->count;
    for (uint32_t i = 0; i < node->count; i++) {
        if (node->entries[i].child) {
            total += count_entries(node->entries[i].child);
        }
    }
    return total;
}

static void add_entry(struct writer *writer, const struct built *entry, uint32_t parent) {
    struct manifest_entry *record = &writer->records[writer->count++];
    *record = entry->record;
    record->parent = parent;
    record->name_offset = writer->names.count;
    record->name_length = (uint32_t)strlen(entry->name);
    record->first_child = 0;
    record->child_count = 0;
    text_bytes(&writer->names, entry->name, record->name_length);
    if (record->type == TYPE_LINK && entry->target) {
        record->pack_offset = writer->names.count;
        text_bytes(&writer->names, entry->target, record->size);
    } else if (record->type == TYPE_LINK) {
        record->pack_offset = 0;
        record->size = 0;
    }
    if (record->type == TYPE_FILE && !(record->flags & ENTRY_ABSENT)) {
        writer->files++;
        writer->bytes += record->size;
    }
}

/* `queue` holds the directories in the order of their records. */
static void add_directories(struct writer *writer, struct node **queue, struct node *root) {
    uint64_t head = 0;
    uint64_t tail = 0;
    queue[tail++] = root;
    while (head < tail) {
        struct node *node = queue[head++];
        struct manifest_entry *own = &writer->records[node->index];
        own->first_child = (uint32_t)writer->count;
        own->child_count = node->count;
        for (uint32_t i = 0; i < node->count; i++) {
            struct node *child = node->entries[i].child;
            if (child) {
                child->index = (uint32_t)writer->count;
                queue[tail++] = child;
            }
            add_entry(writer, &node->entries[i], node->index);
        }
    }
}

int clone_write_manifest(struct clone *clone, const char *path) {
    uint64_t total = count_entries(clone->root) + 1;
    if (total > UINT32_MAX) {
        errno = EOVERFLOW;
        return -1;
    }
    struct writer writer = {.records = must_alloc(total * sizeof *writer.records), .count = 1};
    struct node **queue = must_alloc(total * sizeof(struct node *));
    writer.records[0] = (struct manifest_entry){.type = TYPE_DIRECTORY, .mode = clone->root->mode};
    add_directories(&writer, queue, clone->root);
    struct manifest_header header = {.magic = {'H', 'F', 'M', 'A', 'N', 'I', '0', '1'},
                                     .count = writer.count,
                                     .names_bytes = writer.names.count,
                                     .files = writer.files,
                                     .begun = clone->begun,
                                     .bytes = writer.bytes};
    int result = manifest_write(path, &header, writer.records, writer.names.bytes ? writer.names.bytes : "");
    int error = errno;
    free(queue);
    free(writer.records);
    text_free(&writer.names);
    errno = error;
    return result;
}
