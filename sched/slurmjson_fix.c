#include "sched/slurmjson_fix.h"

#include <string.h>

/* The index of the next significant byte. */
static size_t pass(struct bj_slurmjson_fix *f, struct bj_slice s)
{
    size_t i = 0;
    for (; i < s.n; i++) {
        const char c = s.p[i];
        if (f->escape)
            f->escape = false;
        else if (f->string && c == '\\')
            f->escape = true;
        else if (c == '"')
            f->string = !f->string;
        else if (!f->string && (c == 'I' || c == 'N' || c == '-'))
            break;
    }
    return i;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool no_number(struct bj_slice word)
{
    return bj_slice_eq(word, BJ_SLICE("Infinity")) ||
           bj_slice_eq(word, BJ_SLICE("NaN"));
}

/* The bytes held back are complete. */
static int release(struct bj_slurmjson_fix *f,
                   int (*sink)(void *, struct bj_slice, struct bj_err *),
                   void *ctx, struct bj_err *err)
{
    const struct bj_slice word = {f->word, f->n};
    const bool minus = f->minus;
    int r = 0;
    f->n = 0;
    f->minus = false;
    if (no_number(word))
        return sink(ctx, BJ_SLICE("null"), err);
    if (minus)
        r = sink(ctx, BJ_SLICE("-"), err);
    return r < 0 || word.n == 0 ? r : sink(ctx, word, err);
}

/* Take the rest of a word; true when it may continue in the next piece. */
static bool take_word(struct bj_slurmjson_fix *f, struct bj_slice *s)
{
    while (s->n > 0 && is_letter(*s->p) && f->n < sizeof(f->word)) {
        f->word[f->n++] = *s->p++;
        s->n--;
    }
    return s->n == 0 && f->n < sizeof(f->word);
}

int bj_slurmjson_fix(struct bj_slurmjson_fix *f, struct bj_slice piece,
                     int (*sink)(void *, struct bj_slice, struct bj_err *),
                     void *ctx, struct bj_err *err)
{
    while (piece.n > 0) {
        if (f->minus || f->n > 0) {
            if (take_word(f, &piece))
                break;
            int r = release(f, sink, ctx, err);
            if (r < 0)
                return r;
        }
        const size_t n = pass(f, piece);
        int r = n > 0 ? sink(ctx, (struct bj_slice){piece.p, n}, err) : 0;
        if (r < 0)
            return r;
        piece.p += n;
        piece.n -= n;
        if (piece.n == 0)
            break;
        if (*piece.p == '-')
            f->minus = true;
        else
            f->word[f->n++] = *piece.p;
        piece.p++;
        piece.n--;
    }
    return 0;
}
