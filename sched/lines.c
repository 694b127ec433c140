#include "sched/lines.h"

enum { PIECE = 64 << 10 };

bool bj_lines_put(struct bj_lines *l, struct bj_slice *piece)
{
    const size_t n = piece->n < PIECE ? piece->n : PIECE;
    if (l->at > 0) {
        l->buf.len -= l->at;
        memmove(l->buf.p, l->buf.p + l->at, l->buf.len);
        l->at = 0;
    }
    bj_buf_put(&l->buf, piece->p, n);
    l->bytes += n;
    piece->p += n;
    piece->n -= n;
    return !l->buf.failed;
}

enum bj_lines_found bj_lines_next(struct bj_lines *l, struct bj_slice *ret)
{
    while (l->at < l->buf.len) {
        const char *p = l->buf.p + l->at;
        const size_t left = l->buf.len - l->at;
        const char *nl = left > l->searched
                             ? memchr(p + l->searched, '\n', left - l->searched)
                             : NULL;
        const size_t n = nl ? (size_t)(nl - p) : left;
        const bool was_long = l->skipping;
        const bool is_long = !was_long && n > l->max;
        if (is_long || (nl && !was_long))
            l->line++;
        l->skipping = !nl && (was_long || is_long);
        l->searched = nl || l->skipping ? 0 : n;
        if (nl || l->skipping)
            l->at += n + (nl ? 1 : 0);
        *ret = (struct bj_slice){p, is_long ? l->max : n};
        if (is_long)
            return BJ_LINES_LONG;
        if (nl && !was_long)
            return BJ_LINES_LINE;
        if (!nl)
            break;
    }
    return BJ_LINES_MORE;
}

size_t bj_lines_rest(const struct bj_lines *l)
{
    return l->buf.len - l->at;
}

void bj_lines_free(struct bj_lines *l)
{
    bj_buf_free(&l->buf);
}
