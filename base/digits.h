/* Decimal digits, eight at a time in one register, for writers that reserve the
 * space themselves.  These functions may write up to 8 bytes after their
 * result.
 *
 * Method: P. Khuong, "How to print integers really fast" (2017): a number below
 * 10^8 is halved three times, each time in all lanes at once. */
#ifndef BJ_BASE_DIGITS_H
#define BJ_BASE_DIGITS_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

enum { BJ_DIGITS_ROOM = 48 }; /* most bytes that a call writes */

/* The eight digits of v (below 10^8), the first in the lowest byte, as numbers
 * and not yet as text.  Each step divides every lane by base; the quotient q
 * goes to the lower half of the lane, and lane - q * base to the upper half. */
static inline uint64_t bj_digits_split(uint64_t v)
{
    uint64_t q = v / 10000;
    v = (v << 32) - q * ((10000ull << 32) - 1);
    q = (v * 10486 >> 20) & 0x0000007f0000007f;
    v = (v << 16) - q * ((100 << 16) - 1);
    q = (v * 103 >> 10) & 0x000f000f000f000f;
    return (v << 8) - q * ((10 << 8) - 1);
}

/* Write split digits without the first skip of them. */
static inline char *bj_digits_store(char *at, uint64_t split, unsigned skip)
{
    uint64_t text = htole64((split | 0x3030303030303030) >> (8 * skip));
    memcpy(at, &text, sizeof(text));
    return at + (8 - skip);
}

/* v, below 10^8, in decimal without leading zeros. */
static inline char *bj_digits_short(char *at, uint64_t v)
{
    uint64_t split = bj_digits_split(v);
    unsigned zeros = (unsigned)__builtin_ctzll(split | 1ull << 56) / 8;
    return bj_digits_store(at, split, zeros);
}

/* Write v in decimal at at; returns its end. */
static inline char *bj_digits_u64(char *at, uint64_t v)
{
    if (v < 10) { /* half of all numbers */
        *at = (char)('0' + v);
        return at + 1;
    }
    if (v < 100000000)
        return bj_digits_short(at, v);
    uint64_t low = v % 100000000, high = v / 100000000;
    if (high < 100000000) {
        at = bj_digits_short(at, high);
    } else {
        at = bj_digits_short(at, high / 100000000);
        at = bj_digits_store(at, bj_digits_split(high % 100000000), 0);
    }
    return bj_digits_store(at, bj_digits_split(low), 0);
}

static inline char *bj_digits_i64(char *at, int64_t v)
{
    if (v < 0)
        *at++ = '-';
    return bj_digits_u64(at, v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v);
}

/* v millionths in decimal, exact, without trailing zeros: 1500000 is "1.5". */
static inline char *bj_digits_micro(char *at, uint64_t v)
{
    uint64_t part = v % 1000000;
    at = bj_digits_u64(at, v / 1000000);
    if (part == 0)
        return at;
    uint64_t split = bj_digits_split(part); /* two zeros in front */
    unsigned behind = (unsigned)__builtin_clzll(split) / 8;
    *at++ = '.';
    return bj_digits_store(at, split, 2) - behind;
}

#endif
