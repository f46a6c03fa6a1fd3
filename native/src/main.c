/* holdfast-native: one program, one subcommand per job. PROTOCOL.md says what each takes and tells. */
#include "commands.h"
#include "common.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"probe", probe_main},
    {"supervise", supervise_main},
    {"init", init_main},
    {"bridge", bridge_main},
    {"hook", hook_main},
    {"connect", connect_main},
    {"clone", clone_main},
    {"scan", scan_main},
    {"contents", contents_main},
    {"remove", remove_main},
    {"settle", settle_main},
    {"subvolume", subvolume_main},
    {"fork-probe", fork_probe_main},
    {"overlay-scan", overlay_scan_main},
    {"overlay-hold", overlay_hold_main},
    {"suspects", suspects_main},
    {"publish", publish_main},
    {"resident", resident_main},
};

/* What agents start for each of their events: one word, so that it needs no shell. */
static const char hook_name[] = "holdfast-hook";

static bool is_called(const char *name, const char *path) {
    const char *last = path == NULL ? NULL : strrchr(path, '/');
    return path != NULL && strcmp(last == NULL ? path : last + 1, name) == 0;
}

int main(int argc, char **argv) {
    if (is_called(hook_name, argv[0])) {
        return hook_main(argc, argv);
    }
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    fprintf(stderr, "usage: holdfast-native COMMAND [ARGUMENT…], COMMAND one of:");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        fprintf(stderr, " %s", commands[i].name);
    }
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}
