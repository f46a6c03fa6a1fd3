/*
 * The bounded runner where there is no libFuzzer: mutates the given seeds with a fixed generator for a number of
 * milliseconds. usage: TARGET MILLISECONDS SEED…
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INPUT_MOST = 8192 };

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint32_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

/* Changes, cuts, doubles or adds a few bytes. */
static size_t mutate(uint8_t *bytes, size_t count) {
    for (uint32_t turn = next() % 8; turn > 0; turn--) {
        size_t at = count == 0 ? 0 : next() % count;
        switch (next() % 5) {
            case 0:
                if (count > 0) {
                    bytes[at] = (uint8_t)next();
                }
                break;
            case 1:
                if (count > 0) {
                    bytes[at] ^= (uint8_t)(1u << (next() % 8));
                }
                break;
            case 2:
                count = at;
                break;
            case 3:
                if (count * 2 < INPUT_MOST) {
                    memmove(bytes + count, bytes, count);
                    count *= 2;
                }
                break;
            default:
                if (count + 1 < INPUT_MOST) {
                    bytes[count++] = (uint8_t)(next() % 3 == 0 ? 0 : next());
                }
        }
    }
    return count;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        return 2;
    }
    double end = now() + atof(argv[1]);
    long runs = 0;
    uint8_t *bytes = malloc(INPUT_MOST);
    while (bytes != NULL && now() < end) {
        size_t count = 0;
        if (argc > 2) {
            const char *seed = argv[2 + next() % (uint32_t)(argc - 2)];
            /* A seed on a command line cannot hold a NUL: | stands for it. */
            for (; seed[count] != '\0' && count < INPUT_MOST; count++) {
                bytes[count] = seed[count] == '|' ? 0 : (uint8_t)seed[count];
            }
        }
        count = mutate(bytes, count);
        uint8_t *exact = malloc(count == 0 ? 1 : count);
        memcpy(exact, bytes, count);
        LLVMFuzzerTestOneInput(exact, count);
        free(exact);
        runs++;
    }
    free(bytes);
    printf("%ld runs\n", runs);
    return 0;
}
