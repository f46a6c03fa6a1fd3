/* clone: copies a tree as cheaply as the filesystem allows, saves the base, writes the manifest. PROTOCOL.md has the
 * arguments and the report. Whatever ends it, but SIGKILL, leaves nothing behind. */
#include "clone.h"

#include "commands.h"
#include "subvolume.h"
#include "suspect.h"
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct options {
    const char *from, *to, *manifest, *base, *spare, *spare_manifest, *known, *since, *freeze, *snapshot;
    const char **mounts;
    size_t mount_count;
    uint64_t save_limit;
    unsigned threads;
    bool share;
};

static atomic_bool *stop_flag;

static void on_signal(int signal) {
    (void)signal;
    atomic_store(stop_flag, true);
}

static void parse_options(struct options *options, int argc, char **argv) {
    static const struct option known[] = {
        {"report-fd", required_argument, NULL, 'r'}, {"from", required_argument, NULL, 'f'},
        {"to", required_argument, NULL, 't'},        {"manifest", required_argument, NULL, 'm'},
        {"base", required_argument, NULL, 'b'},      {"save-limit", required_argument, NULL, 's'},
        {"mount", required_argument, NULL, 'o'},     {"threads", required_argument, NULL, 'j'},
        {"no-share", no_argument, NULL, 'n'},        {"spare", required_argument, NULL, 'p'},
        {"spare-manifest", required_argument, NULL, 'l'}, {"known", required_argument, NULL, 'k'},
        {"since", required_argument, NULL, 'c'},
        {"freeze", required_argument, NULL, 'z'},         {"snapshot", required_argument, NULL, 'x'},
        {NULL, 0, NULL, 0},
    };
    *options = (struct options){.save_limit = 8 << 20, .threads = useful_threads(), .share = true};
    options->mounts = must_alloc((size_t)argc * sizeof *options->mounts);
    for (int code; (code = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (code) {
        case 'r': report_fd = (int)parse_number(optarg, 0, 1 << 20, "--report-fd"); break;
        case 'f': options->from = optarg; break;
        case 't': options->to = optarg; break;
        case 'm': options->manifest = optarg; break;
        case 'b': options->base = optarg; break;
        case 's': options->save_limit = (uint64_t)parse_number(optarg, 0, LONG_MAX, "--save-limit"); break;
        case 'o': options->mounts[options->mount_count++] = optarg; break;
        case 'j': options->threads = (unsigned)parse_number(optarg, 1, 8, "--threads"); break;
        case 'n': options->share = false; break;
        case 'p': options->spare = optarg; break;
        case 'l': options->spare_manifest = optarg; break;
        case 'k': options->known = optarg; break;
        case 'c': options->since = optarg; break;
        case 'z': options->freeze = optarg; break;
        case 'x': options->snapshot = optarg; break;
        default: die(EXIT_USAGE, "arguments", "clone: unknown option");
        }
    }
    if (!options->from || !options->manifest || optind != argc || !options->spare != !options->spare_manifest ||
        ((options->known || options->freeze) && options->to) || !options->freeze != !options->snapshot ||
        (options->since && (!options->known || !options->freeze))) {
        die(EXIT_USAGE, "arguments", "usage: clone --from DIR [--to DIR] --manifest FILE [--base DIR]");
    }
}

/* One snapshot that stays as the base, and one of it for the agent. */
static void freeze(struct clone *clone, const struct options *options) {
    struct stat stat;
    struct origin since;
    origin_before(clone);
    if (subvolume_snapshot(options->from, options->freeze, true) != 0) {
        die_errno(EXIT_FAILED, "freeze", "cannot freeze %s", options->from);
    }
    clone->frozen = open(options->freeze, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (clone->frozen < 0 || fstat(clone->frozen, &stat) != 0 ||
        subvolume_snapshot(options->freeze, options->snapshot, false) != 0) {
        int error = errno;
        remove_tree(AT_FDCWD, options->freeze);
        errno = error;
        die_errno(EXIT_FAILED, "freeze", "cannot make a snapshot of %s", options->freeze);
    }
    clone->root->mode = stat.st_mode & 07777;
    clone->root->times[1] = stat.st_mtim;
    bool told = options->since && origin_parse(&since, options->since);
    origin_after(clone, told ? &since : NULL, options->known);
    if (told && origin_take_all(clone, &since, options->manifest)) {
        clone->listed = true;
    } else if (options->since && !manifest_is_sound(&clone->spare.manifest)) {
        clone_forget_known(clone);
    } else {
        clone_know_directory(clone, clone->root);
    }
}

static void open_trees(struct clone *clone, const struct options *options) {
    struct stat stat;
    clone->source = open(options->from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (clone->source < 0 || fstat(clone->source, &stat) != 0) {
        die_errno(EXIT_FAILED, "open-source", "cannot open %s", options->from);
    }
    clone->root_device = stat.st_dev;
    clone->root = must_alloc(sizeof *clone->root);
    *clone->root = (struct node){
        .mode = stat.st_mode & 07777, .times = {stat.st_atim, stat.st_mtim}, .spare = NO_ENTRY};
    clone->known = -1;
    if (options->spare) {
        manifest_open(&clone->spare.manifest, options->spare_manifest);
    } else if (options->since) {
        clone->known = manifest_map(&clone->spare.manifest, options->known);
        clone->root->spare = 0;
    } else if (options->known) {
        manifest_open(&clone->spare.manifest, options->known);
        clone->root->spare = 0;
    }
    clone->base = -1;
    if (options->base) {
        clone->base = open(options->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (clone->base < 0) {
            die_errno(EXIT_FAILED, "open-base", "cannot open %s", options->base);
        }
    }
    clone->shadow = -1;
    clone->frozen = -1;
    if (options->freeze) {
        freeze(clone, options);
    }
    if (!options->to) {
        return;
    }
    bool taken = options->spare && clone_becomes_spare(clone, options->spare, options->to);
    if (!taken && FS(mkdir(options->to, 0700)) != 0) {
        die_errno(EXIT_FAILED, "create-shadow", "cannot create %s", options->to);
    }
    clone->shadow = open(options->to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (clone->shadow < 0) {
        int error = errno;
        remove_tree(AT_FDCWD, options->to);
        errno = error;
        die_errno(EXIT_FAILED, "create-shadow", "cannot open %s", options->to);
    }
}

/* Removes what this run made. What cannot be removed is told with the failure, by the path of the shadow. */
static void clean_up(struct clone *clone, const struct options *options) {
    char name[32];
    for (unsigned i = 0; i < 8 && clone->base >= 0; i++) {
        struct worker *worker = &clone->workers[i];
        if (worker->pack.made) {
            if (worker->pack.fd >= 0) {
                close(worker->pack.fd);
            }
            snprintf(name, sizeof name, "pack.%u", i);
            unlinkat(clone->base, name, 0);
        }
    }
    unlink(options->manifest);
    for (size_t i = 0; options->freeze && i < 2; i++) {
        const char *made = i == 0 ? options->snapshot : options->freeze;
        if (remove_tree(AT_FDCWD, made) != 0) {
            fprintf(stderr, "holdfast-native: %s is left behind: %s\n", made, strerror(errno));
        }
    }
    if (options->to && remove_tree(AT_FDCWD, options->to) != 0) {
        fprintf(stderr, "holdfast-native: %s is left behind: %s\n", options->to, strerror(errno));
    }
}

static _Noreturn void give_up(struct clone *clone, const struct options *options) {
    clean_up(clone, options);
    if (!clone->failed) {
        die(EXIT_FAILED, "stopped", "clone of %s was stopped", options->from);
    }
    errno = clone->failed_errno;
    if (errno == ENOSPC || errno == EDQUOT) {
        die_errno(EXIT_FAILED, clone->failed_step, "no room for the fork in %s (at %s)",
                  options->to ? options->to : options->manifest, clone->failed_path);
    }
    die_errno(EXIT_FAILED, clone->failed_step, "cannot clone %s/%s", options->from, clone->failed_path);
}

static bool start_workers(struct clone *clone, unsigned threads) {
    for (unsigned i = 0; i < threads; i++) {
        clone->workers[i].buffer = must_alloc(CLONE_BUFFER);
        if (clone->base >= 0 && pack_create(&clone->workers[i].pack, clone->base, (uint16_t)i) != 0) {
            clone_fail(clone, clone->root, NULL, "create-pack");
            return false;
        }
    }
    return true;
}

static bool close_packs(struct clone *clone, unsigned threads) {
    for (unsigned i = 0; i < threads && clone->base >= 0; i++) {
        struct pack *pack = &clone->workers[i].pack;
        clone->workers[i].counts.saved_bytes = pack_end(pack);
        if (pack_flush(pack) != 0) {
            clone_fail(clone, clone->root, NULL, "save-base");
            return false;
        }
    }
    for (unsigned i = 0; i < threads && clone->base >= 0; i++) {
        if (pack_close(&clone->workers[i].pack) != 0) {
            clone_fail(clone, clone->root, NULL, "save-base");
            return false;
        }
    }
    return true;
}

static int64_t coarse_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Later changes must get a later ctime than anything we made: file times come from the coarse clock. */
static void wait_for_tick(const struct clone *clone, unsigned threads) {
    int64_t last = 0;
    for (unsigned i = 0; i < threads; i++) {
        last = clone->workers[i].last_ctime > last ? clone->workers[i].last_ctime : last;
    }
    for (int i = 0; i < 100; i++) {
        if (coarse_now() > last) {
            return;
        }
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
}

static void add_count(struct text *line, const struct clone *clone, const char *key, size_t offset) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < 8; i++) {
        sum += *(const uint64_t *)(const void *)((const char *)&clone->workers[i].counts + offset);
    }
    json_key(line, key);
    json_number(line, (int64_t)sum);
}

static void add_origin(struct text *line, struct clone *clone) {
    if (clone->frozen < 0 || !origin_is_whole(clone)) {
        return;
    }
    for (unsigned i = 0; i < 8; i++) {
        const struct counts *counts = &clone->workers[i].counts;
        clone->origin.directories += counts->directories;
        clone->origin.links += counts->links;
        clone->origin.special += counts->special;
    }
    char *origin = origin_format(&clone->origin);
    json_key(line, "origin");
    json_string(line, origin);
    free(origin);
}

static void tell(struct clone *clone, double started) {
#define COUNT(member) {#member, offsetof(struct counts, member)}
    static const struct {
        const char *key;
        size_t offset;
    } counts[] = {COUNT(files),  COUNT(directories), COUNT(links),      COUNT(bytes),   COUNT(saved_bytes),
                  COUNT(shared), COUNT(copied),      COUNT(linked),     COUNT(sparse),  COUNT(special),
                  COUNT(vanished), COUNT(unreadable), COUNT(changing), COUNT(xattrs_lost), COUNT(kept)};
#undef COUNT
    struct text line = {0};
    json_open(&line, '{');
    json_key(&line, "type");
    json_string(&line, "cloned");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        add_count(&line, clone, counts[i].key, counts[i].offset);
    }
    json_key(&line, "milliseconds");
    json_real(&line, monotonic_ms() - started);
    json_key(&line, "left_out");
    json_open(&line, '[');
    text_bytes(&line, clone->unreadable.bytes, clone->unreadable.count);
    json_close(&line, ']');
    add_origin(&line, clone);
    json_close(&line, '}');
    report(&line);
}

int clone_main(int argc, char **argv) {
    static struct clone clone = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct options options;
    double started = monotonic_ms();
    parse_options(&options, argc, argv);
    fault_verb("clone");
    umask(0);
    want_descriptors(256);
    suspect_prepare();
    clone.mounts = options.mounts;
    clone.mount_count = options.mount_count;
    clone.save_limit = options.save_limit;
    clone.share = options.share;
    clone.any_device = options.freeze != NULL; /* a snapshot has the inodes' numbers and a device of its own */
    clone.begun = coarse_now();
    stop_flag = &clone.stop;
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    open_trees(&clone, &options);
    bool known = clone.listed || clone.root->known;
    if (!known && (!start_workers(&clone, options.threads) || !clone_tree(&clone, options.threads) ||
                   !close_packs(&clone, options.threads))) {
        give_up(&clone, &options);
    }
    if (!clone.listed && clone_write_manifest(&clone, options.manifest) != 0) {
        clone_fail(&clone, clone.root, NULL, "write-manifest");
        give_up(&clone, &options);
    }
    if (clone.shadow >= 0) {
        wait_for_tick(&clone, options.threads);
    }
    tell(&clone, started);
    return 0;
}
