/* A fuzz target gives this function; libFuzzer, or fuzz/runner.c where there is no clang, calls it. */
#ifndef HOLDFAST_FUZZ_H
#define HOLDFAST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

#endif
