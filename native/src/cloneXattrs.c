/*
 * Extended attributes, access lists among them.
 *
 * Invariant: nothing that is made in the shadow gets what its source has not. A directory's default access list goes to
 * whatever is made in it, so a directory of the shadow has none until all its entries are made.
 */
#include "clone.h"
#include "fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

enum { XATTR_NAMES = 65536 };

#define DEFAULT_ACL "system.posix_acl_default"

static void copy_xattr(struct worker *worker, int from, int to, const char *name) {
    char value[4096];
    ssize_t size = fgetxattr(from, name, value, sizeof value);
    char *large = NULL;
    if (size < 0 && errno == ERANGE) {
        large = must_alloc(65536);
        size = fgetxattr(from, name, large, 65536);
    }
    if (size < 0 || fsetxattr(to, name, large ? large : value, (size_t)size, 0) != 0) {
        worker->counts.xattrs_lost++;
    }
    free(large);
}

bool clone_xattrs(struct worker *worker, int from, int to) {
    char names[4096];
    bool inherited = false;
    ssize_t count = flistxattr(from, names, sizeof names);
    char *large = NULL;
    if (count < 0 && errno == ERANGE) {
        large = must_alloc(XATTR_NAMES);
        count = flistxattr(from, large, XATTR_NAMES);
    }
    const char *list = large ? large : names;
    for (ssize_t at = 0; at < count; at += (ssize_t)strlen(list + at) + 1) {
        const char *name = list + at;
        if (strcmp(name, DEFAULT_ACL) == 0) {
            inherited = true;
        } else if (strncmp(name, "trusted.", 8) != 0 && strcmp(name, "security.selinux") != 0) {
            copy_xattr(worker, from, to, name);
        } /* those are of the filesystem it is on, not of the file */
    }
    free(large);
    return inherited;
}

/* `security.` is the system's own affair. */
bool clone_drop_xattrs(struct place *at) {
    char few[1024];
    char *many = NULL;
    ssize_t count = FS(flistxattr(at->shadow, few, sizeof few));
    if (count < 0 && errno == ERANGE) {
        many = must_alloc(XATTR_NAMES);
        count = flistxattr(at->shadow, many, XATTR_NAMES);
    }
    bool done = count >= 0 || errno == EOPNOTSUPP;
    const char *list = many ? many : few;
    for (ssize_t next = 0; done && next < count; next += (ssize_t)strlen(list + next) + 1) {
        const char *name = list + next;
        bool stays = strncmp(name, "security.", 9) == 0 || strncmp(name, "trusted.", 8) == 0 ||
                     (strcmp(name, DEFAULT_ACL) != 0 && at->source >= 0 &&
                      fgetxattr(at->source, name, NULL, 0) >= 0);
        done = stays || fremovexattr(at->shadow, name) == 0;
    }
    free(many);
    return done;
}

void clone_inherited(struct worker *worker, int from, int to) {
    copy_xattr(worker, from, to, DEFAULT_ACL);
}

bool clone_suspend_inherited(int to) {
    return fremovexattr(to, DEFAULT_ACL) == 0;
}
