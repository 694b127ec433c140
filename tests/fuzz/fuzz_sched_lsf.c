/* sched/lsf.h and sched/slurmrest.h: the result does not depend on where the
 * text was cut, and nothing is read past its end. */
#include "sched/lsf.h"
#include "sched/slurmrest.h"
#include "tests/fuzz/fuzz_sched.h"

static void seen_bad(void *ctx, const struct bj_lsf_bad *bad)
{
    struct seen *s = ctx;
    s->bad++;
    MUST(bad->line > 0 && bad->expected);
    hash_num(s, bad->line);
    hash_text(s, bad->job);
    hash_text(s, bad->field);
    hash_text(s, bad->value);
}

static void seen_rest(void *ctx, const struct bj_slurmrest_bad *bad)
{
    struct seen *s = ctx;
    s->bad++;
    MUST(bad->record > 0 && bad->expected && bad->field);
    hash_num(s, bad->record);
    hash_text(s, bad->job);
}

static struct seen read_json(struct bj_slice text, size_t n, int *ret)
{
    struct seen s = {0};
    const struct bj_lsf_conf conf = {
        .now_sec = 1795174000, .ctx = &s, .job = hash_job, .bad = seen_bad};
    struct bj_lsf_json *r;
    MUST(bj_lsf_json_new(&conf, &r, NULL) == 0);
    FEED(*ret, bj_lsf_json_feed, r, text, n);
    if (*ret == 0)
        *ret = bj_lsf_json_end(r, NULL);
    bj_lsf_json_free(r);
    return s;
}

static struct seen read_acct(struct bj_slice text, size_t n, int *ret)
{
    struct seen s = {0};
    const struct bj_lsf_conf conf = {
        .max_line = 700, .ctx = &s, .job = hash_job, .bad = seen_bad};
    struct bj_lsf_acct *r;
    MUST(bj_lsf_acct_new(&conf, &r, NULL) == 0);
    FEED(*ret, bj_lsf_acct_feed, r, text, n);
    MUST(bj_lsf_acct_feed(r, (struct bj_slice){0}, NULL) == *ret);
    bj_lsf_acct_free(r);
    return s;
}

static struct seen read_rest(struct bj_slice text, size_t n, int *ret)
{
    struct seen s = {0};
    const struct bj_slurmrest_conf conf = {
        .max_steps = 2, .ctx = &s, .job = hash_job, .bad = seen_rest};
    struct bj_slurmrest *r;
    MUST(bj_slurmrest_new(&conf, &r, NULL) == 0);
    FEED(*ret, bj_slurmrest_feed, r, text, n);
    if (*ret == 0)
        *ret = bj_slurmrest_end(r, NULL);
    bj_slurmrest_free(r);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen (*const kinds[])(struct bj_slice, size_t,
                                 int *) = {read_acct, read_json, read_rest};
    if (size < 2)
        return 0;
    const struct bj_slice text = {(const char *)data + 2, size - 2};
    int whole, cut;
    const struct seen a = kinds[data[0] % 3](text, size, &whole);
    const struct seen b = kinds[data[0] % 3](text, 1 + data[1] % 64, &cut);
    MUST(whole == cut);
    MUST(a.hash == b.hash && a.jobs == b.jobs && a.bad == b.bad);
    return 0;
}
