/* sched/pbs.h: the result does not depend on where the text was cut, and
 * nothing is read past its end. */
#include "sched/pbs.h"
#include "tests/fuzz/fuzz_sched.h"

static void seen_bad(void *ctx, const struct bj_pbs_bad *bad)
{
    struct seen *s = ctx;
    s->bad++;
    MUST(bad->line > 0 && bad->expected);
    hash_num(s, bad->line);
    hash_text(s, bad->job);
    hash_text(s, bad->field);
    hash_text(s, bad->value);
}

static struct seen read_json(struct bj_slice text, size_t n, int *ret)
{
    struct seen s = {0};
    const struct bj_pbs_conf conf = {
        .ctx = &s, .job = hash_job, .bad = seen_bad};
    struct bj_pbs_json *r;
    MUST(bj_pbs_json_new(&conf, &r, NULL) == 0);
    FEED(*ret, bj_pbs_json_feed, r, text, n);
    if (*ret == 0)
        *ret = bj_pbs_json_end(r, NULL);
    MUST(bj_pbs_json_counts(r)->jobs == s.jobs);
    bj_pbs_json_free(r);
    return s;
}

static int zone(void *ctx, uint64_t local_sec)
{
    (void)ctx;
    return local_sec % 7200 < 3600 ? -90 : 60;
}

static struct seen read_acct(struct bj_slice text, size_t n, int *ret)
{
    struct seen s = {0};
    const struct bj_pbs_conf conf = {.max_job = 300,
                                     .offset_min = zone,
                                     .ctx = &s,
                                     .job = hash_job,
                                     .bad = seen_bad};
    struct bj_pbs_acct *r;
    MUST(bj_pbs_acct_new(&conf, &r, NULL) == 0);
    FEED(*ret, bj_pbs_acct_feed, r, text, n);
    MUST(bj_pbs_acct_feed(r, (struct bj_slice){0}, NULL) == *ret);
    size_t rest = 0;
    MUST(bj_pbs_acct_pending(r) <= text.n);
    if (*ret == 0)
        *ret = bj_pbs_acct_end(r, &rest, NULL);
    MUST(rest <= text.n && bj_pbs_acct_pending(r) == 0);
    bj_pbs_acct_free(r);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const struct bj_slice text = {(const char *)data + 2, size - 2};
    const size_t n = 1 + data[1] % 64;
    const bool json = data[0] & 1;
    int whole, cut;
    const struct seen a =
        json ? read_json(text, size, &whole) : read_acct(text, size, &whole);
    const struct seen b =
        json ? read_json(text, n, &cut) : read_acct(text, n, &cut);
    MUST(whole == cut);
    MUST(a.hash == b.hash && a.jobs == b.jobs && a.bad == b.bad);
    return 0;
}
