/* JSON strings of any bytes: what is written is UTF-8 without control characters, between its quotes. */
#include "fuzz.h"

#include "../src/common.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    struct text text = {0};
    json_bytes(&text, (const char *)bytes, count);
    if (text.count < 2 || text.bytes[0] != '"' || text.bytes[text.count - 1] != '"') {
        abort();
    }
    for (size_t i = 0; i < text.count; i++) {
        if ((unsigned char)text.bytes[i] < 0x20) {
            abort();
        }
    }
    text_free(&text);
    return 0;
}
