/*
 * hook: hands one hook event to the supervisor and gets out of the agent's way. Standard input is the agent's JSON; what
 * goes to the socket is one line {"at":ms,"event":NAME,"data":JSON}. The payload is passed on as it is, only newlines
 * outside of strings become spaces (inside of strings JSON has none), so multi-megabyte payloads cost a copy and no
 * parse. Always exits 0: a hook that fails must not stop the agent; the supervisor misses the event and says so.
 */
#include "commands.h"
#include "common.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { PAYLOAD_MOST = 64 * 1024 * 1024, READ_BYTES = 64 * 1024, SEND_SECONDS = 2, STDIN_MS = 2000 };

/* The value of "hook_event_name", wherever it stands; for the supervisor's convenience only. */
static void find_event(const struct text *payload, char *name, size_t capacity) {
    static const char key[] = "\"hook_event_name\"";
    const char *end = payload->bytes + payload->count;
    const char *at = memmem(payload->bytes, payload->count, key, sizeof key - 1);
    name[0] = '\0';
    if (at == NULL) {
        return;
    }
    at += sizeof key - 1;
    while (at < end && (*at == ' ' || *at == ':' || *at == '\t' || *at == '\n' || *at == '\r')) {
        at++;
    }
    size_t count = 0;
    if (at < end && *at++ == '"') {
        while (at < end && *at != '"' && *at != '\\' && count + 1 < capacity) {
            name[count++] = *at++;
        }
    }
    name[count] = '\0';
}

static void read_payload(struct text *payload) {
    char *buffer = must_alloc(READ_BYTES);
    while (payload->count < PAYLOAD_MOST) {
        struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
        if (poll(&input, 1, STDIN_MS) == 0) {
            break;
        }
        ssize_t got = read(STDIN_FILENO, buffer, READ_BYTES);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        text_bytes(payload, buffer, (size_t)got);
    }
    free(buffer);
}

static int connect_supervisor(void) {
    const char *path = getenv("HOLDFAST_AGENT_SOCK");
    if (path == NULL || *path == '\0') {
        path = "/run/holdfast/agent.sock";
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        return -1;
    }
    strcpy(address.sun_path, path);
    int agent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {.tv_sec = SEND_SECONDS};
    setsockopt(agent, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (agent >= 0 && connect(agent, (struct sockaddr *)&address, sizeof address) != 0) {
        close(agent);
        return -1;
    }
    return agent;
}

int hook_main(int argc, char **argv) {
    int64_t at = now_ms();
    struct text payload = {0};
    text_add(&payload, "");
    read_payload(&payload);
    int agent = connect_supervisor();
    if (agent < 0) {
        return 0;
    }
    char event[128];
    find_event(&payload, event, sizeof event);
    for (size_t i = 0; i < payload.count; i++) {
        if (payload.bytes[i] == '\n' || payload.bytes[i] == '\r') {
            payload.bytes[i] = ' ';
        }
    }
    struct text head = {0};
    json_open(&head, '{');
    json_key(&head, "at");
    json_number(&head, at);
    json_key(&head, "event");
    json_string(&head, argc > 1 ? argv[1] : event);
    json_key(&head, "data");
    text_add(&payload, payload.count == 0 ? "null}\n" : "}\n");
    struct text line = {0};
    text_bytes(&line, head.bytes, head.count);
    text_bytes(&line, payload.bytes, payload.count);
    if (write_all(agent, line.bytes, line.count) != 0) {
        return 0;
    }
    close(agent);
    return 0;
}
