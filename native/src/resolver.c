#include "resolver.h"

#include "common.h"
#include "transparent.h"

#include <ctype.h>
#include <string.h>

enum {
    HEAD_BYTES = 12,
    LABEL_MOST = 63,
    TYPE_A = 1,
    TYPE_AAAA = 28,
    CLASS_IN = 1,
    NO_ERROR = 0,
    FORMAT_ERROR = 1,
    SERVER_FAILURE = 2,
    NO_SUCH_NAME = 3,
    SECONDS_TO_LIVE = 60,
};

static unsigned read16(const uint8_t *bytes) {
    return (unsigned)bytes[0] << 8 | bytes[1];
}

static uint8_t *write16(uint8_t *at, unsigned value) {
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
    return at + 2;
}

/* Reads the question's name into `name`; returns the offset behind it, 0 when it is none. Only what a host's name is made
 * of: anything else could be read as something else further on. */
static size_t read_name(const uint8_t *message, size_t count, char *name) {
    size_t at = HEAD_BYTES;
    size_t length = 0;
    while (at < count && message[at] != 0) {
        size_t label = message[at++];
        if (label > LABEL_MOST || at + label > count || length + label + 1 > NAME_BYTES_MOST) {
            return 0;
        }
        if (length > 0) {
            name[length++] = '.';
        }
        for (size_t i = 0; i < label; i++) {
            int byte = message[at + i];
            if (!isalnum(byte) && byte != '-' && byte != '_') {
                return 0;
            }
            name[length++] = (char)tolower(byte);
        }
        at += label;
    }
    name[length] = '\0';
    return at < count && length > 0 ? at + 1 : 0;
}

static bool ends_with(const char *name, const char *end) {
    size_t count = strlen(name);
    size_t tail = strlen(end);
    return count >= tail && strcmp(name + count - tail, end) == 0;
}

static bool is_local(const char *name) {
    return strcmp(name, "localhost") == 0 || ends_with(name, ".localhost");
}

/* The address as bytes; 0 when there is none of that type. */
static size_t address_of(bool local, uint32_t number, unsigned type, bool six, uint8_t *address) {
    if (type == TYPE_A) {
        uint32_t value = local ? 0x7f000001u : TRANSPARENT_NAMES4 + number;
        write16(write16(address, value >> 16), value & 0xffff);
        return 4;
    }
    if (type != TYPE_AAAA || (!six && !local)) {
        return 0;
    }
    static const uint8_t prefix[16] = TRANSPARENT_PREFIX6;
    memcpy(address, prefix, sizeof prefix);
    if (local) {
        memset(address, 0, 15);
        address[15] = 1;
    } else {
        uint32_t value = TRANSPARENT_NAMES6 + number;
        write16(write16(address + 12, value >> 16), value & 0xffff);
    }
    return 16;
}

static size_t write_answer(const uint8_t *message, size_t question_end, unsigned code, const uint8_t *address, size_t count,
                           uint8_t *answer) {
    memcpy(answer, message, question_end);
    /* A response, recursion available; opcode and "recursion desired" as they came. */
    answer[2] = (uint8_t)(0x80 | (message[2] & 0x79));
    answer[3] = (uint8_t)(0x80 | code);
    bool whole = question_end > HEAD_BYTES;
    write16(answer + 4, whole ? 1 : 0);
    write16(answer + 6, count > 0 ? 1 : 0);
    write16(answer + 8, 0);
    write16(answer + 10, 0);
    uint8_t *at = answer + question_end;
    if (count > 0) {
        at = write16(at, 0xc000 | HEAD_BYTES);
        at = write16(at, count == 4 ? TYPE_A : TYPE_AAAA);
        at = write16(at, CLASS_IN);
        at = write16(write16(at, 0), SECONDS_TO_LIVE);
        at = write16(at, (unsigned)count);
        memcpy(at, address, count);
        at += count;
    }
    return (size_t)(at - answer);
}

size_t resolver_answer(struct names *names, const uint8_t *message, size_t count, bool six, uint8_t *answer,
                       struct question *question) {
    *question = (struct question){0};
    bool asks = count >= HEAD_BYTES && (message[2] & 0xf8) == 0 && read16(message + 4) == 1;
    if (!asks) {
        return 0;
    }
    size_t named = read_name(message, count, question->name);
    if (named == 0 || named + 4 > count) {
        question->name[0] = '\0';
        return write_answer(message, HEAD_BYTES, FORMAT_ERROR, NULL, 0, answer);
    }
    unsigned type = read16(message + named);
    size_t end = named + 4;
    if (read16(message + named + 2) != CLASS_IN || ends_with(question->name, ".arpa")) {
        return write_answer(message, end, NO_SUCH_NAME, NULL, 0, answer);
    }
    bool local = is_local(question->name);
    int32_t number = local ? 0 : names_number(names, question->name, &question->fresh);
    if (number < 0) {
        question->full = true;
        return write_answer(message, end, SERVER_FAILURE, NULL, 0, answer);
    }
    uint8_t address[16];
    size_t length = address_of(local, (uint32_t)number, type, six, address);
    return write_answer(message, end, NO_ERROR, address, length, answer);
}
