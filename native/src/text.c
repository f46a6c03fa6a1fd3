/* The growing byte string and JSON of common.h. */
#include "common.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void reserve(struct text *text, size_t more) {
    size_t needed = text->count + more + 1;
    if (needed <= text->capacity) {
        return;
    }
    size_t capacity = text->capacity == 0 ? 256 : text->capacity;
    while (capacity < needed) {
        capacity *= 2;
    }
    text->bytes = must_realloc(text->bytes, capacity);
    text->capacity = capacity;
}

void text_bytes(struct text *text, const void *bytes, size_t count) {
    reserve(text, count);
    if (count > 0) {
        memcpy(text->bytes + text->count, bytes, count);
    }
    text->count += count;
    text->bytes[text->count] = '\0';
}

int text_whole(struct text *text, int fd) {
    char piece[1 << 16];
    for (;;) {
        ssize_t got = read(fd, piece, sizeof piece);
        if (got == 0) {
            return 0;
        }
        if (got > 0) {
            text_bytes(text, piece, (size_t)got);
        } else if (errno != EINTR) {
            return -1;
        }
    }
}

void text_add(struct text *text, const char *string) {
    text_bytes(text, string, strlen(string));
}

void text_format(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *made = NULL;
    int count = vasprintf(&made, format, arguments);
    va_end(arguments);
    if (count < 0) {
        die(EXIT_FAILED, "memory", "out of memory");
    }
    text_bytes(text, made, (size_t)count);
    free(made);
}

void text_free(struct text *text) {
    free(text->bytes);
    *text = (struct text){0};
}

/* A comma, unless this is the first value of its object or array or follows a key. */
static void separate(struct text *text) {
    if (text->count > 0 && strchr("{[:", text->bytes[text->count - 1]) == NULL) {
        text_add(text, ",");
    }
}

void json_open(struct text *text, char bracket) {
    separate(text);
    text_bytes(text, &bracket, 1);
}

void json_close(struct text *text, char bracket) {
    text_bytes(text, &bracket, 1);
}

/* Length of the UTF-8 character at `at` (of `left` bytes), 0 when it is none: overlong and surrogates are none. */
static size_t utf8_length(const unsigned char *at, size_t left) {
    if (at[0] < 0x80) {
        return 1;
    }
    size_t length = at[0] >= 0xc2 && at[0] <= 0xdf ? 2 : (at[0] & 0xf0) == 0xe0 ? 3 : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4 : 0;
    if (length == 0 || length > left) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool outside = (at[0] == 0xed && at[1] >= 0xa0) || (at[0] == 0xf4 && at[1] >= 0x90);
    return overlong || outside ? 0 : length;
}

static void quote(struct text *text, const char *bytes, size_t count) {
    reserve(text, count + 2);
    text_add(text, "\"");
    size_t at = 0;
    while (at < count) {
        unsigned char byte = (unsigned char)bytes[at];
        size_t length = utf8_length((const unsigned char *)bytes + at, count - at);
        if (byte == '"' || byte == '\\') {
            text_format(text, "\\%c", byte);
        } else if (byte < 0x20 || byte == 0x7f) {
            text_format(text, "\\u%04x", byte);
        } else if (length == 0) {
            text_add(text, "\\ufffd");
        } else {
            text_bytes(text, bytes + at, length);
        }
        at += length == 0 ? 1 : length;
    }
    text_add(text, "\"");
}

void json_key(struct text *text, const char *key) {
    separate(text);
    quote(text, key, strlen(key));
    text_add(text, ":");
}

void json_string(struct text *text, const char *string) {
    json_bytes(text, string, strlen(string));
}

void json_bytes(struct text *text, const char *bytes, size_t count) {
    separate(text);
    quote(text, bytes, count);
}

void json_number(struct text *text, int64_t number) {
    separate(text);
    text_format(text, "%lld", (long long)number);
}

void json_real(struct text *text, double number) {
    separate(text);
    text_format(text, "%.3f", isfinite(number) ? number : 0.0);
}

void json_bool(struct text *text, bool value) {
    separate(text);
    text_add(text, value ? "true" : "false");
}

void json_null(struct text *text) {
    separate(text);
    text_add(text, "null");
}

void report(struct text *line) {
    text_add(line, "\n");
    if (report_fd >= 0 && write_all(report_fd, line->bytes, line->count) != 0) {
        /* Whoever asked for reports is gone; a failure here must not hide what the program itself says. */
        report_fd = -1;
    }
    text_free(line);
}
