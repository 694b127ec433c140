/* base/slice.c: pieces joined again give the input, and numbers equal those of
 * a simple digit loop. */
#include "base/buf.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>

/* Each piece ends at a separator or at the end of the input. */
static void pieces(struct bj_slice in, char sep,
                   bool (*cut)(struct bj_slice *, char, struct bj_slice *))
{
    struct bj_slice rest = in, piece;
    const char *at = in.p;
    while (cut(&rest, sep, &piece)) {
        MUST(piece.p == at);
        MUST(piece.n == 0 || !memchr(piece.p, sep, piece.n));
        at += piece.n;
        MUST(at == in.p + in.n || *at == sep);
        if (at < in.p + in.n)
            at++;
        MUST(rest.p == at && rest.n == (size_t)(in.p + in.n - at));
    }
    MUST(at == in.p + in.n);
}

static bool cut_line(struct bj_slice *rest, char sep, struct bj_slice *ret)
{
    (void)sep;
    return bj_slice_line(rest, ret);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* No word has blanks, and there are blanks only between words. */
static void words(struct bj_slice in)
{
    struct bj_slice rest = in, word;
    const char *at = in.p;
    while (bj_slice_word(&rest, &word)) {
        for (; at < word.p; at++)
            MUST(is_blank(*at));
        MUST(word.n > 0);
        for (at = word.p; at < word.p + word.n; at++)
            MUST(!is_blank(*at));
    }
    for (; at < in.p + in.n; at++)
        MUST(is_blank(*at));
    struct bj_slice t = bj_slice_trim(in);
    MUST(t.n <= in.n);
    MUST(t.n == 0 || (!is_blank(t.p[0]) && !is_blank(t.p[t.n - 1])));
}

static void numbers(struct bj_slice in)
{
    uint64_t want = 0, v = 4711;
    size_t n = 0;
    bool over = false;
    for (; n < in.n && in.p[n] >= '0' && in.p[n] <= '9'; n++)
        over |= __builtin_mul_overflow(want, 10u, &want) ||
                __builtin_add_overflow(want, (uint64_t)(in.p[n] - '0'), &want);
    struct bj_slice s = in;
    bool ok = bj_slice_number(&s, &v);
    MUST(ok == (n > 0 && !over));
    MUST(v == (ok ? want : 4711));
    MUST(s.p == in.p + (ok ? n : 0) && s.n == in.n - (ok ? n : 0));

    v = 4711;
    int r = bj_slice_u64(in, &v);
    MUST(r == (n == 0 || n < in.n ? -EINVAL : over ? -ERANGE : 0));
    MUST(v == (r == 0 ? want : 4711));
    if (r < 0)
        return;
    /* A number that is written and parsed again is the same. */
    struct bj_buf b = {0};
    bj_buf_u64(&b, want);
    MUST(bj_slice_u64((struct bj_slice){b.p, b.len}, &v) == 0 && v == want);
    bj_buf_free(&b);
}

static void cpulists(struct bj_slice in)
{
    static const unsigned maxima[] = {0, 1, 8, 1000};
    for (size_t i = 0; i < sizeof(maxima) / sizeof(maxima[0]); i++) {
        unsigned char set[125] = {0};
        int r = bj_slice_cpulist(in, maxima[i], set);
        MUST(r == bj_slice_cpulist(in, maxima[i], NULL));
        MUST(r <= (int)maxima[i]);
        int count = 0;
        for (size_t k = 0; k < sizeof(set); k++)
            count += __builtin_popcount(set[k]);
        MUST(r < 0 || r == count);
        for (size_t c = maxima[i]; c < sizeof(set) * 8; c++)
            MUST((set[c / 8] >> (c % 8) & 1) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *mem;
    struct bj_slice in = fuzz_exact(data, size, &mem);
    pieces(in, '\n', cut_line);
    pieces(in, ',', bj_slice_field);
    words(in);
    numbers(in);
    cpulists(in);
    free(mem);
    return 0;
}
