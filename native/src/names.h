/* Names that were asked for, each with a number that stands for it in a made-up address. Bounded; nothing is forgotten. */
#ifndef HOLDFAST_NAMES_H
#define HOLDFAST_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NAME_BYTES_MOST = 253 };

struct names {
    char **list;
    uint32_t *slots; /* number + 1 by hash; 0 free */
    uint32_t count;
};

/* The number of a name (lower case, at most NAME_BYTES_MOST); *fresh tells whether it is new. -1: there are too many. */
int32_t names_number(struct names *names, const char *name, bool *fresh);

/* The name of a number, or NULL. */
const char *names_name(const struct names *names, uint32_t number);

void names_free(struct names *names);

#endif
