#include "names.h"

#include "common.h"
#include "transparent.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 4 * TRANSPARENT_NAMES_MOST };

static uint32_t hash(const char *name) {
    uint32_t value = 2166136261u; /* FNV-1a */
    for (; *name != '\0'; name++) {
        value = (value ^ (uint8_t)*name) * 16777619u;
    }
    return value;
}

int32_t names_number(struct names *names, const char *name, bool *fresh) {
    *fresh = false;
    if (names->slots == NULL) {
        names->slots = must_alloc(SLOTS * sizeof *names->slots);
        names->list = must_alloc(TRANSPARENT_NAMES_MOST * sizeof *names->list);
        memset(names->slots, 0, SLOTS * sizeof *names->slots);
    }
    uint32_t slot = hash(name) % SLOTS;
    while (names->slots[slot] != 0) {
        uint32_t number = names->slots[slot] - 1;
        if (strcmp(names->list[number], name) == 0) {
            return (int32_t)number;
        }
        slot = (slot + 1) % SLOTS;
    }
    if (names->count == TRANSPARENT_NAMES_MOST) {
        return -1;
    }
    names->list[names->count] = must_strdup(name);
    names->slots[slot] = ++names->count;
    *fresh = true;
    return (int32_t)names->count - 1;
}

const char *names_name(const struct names *names, uint32_t number) {
    return number < names->count ? names->list[number] : NULL;
}

void names_free(struct names *names) {
    for (uint32_t i = 0; i < names->count; i++) {
        free(names->list[i]);
    }
    free(names->list);
    free(names->slots);
    *names = (struct names){0};
}
