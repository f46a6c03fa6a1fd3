/* Which files may hold secrets: a quick look that names every file worth a closer one (src/node/fork/secretRules.ts has
 * the last word), by name or by the marks that tokens, keys and connection strings carry. */
#ifndef HOLDFAST_SUSPECT_H
#define HOLDFAST_SUSPECT_H

#include <stdbool.h>
#include <stddef.h>

/* Content is looked at up to this many bytes. */
enum { SUSPECT_LIMIT = 1 << 20 };

/* Call once before any thread does. */
void suspect_prepare(void);
/* `directory` is the name of the directory that it is in; NULL when it is the top one. */
bool suspect_name(const char *directory, const char *name);
bool suspect_bytes(const char *bytes, size_t count);

#endif
