#include "statsdb/import/pbs_run.h"

#include "sched/state.h"
#include "store/db.h"

#include <string.h>

const unsigned char bj_pbs_shared[BJ_PBS_SHARED] = {
    BJ_JOB_USER,       BJ_JOB_ACCOUNT,       BJ_JOB_PARTITION,
    BJ_JOB_OWNER,      BJ_COL_NAME,          BJ_COL_CPUS,
    BJ_JOB_TIME_LIMIT, BJ_JOB_REQUESTED_MEM, BJ_JOB_TRES_REQUESTED};

struct bj_pbs_run bj_pbs_run_read(struct bj_st *st, int column)
{
    struct bj_pbs_run run = {.submit = bj_st_get_i64(st, column),
                             .start = bj_st_get_i64(st, column + 1),
                             .end = bj_st_get_i64(st, column + 2),
                             .state = bj_st_get_i64(st, column + 3),
                             .restarts = bj_st_get_i64(st, column + 4)};
    for (int i = 0; i < BJ_PBS_SHARED; i++)
        run.shared[i] = bj_st_get_i64(st, column + 5 + i);
    return run;
}

struct bj_pbs_run bj_pbs_run_of(const struct bj_row *row)
{
    struct bj_pbs_run run = {.submit = row->v[BJ_JOB_SUBMIT],
                             .start = row->v[BJ_COL_START],
                             .end = row->v[BJ_COL_END],
                             .state = row->v[BJ_COL_STATE],
                             .restarts = row->v[BJ_JOB_RESTARTS]};
    for (int i = 0; i < BJ_PBS_SHARED; i++)
        run.shared[i] = row->v[bj_pbs_shared[i]];
    return run;
}

enum { RUNS_MAX = 1000 }; /* distinguished runs of a job */

/* A record without submit time has 0. */
void bj_pbs_keys(const struct bj_row *record, int64_t *ret_from,
                 int64_t *ret_to)
{
    const int64_t base = record->v[BJ_JOB_SUBMIT];
    *ret_from = base;
    *ret_to =
        base == 0 || base > INT64_MAX - RUNS_MAX ? INT64_MAX : base + RUNS_MAX;
}

/* Note a run before or after a record with a start. */
static void note_order(struct bj_pbs_known *k, const struct bj_pbs_run *run,
                       int64_t start)
{
    const bool has_start = start != BJ_SQL_NULL && run->start != BJ_SQL_NULL;
    if (start == BJ_SQL_NULL ? run->state == BJ_STATE_REQUEUED
                             : has_start && run->start < start) {
        if (!k->has_before || run->submit > k->before.submit)
            k->before = *run;
        k->has_before = true;
    } else if (has_start && run->start > start) {
        if (!k->has_after || run->submit < k->after.submit)
            k->after = *run;
        k->has_after = true;
    }
}

void bj_pbs_note(struct bj_pbs_known *k, const struct bj_pbs_run *run,
                 const struct bj_row *record)
{
    const int64_t start = record->v[BJ_COL_START];
    int64_t from, to;
    bj_pbs_keys(record, &from, &to);
    if (run->submit < from || run->submit >= to)
        return;
    if (!k->any || run->submit >= k->newest.submit)
        k->newest = *run;
    k->any = true;
    note_order(k, run, start);
    if (!bj_state_ended((enum bj_job_state)run->state) &&
        (!k->has_open || run->submit < k->open.submit)) {
        k->open = *run;
        k->has_open = true;
    }
    if (start != BJ_SQL_NULL && run->start == start &&
        (!k->has_same || run->submit >= k->same.submit)) {
        k->same = *run;
        k->has_same = true;
    }
}

/* Submit time of the key for a record. */
static int64_t choose_run(const struct bj_pbs_known *k,
                          const struct bj_row *record)
{
    const int64_t base = record->v[BJ_JOB_SUBMIT];
    const int64_t restarts = record->v[BJ_JOB_RESTARTS];
    const bool has_count = restarts != BJ_SQL_NULL && restarts < RUNS_MAX;
    const int64_t reported = has_count ? base + restarts : base;
    const struct bj_pbs_run *n = &k->newest;
    if (k->has_same)
        return k->same.submit;
    if (!k->any)
        return reported;
    if (record->v[BJ_COL_STATE] == BJ_STATE_PENDING)
        return n->submit;
    bool another =
        record->v[BJ_COL_START] != BJ_SQL_NULL && n->start != BJ_SQL_NULL;
    /* an earlier run, reported late: between its neighbours */
    const int64_t first = k->has_before ? k->before.submit + 1 : base;
    /* A run that ended without a start is behind all that started: qstat has
     * reported it before accounting reports those. */
    const bool began = record->v[BJ_COL_START] != BJ_SQL_NULL;
    if (began && n->start == BJ_SQL_NULL && n->state != BJ_STATE_REQUEUED &&
        bj_state_ended((enum bj_job_state)n->state) && first < n->submit)
        return has_count && reported >= first && reported < n->submit ? reported
                                                                      : first;
    if (another && k->has_after && first < k->after.submit)
        return reported >= first && reported < k->after.submit ? reported
                                                               : first;
    if (another || n->state == BJ_STATE_REQUEUED)
        return reported > n->submit ? reported : n->submit + 1;
    return n->submit;
}

/* For D and A records, which have no times. */
static int64_t choose_run_without_submit(const struct bj_pbs_known *k,
                                         const struct bj_row *record)
{
    const int64_t end = record->v[BJ_COL_END];
    const struct bj_pbs_run *n = &k->newest;
    if (!k->any)
        return 0;
    if (n->state == BJ_STATE_REQUEUED && n->end != end)
        return n->submit + 1;
    const bool same = n->end == end || (n->state == BJ_STATE_CANCELLED &&
                                        n->start == BJ_SQL_NULL);
    return !bj_state_ended((enum bj_job_state)n->state) || same ? n->submit : 0;
}

void bj_pbs_row(const struct bj_row *record, const struct bj_pbs_run *run,
                struct bj_row *ret)
{
    memset(ret->s, 0, sizeof(ret->s));
    ret->weak = ret->energy_of_steps = false;
    for (unsigned i = 0; i < BJ_JOB_COLS; i++)
        ret->v[i] = BJ_SQL_NULL;
    ret->v[BJ_JOB_CLUSTER] = record->v[BJ_JOB_CLUSTER];
    ret->v[BJ_JOB_RAW_ID] = record->v[BJ_JOB_RAW_ID];
    ret->s[0] = record->s[0];
    ret->v[BJ_JOB_SUBMIT] = run->submit;
    ret->v[BJ_COL_START] = run->start;
    ret->v[BJ_COL_END] = run->end;
    ret->v[BJ_COL_STATE] = run->state;
    ret->v[BJ_JOB_RESTARTS] = run->restarts;
    for (int i = 0; i < BJ_PBS_SHARED; i++)
        ret->v[bj_pbs_shared[i]] = run->shared[i];
}

/* The restarts of a record's run: how many come before it.  run_count counts
 * more, and not all records have it.  base: the submit time of the job; 0:
 * unknown. */
static int64_t restarts_of(const struct bj_pbs_known *k, int64_t base,
                           const struct bj_row *record)
{
    const int64_t submit = record->v[BJ_JOB_SUBMIT];
    const int64_t restarts = record->v[BJ_JOB_RESTARTS];
    const struct bj_pbs_run *n = &k->newest;
    if (base != 0)
        return restarts != BJ_SQL_NULL || submit > base ? submit - base
                                                        : BJ_SQL_NULL;
    if (!k->any || submit == 0 || n->restarts == BJ_SQL_NULL)
        return restarts;
    return n->restarts + (submit - n->submit);
}

/* run_count and etime of a record are not those of the run. */
static void correct(const struct bj_pbs_known *k, int64_t base,
                    struct bj_row *record)
{
    int64_t *eligible = &record->v[BJ_JOB_ELIGIBLE];
    const int64_t *submit = &record->v[BJ_JOB_SUBMIT];
    record->v[BJ_JOB_RESTARTS] = restarts_of(k, base, record);
    if (k->has_before && k->before.end != BJ_SQL_NULL &&
        (*eligible == BJ_SQL_NULL || *eligible < k->before.end))
        *eligible = k->before.end;
    for (int i = 0; k->any && *submit != 0 && i < BJ_PBS_SHARED; i++)
        if (record->v[bj_pbs_shared[i]] == BJ_SQL_NULL)
            record->v[bj_pbs_shared[i]] = k->newest.shared[i];
}

bool bj_pbs_place(const struct bj_pbs_known *k, struct bj_row *record,
                  struct bj_row *left)
{
    int64_t *submit = &record->v[BJ_JOB_SUBMIT];
    const int64_t base = *submit;
    *submit = base == 0 ? choose_run_without_submit(k, record)
                        : choose_run(k, record);
    correct(k, base, record);
    /* An earlier run whose end was never reported. */
    if (!k->has_open || k->open.submit >= *submit)
        return false;
    struct bj_pbs_run run = k->open;
    run.start = run.end = BJ_SQL_NULL;
    run.state = BJ_STATE_REQUEUED;
    bj_pbs_row(record, &run, left);
    return true;
}
