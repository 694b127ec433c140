/* What the fuzzers share.  A fuzzer feeds bytes to one parser and checks what
 * must hold of any result; a breach ends the program. */
#ifndef BJ_TESTS_FUZZ_FUZZ_H
#define BJ_TESTS_FUZZ_FUZZ_H

#include "base/slice.h"

#include <stdint.h>
#include <stdlib.h>

/* The entry that libFuzzer calls; 0 always. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                             \
    do {                                                                       \
        if (!(cond))                                                           \
            __builtin_trap();                                                  \
    } while (0)

/* A copy in memory of exactly its size, so that the address sanitizer sees
 * every byte read past the end; free(*mem). */
static inline struct bj_slice fuzz_exact(const void *p, size_t n, char **mem)
{
    *mem = malloc(n ? n : 1);
    MUST(*mem);
    if (n > 0)
        memcpy(*mem, p, n);
    return (struct bj_slice){*mem, n};
}

#endif
