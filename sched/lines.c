#include "sched/lines.h"

enum { PIECE = 64 << 10 };

enum found {
    MORE, /* no complete line: put more */
    LINE, /* a line, without its newline */
    LONG, /* the first max bytes of a longer line */
};

/* Take up to PIECE bytes off *piece; earlier lines become invalid. */
static bool lines_put(struct bj_lines *l, struct bj_slice *piece)
{
    const size_t n = piece->n < PIECE ? piece->n : PIECE;
    if (l->at > 0) {
        l->buf.len -= l->at;
        memmove(l->buf.p, l->buf.p + l->at, l->buf.len);
        l->at = 0;
    }
    bj_buf_put(&l->buf, piece->p, n);
    piece->p += n;
    piece->n -= n;
    return !l->buf.failed;
}

/* The next line; valid until the next put. */
static enum found lines_next(struct bj_lines *l, struct bj_slice *ret)
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
            return LONG;
        if (nl && !was_long)
            return LINE;
        if (!nl)
            break;
    }
    return MORE;
}

static int take_all(struct bj_lines *l,
                    int (*take)(void *ctx, struct bj_slice line, bool cut,
                                struct bj_err *err),
                    void *ctx, struct bj_err *err)
{
    enum found found;
    struct bj_slice line;
    int r = 0;
    while (r == 0 && (found = lines_next(l, &line)) != MORE)
        r = take(ctx, line, found == LONG, err);
    return r;
}

int bj_lines_feed(struct bj_lines *l, struct bj_slice piece,
                  int (*take)(void *ctx, struct bj_slice line, bool cut,
                              struct bj_err *err),
                  void *ctx, struct bj_err *err)
{
    int r = l->failed.code;
    struct bj_err own = {0};
    while (piece.n > 0 && r == 0) {
        r = lines_put(l, &piece)
                ? take_all(l, take, ctx, &own)
                : bj_err_set(&own, -ENOMEM, "%s: no memory", l->what);
        own.code = r;
        l->failed = own;
    }
    return bj_lines_end(l, NULL, err);
}

int bj_lines_end(const struct bj_lines *l, size_t *ret_rest, struct bj_err *err)
{
    if (ret_rest)
        *ret_rest = l->buf.len - l->at;
    if (err && l->failed.code < 0)
        *err = l->failed;
    return l->failed.code;
}

void bj_lines_free(struct bj_lines *l)
{
    bj_buf_free(&l->buf);
}
