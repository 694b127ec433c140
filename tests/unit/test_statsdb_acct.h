/* A store with jobs, and what batchjob_acct selects of them. */
#ifndef BJ_TEST_STATSDB_ACCT_H
#define BJ_TEST_STATSDB_ACCT_H

#include "tests/unit/test_statsdb.h"

#include "statsdb/acct_out.h"
#include "statsdb/acct_query.h"
#include "statsdb/acct_store.h"
#include "statsdb/acct_text.h"
#include "statsdb/record.h"
#include "store/sqlite_probe.h"

enum { DAY = 86400, T0 = 1700000000 };

struct world {
    struct fixture f;
    struct bj_store *s;
    struct bj_upsert *u;
    int scans, sorts; /* of the last statement that found jobs */
};

static inline struct bj_sched_job job_of(const char *raw, const char *user,
                                         uint64_t start)
{
    struct bj_sched_job j;
    bj_sched_job_init(&j);
    j.batch_system = BJ_SLICE("slurm");
    j.raw_id = bj_slice_str(raw);
    j.shown_id = j.raw_id;
    j.user = bj_slice_str(user);
    j.account = BJ_SLICE("math");
    j.partition = BJ_SLICE("cpu");
    j.name = BJ_SLICE("run");
    j.state = BJ_STATE_COMPLETED;
    j.submit_sec = start - 10;
    j.start_sec = start;
    j.end_sec = start + 100;
    j.elapsed_sec = 100;
    return j;
}

static inline void put(struct world *w, const char *cluster,
                       const struct bj_sched_job *j)
{
    struct bj_err err = {0};
    if (bj_upsert_begin(w->u, &err) < 0 ||
        bj_upsert_job(w->u, bj_slice_str(cluster), j, &err) < 0 ||
        bj_upsert_commit(w->u, &err) < 0)
        fail_msg("%s", err.msg);
}

static inline void on_statement(void *ctx, const struct bj_probe_cost *cost)
{
    struct world *w = ctx;
    w->scans = cost->scans;
    w->sorts = cost->sorts;
}

static inline int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    fixture_open(&w->f);
    w->s = store_open(&w->f);
    w->u = upsert_open(w->s);
    bj_probe_ended(bj_store_db(w->s), on_statement, w);
    *state = w;
    return 0;
}

static inline int tear_down(void **state)
{
    struct world *w = *state;
    bj_upsert_free(w->u);
    bj_store_close(w->s);
    fixture_close(&w->f);
    free(w);
    return 0;
}

struct ask {
    const char *user, *account, *partition, *state, *cluster, *job;
    int64_t since, until;
    uint64_t limit;
    const char *want; /* shown ids with blanks; NULL: only how many */
    size_t n;
    bool sorted; /* the index does not give the order */
};

static inline struct bj_strv list(const char *const *text)
{
    /* bj_strv is not const, but nothing here writes */
    return (struct bj_strv){(char **)(uintptr_t)text, *text ? 1 : 0};
}

static inline struct bj_acct_filter filter_of(const struct ask *a)
{
    return (struct bj_acct_filter){.user = list(&a->user),
                                   .account = list(&a->account),
                                   .partition = list(&a->partition),
                                   .state = list(&a->state),
                                   .cluster = list(&a->cluster),
                                   .job = list(&a->job),
                                   .since_sec = a->since ? a->since : INT64_MIN,
                                   .until_sec = a->until ? a->until : INT64_MAX,
                                   .limit = a->limit};
}

#endif
