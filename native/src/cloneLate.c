/* What is done when all threads have ended: further names of hard links, and directories whose mode shuts us out. */
#include "clone.h"
#include "fault.h"
#include "suspect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

bool clone_is_late_link(struct clone *clone, struct node *node, struct built *entry, const struct stat *stat,
                        struct hard_link **first) {
    size_t bucket = (stat->st_ino ^ stat->st_dev) % LINK_BUCKETS;
    pthread_mutex_lock(&clone->mutex);
    struct hard_link *link = clone->links[bucket];
    while (link && (link->ino != stat->st_ino || link->dev != stat->st_dev)) {
        link = link->next;
    }
    bool late = link != NULL;
    if (late) {
        struct late_link *more = must_alloc(sizeof *more);
        *more = (struct late_link){node, entry, link, clone->late_links};
        clone->late_links = more;
    } else {
        link = must_alloc(sizeof *link);
        *link = (struct hard_link){stat->st_dev, stat->st_ino, node, entry, false, clone->links[bucket]};
        clone->links[bucket] = link;
    }
    pthread_mutex_unlock(&clone->mutex);
    *first = link;
    return late;
}

static int open_node(const struct clone *clone, const struct node *node) {
    char *path = clone_path(node, NULL);
    int fd = FS(open_beneath(clone->shadow, path, O_RDONLY | O_DIRECTORY));
    free(path);
    return fd;
}

/* The name that was met first could not be read or is gone: this one is copied in its place. */
static void copy_instead(struct clone *clone, struct late_link *late, int shadow) {
    struct worker *worker = &clone->workers[0];
    struct manifest_entry *record = &late->entry->record;
    char *path = clone_path(late->node, NULL);
    int source = FS(open_beneath(clone->source, path, O_RDONLY | O_DIRECTORY));
    bool save = !clone_in_objects(late->node);
    bool inherited = source >= 0 && clone_suspend_inherited(shadow);
    enum outcome outcome =
        source < 0 ? UNREADABLE
                   : clone_file(clone, worker, late->node, late->entry, source, shadow, save);
    if (outcome == CLONED) {
        late->first->node = late->node;
        late->first->entry = late->entry;
        late->first->ready = true;
    } else if (outcome != FATAL) {
        record->flags = ENTRY_ABSENT | ENTRY_UNREADABLE;
        clone_unreadable(clone, late->node, late->entry->name, errno);
        worker->counts.unreadable++;
    }
    if (inherited) {
        clone_inherited(worker, source, shadow);
    }
    if (source >= 0) {
        close(source);
    }
    free(path);
}

/* Links one more name to a file that stands in the shadow, and puts the directory's times back. */
static void make_late_link(struct clone *clone, struct late_link *late) {
    struct worker *worker = &clone->workers[0];
    int to = open_node(clone, late->node);
    int from = late->first->ready ? open_node(clone, late->first->node) : -1;
    struct manifest_entry *original = &late->first->entry->record;
    const char *name = late->first->entry->name;
    if (to < 0 || (late->first->ready && from < 0)) {
        clone_fail(clone, late->node, late->entry->name, "create-hard-link");
    } else if (!late->first->ready) {
        copy_instead(clone, late, to);
    } else if (FS(linkat(from, name, to, late->entry->name, 0)) != 0) {
        clone_fail(clone, late->node, late->entry->name, "create-hard-link");
    } else {
        original->flags |= ENTRY_LINKED;
        if (clone_stat_shadow(worker, from, name, original) != 0) {
            clone_fail(clone, late->node, late->entry->name, "stat-shadow");
        }
        worker->counts.linked++;
        worker->counts.files++;
    }
    if (to >= 0 && !late->node->late && FS(futimens(to, late->node->times)) != 0) {
        clone_fail(clone, late->node, late->entry->name, "set-times");
    }
    if (from >= 0) {
        close(from);
    }
    if (to >= 0) {
        close(to);
    }
}

static unsigned depth_of(const struct node *node) {
    unsigned depth = 0;
    while (node->parent) {
        node = node->parent;
        depth++;
    }
    return depth;
}

static int deepest_first(const void *left, const void *right) {
    unsigned a = depth_of(*(struct node *const *)left);
    unsigned b = depth_of(*(struct node *const *)right);
    return a < b ? 1 : a > b ? -1 : 0;
}

/* Directories whose own mode shuts us out: deepest first, so that none hides one that is still to be done. */
static void finish_late_nodes(struct clone *clone) {
    size_t count = 0;
    for (struct node *node = clone->late_nodes; node; node = node->next) {
        count++;
    }
    struct node **nodes = must_alloc(count * sizeof *nodes);
    count = 0;
    for (struct node *node = clone->late_nodes; node; node = node->next) {
        nodes[count++] = node;
    }
    if (count > 1) {
        qsort(nodes, count, sizeof *nodes, deepest_first);
    }
    for (size_t i = 0; i < count && !clone->failed; i++) {
        int fd = open_node(clone, nodes[i]);
        if (fd < 0 || futimens(fd, nodes[i]->times) != 0 || fchmod(fd, nodes[i]->mode) != 0) {
            clone_fail(clone, nodes[i], NULL, "set-mode");
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    free(nodes);
}

void clone_finish_late(struct clone *clone) {
    for (struct late_link *at = clone->late_links; at && !clone->failed; at = at->next) {
        make_late_link(clone, at);
    }
    /* A second pass: every link changed the ctime of all of them. */
    for (struct late_link *at = clone->late_links; at && !clone->failed; at = at->next) {
        if (at->first->ready && at->first->entry != at->entry) {
            uint8_t suspect = at->entry->record.flags & ENTRY_SUSPECT;
            at->entry->record = at->first->entry->record;
            at->entry->record.flags |= suspect;
        }
    }
    finish_late_nodes(clone);
}

