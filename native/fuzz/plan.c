/* Launch plans: any bytes, with and without their last NUL. */
#include "fuzz.h"

#include "../src/common.h"
#include "../src/plan.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    char *copy = must_alloc(count + 1);
    memcpy(copy, bytes, count);
    copy[count] = '\0';
    for (size_t length = count; length <= count + 1; length++) {
        struct plan plan;
        if (plan_parse(&plan, copy, length) == NULL) {
            plan_find(&plan, PLAN_BWRAP);
            plan_allows(&plan, "ptrace");
            plan_limit(&plan, "seconds");
        }
        plan_free(&plan);
    }
    free(copy);
    return 0;
}
