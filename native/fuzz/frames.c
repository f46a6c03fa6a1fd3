/* The stream between init and supervise: whatever comes, frames or their end, and no byte is made up. */
#include "fuzz.h"

#include "../src/frames.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { INPUT_MOST = 32 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    int ends[2];
    if (count > INPUT_MOST || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return 0;
    }
    if (write(ends[1], bytes, count) != (ssize_t)count) {
        abort();
    }
    close(ends[1]);
    size_t total = 0;
    struct frame frame;
    while (frame_receive(ends[0], &frame) == 1) {
        total += frame.count + 5;
        frame_free(&frame);
    }
    close(ends[0]);
    if (total > count) {
        abort();
    }
    return 0;
}
