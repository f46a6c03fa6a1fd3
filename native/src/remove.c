/* remove: deletes trees of ours whatever modes an agent has left in them (overlay's work/work has mode 000). */
#include "commands.h"
#include "common.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>

int remove_main(int argc, char **argv) {
    static const struct option known[] = {{"report-fd", required_argument, NULL, 'r'}, {NULL, 0, NULL, 0}};
    for (int code; (code = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (code != 'r') {
            die(EXIT_USAGE, "arguments", "usage: remove PATH…");
        }
        report_fd = (int)parse_number(optarg, 0, 1 << 20, "--report-fd");
    }
    want_descriptors(256);
    for (int i = optind; i < argc; i++) {
        if (remove_tree(AT_FDCWD, argv[i]) != 0) {
            die_errno(EXIT_FAILED, "remove", "cannot remove %s", argv[i]);
        }
    }
    struct text line = {0};
    json_open(&line, '{');
    json_key(&line, "type");
    json_string(&line, "removed");
    json_close(&line, '}');
    report(&line);
    return 0;
}
