/* Questions to the resolver: any bytes, twice, so that a name is new and known. */
#include "fuzz.h"

#include "../src/resolver.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    if (count > DNS_BYTES_MOST) {
        return 0;
    }
    uint8_t *copy = malloc(count + 1);
    memcpy(copy, bytes, count);
    struct names names = {0};
    for (int turn = 0; turn < 2; turn++) {
        uint8_t answer[DNS_BYTES_MOST];
        struct question question;
        size_t answered = resolver_answer(&names, copy, count, turn == 0, answer, &question);
        if (answered > DNS_BYTES_MOST || (question.fresh && turn == 1)) {
            abort();
        }
    }
    names_free(&names);
    free(copy);
    return 0;
}
