#include "statsdb/derive/derive_impl.h"

#include <string.h>

/* --- use, grams and daily sums ---------------------------------------------
 */

static bool same_use(const struct bj_derive_job *j)
{
    return j->has_use == j->had_use &&
           (!j->has_use || memcmp(j->use, j->old_use, sizeof(j->use)) == 0) &&
           j->n_grams == j->n_old_grams &&
           memcmp(j->grams, j->old_grams, j->n_grams * sizeof(j->grams[0])) ==
               0;
}

static int run_for(struct bj_derive *d, int which, struct bj_err *err)
{
    bj_st_bind_i64(d->st[which], 1, d->job.id);
    return bj_st_run(d->st[which], err);
}

static int put_use(struct bj_derive *d, struct bj_err *err)
{
    const struct bj_derive_job *j = &d->job;
    struct bj_st *st = d->st[BJ_DE_USE_PUT];
    for (int i = 0; i < BJ_USE_COLUMNS; i++)
        bj_st_bind_i64(st, i + 2, j->use[i]);
    return run_for(d, BJ_DE_USE_PUT, err);
}

static int put_grams(struct bj_derive *d, struct bj_err *err)
{
    struct bj_st *st = d->st[BJ_DE_GRAMS_PUT];
    int r = 0;
    for (size_t i = 0; r == 0 && i < d->job.n_grams; i++) {
        const struct bj_grams_row *g = &d->job.grams[i];
        bj_st_bind_i64(st, 2, g->source);
        bj_st_bind_i64(st, 3, g->micrograms);
        bj_st_bind_i64(st, 4, g->covered_uj);
        bj_st_bind_i64(st, 5, g->estimated);
        r = run_for(d, BJ_DE_GRAMS_PUT, err);
    }
    return r;
}

static int write_use(struct bj_derive *d, struct bj_err *err)
{
    struct bj_derive_job *j = &d->job;
    int r = 0;
    if (j->had_use)
        r = bj_derive_count(d, j->old_use, j->old_grams, j->n_old_grams, -1,
                            err);
    if (r == 0 && j->n_old_grams > 0)
        r = run_for(d, BJ_DE_GRAMS_DELETE, err);
    if (r == 0 && j->had_use && !j->has_use)
        r = run_for(d, BJ_DE_USE_DELETE, err);
    if (r < 0 || !j->has_use)
        return r;
    r = put_use(d, err);
    if (r == 0)
        r = put_grams(d, err);
    return r < 0 ? r : bj_derive_count(d, j->use, j->grams, j->n_grams, 1, err);
}

/* --- findings --------------------------------------------------------------
 */

struct finding {
    int64_t rule;
    double value, threshold;
    const char *names; /* NULL: none */
};

/* In the order of the rules, as in the table. */
static void insert(struct finding *v, size_t *n, struct finding f)
{
    size_t at = *n;
    while (at > 0 && v[at - 1].rule > f.rule)
        at--;
    memmove(v + at + 1, v + at, (*n - at) * sizeof(*v));
    v[at] = f;
    ++*n;
}

/* Compare the bits: NaN equals itself. */
static bool same_finding(struct bj_st *st, const struct finding *f)
{
    double value = bj_st_get_f64(st, 1);
    double threshold = bj_st_get_f64(st, 2);
    return bj_st_get_i64(st, 0) == f->rule &&
           bj_slice_eq(bj_st_get_text(st, 3),
                       bj_slice_str(f->names ? f->names : "")) &&
           memcmp(&value, &f->value, sizeof(value)) == 0 &&
           memcmp(&threshold, &f->threshold, sizeof(threshold)) == 0;
}

/* Are exactly these findings stored? */
static int same_findings(struct bj_derive *d, const struct finding *v, size_t n,
                         bool *ret, struct bj_err *err)
{
    struct bj_st *st = d->st[BJ_DE_OLD_FOUND];
    size_t i = 0;
    bool same = true;
    int r;
    bj_st_bind_i64(st, 1, d->job.id);
    while ((r = bj_st_row(st, err)) > 0) {
        same = same && i < n && same_finding(st, &v[i]);
        i++;
    }
    *ret = same && i == n;
    return r;
}

/* Returns 1 if findings were written. */
static int write_findings(struct bj_derive *d, struct bj_err *err)
{
    struct finding v[BJ_DERIVE_FOUND];
    size_t n = 0;
    bool same = false;
    int r = 0;
    for (size_t i = 0; r == 0 && i < d->job.n_found; i++) {
        const struct bj_rule_match *f = &d->job.found[i];
        struct finding one = {0, f->value, f->threshold, f->names};
        r = bj_finding_rules_id(d->finding_rules, f->rule, &one.rule, err);
        if (r == 0)
            insert(v, &n, one);
    }
    if (r == 0)
        r = same_findings(d, v, n, &same, err);
    if (r < 0 || same)
        return r;
    struct bj_st *st = d->st[BJ_DE_FOUND_PUT];
    r = run_for(d, BJ_DE_FOUND_DELETE, err);
    for (size_t i = 0; r == 0 && i < n; i++) {
        bj_st_bind_i64(st, 2, v[i].rule);
        bj_st_bind_f64(st, 3, v[i].value);
        bj_st_bind_f64(st, 4, v[i].threshold);
        bj_st_bind_text(st, 5,
                        v[i].names ? bj_slice_str(v[i].names)
                                   : (struct bj_slice){0});
        r = run_for(d, BJ_DE_FOUND_PUT, err);
    }
    return r < 0 ? r : 1;
}

int bj_derive_write(struct bj_derive *d, struct bj_err *err)
{
    bool same = same_use(&d->job);
    int r = same ? 0 : write_use(d, err), found = 0;
    if (r == 0 && d->opt.rules)
        r = found = write_findings(d, err);
    return r < 0 ? r : !same || found > 0;
}
