/* Where in the tree a directory of the walk is. */
#include "clone.h"

#include <stdlib.h>
#include <string.h>

char *clone_path(const struct node *node, const char *name) {
    size_t length = name ? strlen(name) : 0;
    for (const struct node *at = node; at && at->parent; at = at->parent) {
        length += strlen(at->name) + (length > 0);
    }
    char *path = must_alloc(length + 1);
    size_t end = length;
    path[end] = 0;
    if (name) {
        end -= strlen(name);
        memcpy(path + end, name, strlen(name));
    }
    for (const struct node *at = node; at && at->parent; at = at->parent) {
        if (end < length) {
            path[--end] = '/';
        }
        end -= strlen(at->name);
        memcpy(path + end, at->name, strlen(at->name));
    }
    return path;
}

bool clone_in_objects(const struct node *node) {
    bool store = false;
    for (const struct node *at = node; at->parent; at = at->parent) {
        store = store || strcmp(at->name, "objects") == 0 || strcmp(at->name, "lfs") == 0;
        if (store && strcmp(at->name, ".git") == 0) {
            return true;
        }
    }
    return false;
}

bool clone_in_vendored(const struct node *node) {
    static const char *const names[] = {"node_modules", ".venv", "venv", "site-packages", "vendor", "target"};
    for (const struct node *at = node; at->parent; at = at->parent) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            if (strcmp(at->name, names[i]) == 0) {
                return true;
            }
        }
    }
    return false;
}
