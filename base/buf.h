/* A growing buffer of text and the number writers of the exposition formats. */
#ifndef BJ_BASE_BUF_H
#define BJ_BASE_BUF_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise; free with bj_buf_free.  When memory runs out, failed is set
 * and all later writes are dropped until bj_buf_reset: check it once, at the
 * end. */
struct bj_buf {
    char *p;
    size_t len, cap;
    bool failed;
};

void bj_buf_free(struct bj_buf *b);

/* Make room for n more bytes; false without memory. */
bool bj_buf_grow(struct bj_buf *b, size_t n);

/* Free the unused part of a large buffer. */
void bj_buf_trim(struct bj_buf *b);

/* Empty it for other text; after a failure it may grow again. */
static inline void bj_buf_reset(struct bj_buf *b)
{
    b->len = 0;
    b->failed = false;
}

static inline bool bj_buf_room(struct bj_buf *b, size_t n)
{
    return b->cap - b->len >= n || bj_buf_grow(b, n);
}

static inline void bj_buf_put(struct bj_buf *b, const void *p, size_t n)
{
    if (n > 0 && bj_buf_room(b, n)) {
        memcpy(b->p + b->len, p, n);
        b->len += n;
    }
}

static inline void bj_buf_slice(struct bj_buf *b, struct bj_slice s)
{
    bj_buf_put(b, s.p, s.n);
}

void bj_buf_str(struct bj_buf *b, const char *s);
void bj_buf_printf(struct bj_buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* s made clean UTF-8, as bj_text_clean() does (base/text.h). */
void bj_buf_clean(struct bj_buf *b, struct bj_slice s);

/* v in decimal. */
void bj_buf_u64(struct bj_buf *b, uint64_t v);

/* v / 10^digits in decimal, exact, without trailing zeros: (1500000, 6) is
 * "1.5", (2000000, 6) is "2".  digits is 0 to 18. */
void bj_buf_fixed(struct bj_buf *b, uint64_t v, unsigned digits);

/* Write v in decimal to the 20 bytes that end at end; returns the first. */
char *bj_u64_backwards(char *end, uint64_t v);

/* A label value in the Prometheus text format: \, " and newline escaped.
 * s must already be clean (base/text.h). */
void bj_buf_label(struct bj_buf *b, struct bj_slice s);

/* Append s in base64 (RFC 4648, section 4), without line ends. */
void bj_base64_put(struct bj_buf *out, struct bj_slice s);

#endif
