/* A store with jobs, and filters of batchjob_acct. */
#ifndef BJ_TESTS_UNIT_STATSDB_TEST_STATSDB_ACCT_H
#define BJ_TESTS_UNIT_STATSDB_TEST_STATSDB_ACCT_H

#include "tests/unit/statsdb/test_statsdb.h"

#include "acct/out.h"
#include "acct/store.h"
#include "statsdb/record/record.h"
#include "store/sqlite_probe.h"

enum { DAY = 86400, T0 = 1700000000 };

struct acct_rig {
    struct fixture f;
    struct bj_store *s;
    struct bj_upsert *u;
    int scans, sorts; /* of the last SQL statement */
};

static inline struct bj_sched_job make_job(const char *raw, const char *user,
                                           uint64_t start)
{
    struct bj_sched_job j;
    bj_sched_job_init(&j);
    j.batch_system = BJ_SLICE("slurm");
    j.jobid = bj_slice_str(raw);
    j.display_id = j.jobid;
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

static inline void put(struct acct_rig *w, const char *cluster,
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
    struct acct_rig *w = ctx;
    w->scans = cost->scans;
    w->sorts = cost->sorts;
}

static inline int set_up(void **state)
{
    struct acct_rig *w = calloc(1, sizeof(*w));
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
    struct acct_rig *w = *state;
    bj_upsert_free(w->u);
    bj_store_close(w->s);
    fixture_close(&w->f);
    free(w);
    return 0;
}

struct filter_case {
    const char *user, *account, *partition, *state, *cluster, *job;
    int64_t since, until;
    uint64_t limit;
    const char *want; /* display ids with blanks; NULL: only n counts */
    size_t n;
    bool sorted; /* the query must sort, as the index does not give the order */
};

static inline struct bj_strv value_list(const char *const *text)
{
    /* bj_strv has no const, but nothing writes to it */
    return (struct bj_strv){(char **)(uintptr_t)text, *text ? 1 : 0};
}

static inline struct bj_acct_filter make_filter(const struct filter_case *a)
{
    return (struct bj_acct_filter){.user = value_list(&a->user),
                                   .account = value_list(&a->account),
                                   .partition = value_list(&a->partition),
                                   .state = value_list(&a->state),
                                   .cluster = value_list(&a->cluster),
                                   .job = value_list(&a->job),
                                   .since_sec = a->since ? a->since : INT64_MIN,
                                   .until_sec = a->until ? a->until : INT64_MAX,
                                   .limit = a->limit};
}

#endif
