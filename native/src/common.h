/*
 * What every subcommand shares: ending with a named step, allocation that cannot fail, exact writes, and reports.
 *
 * A report is one JSON object on one line, written whole to the descriptor that --report-fd named (`report_fd`). Before
 * any failure exit the line {"type":"error","step":…,"message":…,"errno":…} is written there; stderr gets the same in
 * words. Exit codes: 0 done, 1 failed, 2 wrong arguments, 3 refused (this machine or user may not).
 */
#ifndef HOLDFAST_COMMON_H
#define HOLDFAST_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_REFUSED = 3 };

/* Descriptor that reports go to; -1: nowhere. */
extern int report_fd;

/* `step` is a stable kebab-case name of what failed, e.g. "mount-overlay"; the rest words for a person. */
_Noreturn void die(int exit_code, const char *step, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same with `: strerror(errno)` added and errno reported. */
_Noreturn void die_errno(int exit_code, const char *step, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void *must_alloc(size_t bytes);
void *must_realloc(void *old, size_t bytes);
char *must_strdup(const char *text);
char *must_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes all of it, through EINTR and short writes. 0, or -1 with errno. */
int write_all(int fd, const void *bytes, size_t count);

/* Milliseconds: since the epoch, and monotonic (with fraction). */
int64_t now_ms(void);
double monotonic_ms(void);

/* Parses a whole decimal number in [low, high] or dies with EXIT_USAGE, naming `what`. */
long parse_number(const char *text, long low, long high, const char *what);

/* A growing byte string that ends in NUL (not counted). All zeros is an empty one. */
struct text {
    char *bytes;
    size_t count;
    size_t capacity;
};

void text_bytes(struct text *text, const void *bytes, size_t count);
/* Adds all that can be read from a descriptor. -1 with errno. */
int text_whole(struct text *text, int fd);
void text_add(struct text *text, const char *string);
void text_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_free(struct text *text);

/*
 * JSON: values are appended in order; a comma is put by looking at the last byte. Bytes that are not UTF-8 become
 * U+FFFD: what must be exact (paths of a change set) travels NUL-framed instead.
 *
 *   struct text line = {0};
 *   json_open(&line, '{');
 *   json_key(&line, "type"); json_string(&line, "done");
 *   json_key(&line, "files"); json_number(&line, 12);
 *   json_close(&line, '}');
 *   report(&line);
 */
void json_open(struct text *text, char bracket);
void json_close(struct text *text, char bracket);
void json_key(struct text *text, const char *key);
void json_string(struct text *text, const char *string);
void json_bytes(struct text *text, const char *bytes, size_t count);
void json_number(struct text *text, int64_t number);
void json_real(struct text *text, double number);
void json_bool(struct text *text, bool value);
void json_null(struct text *text);

/* The last line of a failure: what every report of one looks like. */
void json_error(struct text *line, const char *step, const char *message, int error);

/* Sends the object as one line to report_fd and frees it. */
void report(struct text *line);

#endif
