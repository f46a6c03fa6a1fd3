/* overlay-hold: overlays in a mount namespace of its own, for somebody who writes through them from outside. */
#include "commands.h"
#include "common.h"
#include "mounts.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { FIELDS = 4 };

int overlay_hold_main(int argc, char **argv) {
    static const struct option known[] = {{"report-fd", required_argument, NULL, 'r'}, {NULL, 0, NULL, 0}};
    static const char usage[] = "usage: overlay-hold AT LOWER UPPER WORK [AT LOWER UPPER WORK]…";
    for (int code; (code = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (code != 'r') {
            die(EXIT_USAGE, "arguments", "%s", usage);
        }
        report_fd = (int)parse_number(optarg, 0, 1 << 20, "--report-fd");
    }
    int count = argc - optind;
    if (count == 0 || count % FIELDS != 0) {
        die(EXIT_USAGE, "arguments", "%s", usage);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct plan plan = {.count = (size_t)(count / FIELDS)};
    plan.records = must_alloc(plan.count * sizeof *plan.records);
    for (size_t i = 0; i < plan.count; i++) {
        plan.records[i] = (struct plan_record){.verb = PLAN_OVERLAY};
        memcpy(plan.records[i].fields, argv + optind + i * FIELDS, sizeof plan.records[i].fields);
    }
    mounts_overlay(&plan, -1);
    struct text line = {0};
    json_open(&line, '{');
    json_key(&line, "type");
    json_string(&line, "mounted");
    json_close(&line, '}');
    report(&line);
    char bytes[256];
    while (read(STDIN_FILENO, bytes, sizeof bytes) > 0) {
        /* until whoever started us is done */
    }
    free(plan.records);
    return 0;
}
