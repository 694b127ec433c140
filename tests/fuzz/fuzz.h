/* Shared by the fuzzers.  A fuzzer feeds bytes to one parser and checks
 * conditions that hold for every result; it aborts when one is violated. */
#ifndef BJ_TESTS_FUZZ_FUZZ_H
#define BJ_TESTS_FUZZ_FUZZ_H

#include "base/slice.h"

#include <stdint.h>
#include <stdlib.h>

/* The entry point that libFuzzer calls; always returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                             \
    do {                                                                       \
        if (!(cond))                                                           \
            __builtin_trap();                                                  \
    } while (0)

/* A copy in a heap block of exactly n bytes, so that the address sanitizer
 * detects every read past the end.  The caller frees *mem. */
static inline struct bj_slice fuzz_exact(const void *p, size_t n, char **mem)
{
    *mem = malloc(n ? n : 1);
    MUST(*mem);
    if (n > 0)
        memcpy(*mem, p, n);
    return (struct bj_slice){*mem, n};
}

#endif
