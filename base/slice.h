/* Slices: windows on bytes with another owner.  All input is parsed through
 * these; nothing here allocates, reads past the end or needs a NUL. */
#ifndef BJ_BASE_SLICE_H
#define BJ_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A window on bytes; p may be NULL when n is 0. */
struct bj_slice {
    const char *p;
    size_t n;
};

/* The slice of a string literal, and of any terminated string. */
#define BJ_SLICE(lit) ((struct bj_slice){"" lit, sizeof(lit) - 1})
static inline struct bj_slice bj_slice_str(const char *s)
{
    return (struct bj_slice){s, s ? strlen(s) : 0};
}

/* Same bytes. */
static inline bool bj_slice_eq(struct bj_slice a, struct bj_slice b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* s starts with prefix. */
static inline bool bj_slice_starts(struct bj_slice s, struct bj_slice prefix)
{
    return s.n >= prefix.n &&
           (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

/* Cut the next line off *rest, without its newline; false when none is left.
 * A last line without newline counts. */
bool bj_slice_line(struct bj_slice *rest, struct bj_slice *ret_line);

/* Cut the next word off *rest, words being separated by blanks (space, tab,
 * newline, carriage return); false when none is left. */
bool bj_slice_word(struct bj_slice *rest, struct bj_slice *ret_word);

/* Cut everything before the next sep off *rest and skip sep.  Empty fields
 * count, except after a last sep: "a,,b," has three.  False only when nothing
 * is left. */
bool bj_slice_field(struct bj_slice *rest, char sep, struct bj_slice *ret);

/* Remove blanks from both ends. */
struct bj_slice bj_slice_trim(struct bj_slice s);

/* All of s as a decimal number without sign.  0, -EINVAL (not digits, empty) or
 * -ERANGE (above 2^64-1); *ret is unchanged on failure. */
int bj_slice_u64(struct bj_slice s, uint64_t *ret);

/* Read the decimal number at the start of s and advance s past it.  False when
 * s does not start with a digit or the number is above 2^64-1: s and *ret are
 * then unchanged. */
bool bj_slice_number(struct bj_slice *s, uint64_t *ret);

/* How many CPUs a kernel cpulist ("0-3,8,10-11") names, at most max; with set
 * not NULL, also set bit c of it for each (set has max bits, in bytes).  Empty
 * is 0 CPUs.  -EINVAL when the text is not a list or a range is reversed,
 * -ERANGE when a CPU is not below max.  Source: kernel admin-guide, "cpu
 * lists". */
int bj_slice_cpulist(struct bj_slice s, unsigned max, unsigned char *set);

/* Is an option or another C string there: neither NULL nor empty? */
static inline bool bj_is_set(const char *text)
{
    return text && text[0];
}

#endif
