/* publish: reads a plan, then prepares, applies or takes it back. PROTOCOL.md has the plan and the reports. */
#include "publish.h"

#include "commands.h"
#include "common.h"
#include "fault.h"
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

static const char magic[] = "holdfast-publish-2";

static const struct {
    const char *name;
    enum op_kind kind;
} kinds[] = {
    {"put", OP_PUT}, {"remove", OP_REMOVE}, {"rmdir", OP_RMDIR}, {"mkdir", OP_MKDIR}, {"mode", OP_MODE},
};

void format_identity(const struct stat *found, char text[static IDENTITY_BYTES]) {
    bool directory = S_ISDIR(found->st_mode);
    int64_t mtime = (int64_t)found->st_mtim.tv_sec * 1000000000 + found->st_mtim.tv_nsec;
    int64_t ctime = (int64_t)found->st_ctim.tv_sec * 1000000000 + found->st_ctim.tv_nsec;
    snprintf(text, IDENTITY_BYTES, "%ju:%ju:%o:%jd:%" PRId64 "/%" PRId64, (uintmax_t)found->st_dev,
             (uintmax_t)found->st_ino, (unsigned)found->st_mode, directory ? (intmax_t)0 : (intmax_t)found->st_size,
             directory ? 0 : mtime, directory ? 0 : ctime);
}

bool is_same(const struct stat *found, const char *identity) {
    char text[IDENTITY_BYTES];
    format_identity(found, text);
    return strcmp(text, identity) == 0;
}

bool is_same_but_ctime(const struct stat *found, const char *identity) {
    char text[IDENTITY_BYTES];
    format_identity(found, text);
    return strncmp(text, identity, (size_t)(strchr(text, '/') - text) + 1) == 0;
}

bool is_same_inode(const struct stat *found, const char *identity) {
    char text[IDENTITY_BYTES];
    int length = snprintf(text, sizeof text, "%ju:%ju:", (uintmax_t)found->st_dev, (uintmax_t)found->st_ino);
    return strncmp(text, identity, (size_t)length) == 0;
}

int open_parent(struct publish *publish, const struct op *op, const char **name) {
    const char *slash = strrchr(op->path, '/');
    *name = slash == NULL ? op->path : slash + 1;
    size_t length = slash == NULL ? 0 : (size_t)(slash - op->path);
    if (publish->parent != -1 && length == publish->parent_length &&
        strncmp(publish->parent_of, op->path, length) == 0) {
        return publish->parent;
    }
    forget_parent(publish);
    char *path = strndup(op->path, length);
    publish->parent = FS(open_beneath(publish->root, path, O_PATH | O_DIRECTORY | O_CLOEXEC));
    free(path);
    publish->parent_of = op->path;
    publish->parent_length = length;
    return publish->parent;
}

void forget_parent(struct publish *publish) {
    if (publish->parent != -1) {
        close(publish->parent);
    }
    publish->parent = -1;
}

int is_empty_directory(int parent, const char *name) {
    int fd = FS(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd == -1) {
        return -1;
    }
    DIR *directory = fdopendir(fd);
    if (directory == NULL) {
        close(fd);
        return -1;
    }
    int empty = 1;
    errno = 0;
    for (struct dirent *item; empty == 1 && (item = readdir(directory)) != NULL;) {
        if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0) {
            empty = 0;
        }
    }
    if (empty == 1 && errno != 0) {
        empty = -1;
    }
    closedir(directory);
    return empty;
}

int rename_fresh(int from, const char *name, int to, const char *target) {
    int done = FS(renameat2(from, name, to, target, RENAME_NOREPLACE));
    if (done == 0 || (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)) {
        return done;
    }
    /* No such flag on this filesystem: a link never replaces anything either. */
    if (FS(linkat(from, name, to, target, 0)) == -1) {
        return -1;
    }
    return FS(unlinkat(from, name, 0));
}

void old_slot(const struct op *op, char name[static 64]) { snprintf(name, 64, "%s.old", op->slot); }

/* Reads all of standard input; the plan's strings point into it for the life of the process. */
static char *read_plan(size_t *count) {
    struct text plan = {0};
    char buffer[65536];
    for (ssize_t got; (got = read(STDIN_FILENO, buffer, sizeof buffer)) != 0;) {
        if (got == -1) {
            if (errno == EINTR) {
                continue;
            }
            die_errno(EXIT_FAILED, "read-plan", "cannot read the plan");
        }
        text_bytes(&plan, buffer, (size_t)got);
    }
    *count = plan.count;
    return plan.bytes;
}

struct fields {
    char *at;
    char *end;
};

static const char *next_field(struct fields *fields) {
    if (fields->at >= fields->end) {
        die(EXIT_USAGE, "plan", "the plan ends too early");
    }
    char *field = fields->at;
    char *stop = memchr(field, '\0', (size_t)(fields->end - field));
    if (stop == NULL) {
        die(EXIT_USAGE, "plan", "the plan's last field does not end");
    }
    fields->at = stop + 1;
    return field;
}

static enum op_kind kind_of(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return kinds[i].kind;
        }
    }
    die(EXIT_USAGE, "plan", "unknown operation %s", name);
}

static bool is_plain_path(const char *path) {
    for (const char *part = path;; part = strchr(part, '/') + 1) {
        size_t length = strcspn(part, "/");
        if (length == 0 || (length == 1 && part[0] == '.') || (length == 2 && part[0] == '.' && part[1] == '.') ||
            (length == 4 && strncasecmp(part, ".git", 4) == 0)) {
            return false;
        }
        if (part[length] == '\0') {
            return true;
        }
    }
}

static void parse_op(struct publish *publish, struct fields *fields) {
    struct op op;
    op.kind = kind_of(next_field(fields));
    op.stage = (size_t)parse_number(next_field(fields), 0, 1 << 20, "stage");
    op.slot = next_field(fields);
    op.path = next_field(fields);
    op.expected = next_field(fields);
    op.staged = next_field(fields);
    op.parent = next_field(fields);
    if (!is_plain_path(op.path)) {
        die(EXIT_REFUSED, "path", "not a path to publish to: %s", op.path);
    }
    if (op.stage >= publish->stage_count || strchr(op.slot, '/') != NULL || strlen(op.slot) > 32) {
        die(EXIT_USAGE, "plan", "no such slot");
    }
    if ((publish->op_count & (publish->op_count + 1)) == 0) {
        publish->ops = must_realloc(publish->ops, (publish->op_count + 1) * 2 * sizeof op);
    }
    publish->ops[publish->op_count++] = op;
}

static int open_directory(const char *path, const char *step) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd == -1) {
        die_errno(errno == EACCES ? EXIT_REFUSED : EXIT_FAILED, step, "cannot open %s", path);
    }
    return fd;
}

static void parse_plan(struct publish *publish) {
    size_t count;
    char *bytes = read_plan(&count);
    struct fields fields = {bytes, bytes + count};
    if (count == 0 || strcmp(next_field(&fields), magic) != 0) {
        die(EXIT_USAGE, "plan", "not a plan of this version");
    }
    publish->root = open_directory(next_field(&fields), "open-root");
    const char *identity = next_field(&fields);
    struct stat found;
    if (fstat(publish->root, &found) == -1 || !is_same_inode(&found, identity)) {
        die(EXIT_FAILED, "root-identity", "the workspace is not the directory it was");
    }
    publish->stage_count = (size_t)parse_number(next_field(&fields), 0, 4096, "stages");
    publish->stages = must_alloc((publish->stage_count + 1) * sizeof *publish->stages);
    for (size_t i = 0; i < publish->stage_count; i++) {
        publish->stages[i] = open_directory(next_field(&fields), "open-stage");
    }
    while (fields.at < fields.end) {
        parse_op(publish, &fields);
    }
}

static void report_index(const char *type, size_t index, int problem) {
    struct text line = {0};
    json_open(&line, '{');
    json_key(&line, "type");
    json_string(&line, type);
    json_key(&line, "index");
    json_number(&line, (int64_t)index);
    if (problem != 0) {
        json_key(&line, "errno");
        json_number(&line, problem);
        json_key(&line, "reason");
        json_string(&line, strerror(problem));
    }
    json_close(&line, '}');
    report(&line);
}

static void report_plain(const char *type) {
    struct text line = {0};
    json_open(&line, '{');
    json_key(&line, "type");
    json_string(&line, type);
    json_close(&line, '}');
    report(&line);
}

/* Takes back the first `count` operations, last first, and makes that durable. */
static int roll_back(struct publish *publish, size_t count) {
    bool clean = true;
    for (size_t i = count; i-- > 0;) {
        int problem = 0;
        if (!rollback_op(publish, &publish->ops[i], &problem)) {
            report_index("leftAlone", i, 0);
        }
        if (problem != 0) {
            clean = false;
            report_index("stuck", i, problem);
        }
    }
    if (publish_sync(publish) == -1) {
        report_index("stuck", 0, errno);
        clean = false;
    }
    report_plain(clean ? "takenBack" : "unfinished");
    return clean ? 0 : EXIT_FAILED;
}

static int apply_all(struct publish *publish, bool resume) {
    for (size_t i = 0; i < publish->op_count; i++) {
        enum op_result result = apply_op(publish, &publish->ops[i]);
        if (result == OP_DONE) {
            continue;
        }
        report_index(result == OP_CHANGED ? "changed" : "failed", i, result == OP_CHANGED ? 0 : errno);
        return resume ? EXIT_FAILED : roll_back(publish, i + 1);
    }
    if (publish_sync(publish) == -1) {
        report_index("failed", 0, errno);
        return resume ? EXIT_FAILED : roll_back(publish, publish->op_count);
    }
    report_plain("done");
    return 0;
}

/* Tells what somebody changed since; touches nothing. */
static int tell_edited(struct publish *publish) {
    for (size_t i = 0; i < publish->op_count; i++) {
        if (was_edited(publish, &publish->ops[i])) {
            report_index("edited", i, 0);
        }
    }
    report_plain("done");
    return 0;
}

int publish_main(int argc, char **argv) {
    static const struct option known[] = {{"report-fd", required_argument, NULL, 'r'}, {NULL, 0, NULL, 0}};
    for (int code; (code = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (code != 'r') {
            die(EXIT_USAGE, "arguments", "publish --report-fd N prepare|apply|resume|edited|rollback");
        }
        report_fd = (int)parse_number(optarg, 0, 1 << 20, "--report-fd");
    }
    const char *verb = optind < argc ? argv[optind] : "";
    fault_verb(verb);
    /* Whoever started us holds the intent; without it, recover decides. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct publish publish = {.parent = -1};
    parse_plan(&publish);
    if (strcmp(verb, "prepare") == 0) {
        int done = publish_prepare(&publish);
        report_plain("done");
        return done;
    }
    /* One publish at a time in a workspace; the lock leaves no file and ends with the process. */
    while (flock(publish.root, LOCK_EX) == -1) {
        if (errno != EINTR) {
            die_errno(EXIT_FAILED, "lock", "cannot lock the workspace");
        }
    }
    if (strcmp(verb, "apply") == 0) {
        return apply_all(&publish, false);
    }
    if (strcmp(verb, "resume") == 0) {
        return apply_all(&publish, true);
    }
    if (strcmp(verb, "edited") == 0) {
        return tell_edited(&publish);
    }
    if (strcmp(verb, "rollback") == 0) {
        return roll_back(&publish, publish.op_count);
    }
    die(EXIT_USAGE, "arguments", "unknown verb %s", verb);
}
