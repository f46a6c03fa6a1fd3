#include "common.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int report_fd = -1;

#ifdef __SANITIZE_ADDRESS__
const char *__asan_default_options(void);

/* A subcommand ends with all it has; and looking for leaks would need ptrace, which is denied inside. */
const char *__asan_default_options(void) {
    return "detect_leaks=0";
}
#endif

void json_error(struct text *line, const char *step, const char *message, int error) {
    json_open(line, '{');
    json_key(line, "type");
    json_string(line, "error");
    json_key(line, "step");
    json_string(line, step);
    json_key(line, "message");
    json_string(line, message);
    json_key(line, "errno");
    json_number(line, error);
    json_key(line, "reason");
    json_string(line, error == 0 ? "" : strerror(error));
    json_close(line, '}');
}

/* The middle of a long path says little. */
static void shorten(char *message) {
    enum { HEAD = 300, TAIL = 100 };
    static const char gap[] = " ... ";
    size_t length = strlen(message);
    if (length > HEAD + sizeof gap + TAIL) {
        memcpy(message + HEAD, gap, sizeof gap - 1);
        memmove(message + HEAD + sizeof gap - 1, message + length - TAIL, TAIL + 1);
    }
}

static _Noreturn void end(int exit_code, const char *step, int error, const char *format, va_list arguments) {
    char message[8192];
    vsnprintf(message, sizeof message, format, arguments);
    shorten(message);
    const char *reason = error == 0 ? "" : strerror(error);
    dprintf(STDERR_FILENO, "holdfast-native: %s%s%s\n", message, error == 0 ? "" : ": ", reason);
    if (report_fd >= 0) {
        struct text line = {0};
        json_error(&line, step, message, error);
        report(&line);
    }
    _exit(exit_code);
}

void die(int exit_code, const char *step, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    end(exit_code, step, 0, format, arguments);
}

void die_errno(int exit_code, const char *step, const char *format, ...) {
    int error = errno;
    va_list arguments;
    va_start(arguments, format);
    end(exit_code, step, error, format, arguments);
}

void *must_alloc(size_t bytes) {
    return must_realloc(NULL, bytes);
}

void *must_realloc(void *old, size_t bytes) {
    void *new = realloc(old, bytes == 0 ? 1 : bytes);
    if (new == NULL) {
        die(EXIT_FAILED, "memory", "out of memory (%zu bytes)", bytes);
    }
    return new;
}

char *must_strdup(const char *string) {
    size_t count = strlen(string) + 1;
    return memcpy(must_alloc(count), string, count);
}

char *must_format(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *result = NULL;
    if (vasprintf(&result, format, arguments) < 0) {
        die(EXIT_FAILED, "memory", "out of memory");
    }
    va_end(arguments);
    return result;
}

int write_all(int fd, const void *bytes, size_t count) {
    const char *at = bytes;
    while (count > 0) {
        ssize_t written = write(fd, at, count);
        if (written < 0) {
            if (errno == EINTR) {
                continue;
            }
            return -1;
        }
        at += written;
        count -= (size_t)written;
    }
    return 0;
}

int64_t now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

double monotonic_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

long parse_number(const char *text, long low, long high, const char *what) {
    char *rest = NULL;
    errno = 0;
    long number = strtol(text, &rest, 10);
    if (errno != 0 || rest == text || *rest != '\0' || number < low || number > high) {
        die(EXIT_USAGE, "arguments", "%s must be a number from %ld to %ld, not \"%s\"", what, low, high, text);
    }
    return number;
}
