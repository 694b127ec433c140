/* sched/sacct.h: the result does not depend on where the text was cut, and
 * nothing is read past its end. */
#include "sched/sacct.h"
#include "tests/fuzz/fuzz_sched.h"

static void seen_bad(void *ctx, const struct bj_sacct_bad *bad)
{
    struct seen *s = ctx;
    s->bad++;
    MUST(bad->line > 0 && bad->expected);
    hash_num(s, bad->line);
    hash_text(s, bad->job);
    hash_text(s, bad->field);
    hash_text(s, bad->value);
}

static struct seen read_all(struct bj_slice text, bool bars, size_t n, int *ret)
{
    struct seen s = {0};
    const struct bj_sacct_conf conf = {.delimiter = bars ? BJ_SLICE("|")
                                                         : BJ_SLICE("\x1f"
                                                                    "ABCDEFGH"),
                                       .max_record = 500,
                                       .max_steps = 3,
                                       .ctx = &s,
                                       .job = hash_job,
                                       .bad = seen_bad};
    struct bj_sacct *r;
    MUST(bj_sacct_new(&conf, &r, NULL) == 0);
    FEED(*ret, bj_sacct_feed, r, text, n);
    if (*ret == 0)
        *ret = bj_sacct_end(r, true, NULL);
    const struct bj_sacct_counts *c = bj_sacct_counts(r);
    MUST(c->jobs == s.jobs && c->bad_lines + c->bad_fields == s.bad);
    MUST(c->jobs + c->steps + c->bad_lines <= 2 * text.n + 2);
    bj_sacct_free(r);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const struct bj_slice text = {(const char *)data + 2, size - 2};
    int whole, cut;
    const struct seen a = read_all(text, data[0] & 1, size, &whole);
    const struct seen b = read_all(text, data[0] & 1, 1 + data[1] % 64, &cut);
    MUST(whole == cut);
    MUST(a.hash == b.hash && a.jobs == b.jobs && a.bad == b.bad);
    return 0;
}
