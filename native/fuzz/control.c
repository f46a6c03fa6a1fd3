/* Command lines of supervise, and the head line. */
#include "fuzz.h"

#include "../src/common.h"
#include "../src/control.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    char *line = must_alloc(count + 1);
    memcpy(line, bytes, count);
    line[count] = '\0';
    struct control control = control_parse(line);
    if (control.verb == CONTROL_RESIZE && (control.columns < 1 || control.rows < 1)) {
        abort();
    }
    if (control.verb == CONTROL_SIGNAL && control.signal == 0) {
        abort();
    }
    long length = control_plan_bytes(line);
    if (length == 0 || length < -1) {
        abort();
    }
    free(line);
    return 0;
}
