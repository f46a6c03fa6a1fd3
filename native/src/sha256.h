/* SHA-256 (FIPS 180-4) of bytes in memory: names of contents, not secrets. */
#ifndef HOLDFAST_SHA256_H
#define HOLDFAST_SHA256_H

#include <stddef.h>

enum { SHA256_HEX = 64 };

/* Sixty-four lower-case hexadecimal digits and a NUL. */
void sha256_hex(const void *bytes, size_t count, char hex[SHA256_HEX + 1]);

#endif
