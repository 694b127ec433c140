/* The number of rounds of a test with random cases. */
#ifndef BJ_TEST_ROUNDS_H
#define BJ_TEST_ROUNDS_H

#include <stdlib.h>

/* Returns all in make check-long, which sets BJ_TEST_LONG, else few. */
static inline unsigned bj_rounds(unsigned all, unsigned few)
{
    return getenv("BJ_TEST_LONG") ? all : few;
}

#endif
