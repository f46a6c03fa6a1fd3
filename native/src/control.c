#include "control.h"

#include "common.h"
#include "plan.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 64 * 1024 };

/* Reads a decimal number in [1, most] and what ends it; -1 when there is none. */
static long number(const char **text, long most, char after) {
    char *rest = NULL;
    if (**text < '0' || **text > '9') {
        return -1;
    }
    errno = 0;
    long value = strtol(*text, &rest, 10);
    if (errno != 0 || value < 1 || value > most || *rest != after) {
        return -1;
    }
    *text = after == '\0' ? rest : rest + 1;
    return value;
}

static int signal_of(const char *name) {
    static const struct {
        const char *name;
        int signal;
    } signals[] = {{"SIGINT", SIGINT},   {"SIGTERM", SIGTERM}, {"SIGTSTP", SIGTSTP}, {"SIGCONT", SIGCONT},
                   {"SIGQUIT", SIGQUIT}, {"SIGHUP", SIGHUP},   {"SIGKILL", SIGKILL}};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (strcmp(name, signals[i].name) == 0) {
            return signals[i].signal;
        }
    }
    return 0;
}

struct control control_parse(const char *line) {
    struct control control = {0};
    if (strcmp(line, "freeze") == 0) {
        control.verb = CONTROL_FREEZE;
    } else if (strcmp(line, "thaw") == 0) {
        control.verb = CONTROL_THAW;
    } else if (strcmp(line, "kill") == 0) {
        control.verb = CONTROL_KILL;
    } else if (strncmp(line, "signal ", 7) == 0) {
        control.signal = signal_of(line + 7);
        control.verb = control.signal == 0 ? CONTROL_NONE : CONTROL_SIGNAL;
    } else if (strncmp(line, "resize ", 7) == 0) {
        const char *rest = line + 7;
        long columns = number(&rest, 65535, ' ');
        long rows = columns < 0 ? -1 : number(&rest, 65535, '\0');
        if (rows > 0) {
            control = (struct control){.verb = CONTROL_RESIZE, .columns = (int)columns, .rows = (int)rows};
        }
    }
    return control;
}

long control_plan_bytes(const char *line) {
    if (strncmp(line, "plan ", 5) != 0) {
        return -1;
    }
    const char *rest = line + 5;
    return number(&rest, PLAN_BYTES_MOST, '\0');
}

void control_read_plan(int control, struct text *plan) {
    char head[64];
    size_t count = 0;
    while (count + 1 < sizeof head && read(control, head + count, 1) == 1 && head[count] != '\n') {
        count++;
    }
    head[count] = '\0';
    long left = control_plan_bytes(head);
    if (left < 0) {
        die(EXIT_USAGE, "plan", "expected \"plan N\" on the control descriptor");
    }
    while (left > 0) {
        char bytes[PIECE_BYTES];
        ssize_t got = read(control, bytes, left < PIECE_BYTES ? (size_t)left : sizeof bytes);
        if (got <= 0) {
            die(EXIT_FAILED, "plan", "the plan ends too early");
        }
        text_bytes(plan, bytes, (size_t)got);
        left -= got;
    }
}
