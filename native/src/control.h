/* Commands to a running supervise: one per line. */
#ifndef HOLDFAST_CONTROL_H
#define HOLDFAST_CONTROL_H

#include "common.h"

enum control_verb { CONTROL_NONE, CONTROL_RESIZE, CONTROL_SIGNAL, CONTROL_FREEZE, CONTROL_THAW, CONTROL_KILL };

struct control {
    enum control_verb verb;
    int columns;
    int rows;
    int signal;
};

/* CONTROL_NONE for a line that is no command. */
struct control control_parse(const char *line);

/* The byte count of the head line "plan N", or -1. */
long control_plan_bytes(const char *line);

/* The head line and the plan's bytes; blocks until they are there, dies when they are wrong. */
void control_read_plan(int control, struct text *plan);

#endif
