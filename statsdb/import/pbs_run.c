#include "statsdb/import/pbs_run.h"

#include "base/array.h"
#include "sched/state.h"
#include "store/db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- runs -------------------------------------------------------------------
 */

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

/* --- sizes ------------------------------------------------------------------
 */

enum { SIZES_MAX = 10000 }; /* of a run; what exceeds it is left out */

void bj_pbs_sizes_free(struct bj_pbs_sizes *s)
{
    free(s->size);
    *s = (struct bj_pbs_sizes){.size = NULL};
}

/* The run time of the first n sizes; BJ_SQL_NULL if they do not cover the time
 * from *at on, which becomes the end of the last one. */
static int64_t elapsed_until(const struct bj_pbs_sizes *s, size_t n,
                             int64_t *at)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t *v = s->size[i].v;
        if (v[BJ_SIZE_START] != *at || v[BJ_SIZE_END] == BJ_SQL_NULL ||
            v[BJ_SIZE_ELAPSED] == BJ_SQL_NULL ||
            __builtin_add_overflow(sum, v[BJ_SIZE_ELAPSED], &sum))
            return BJ_SQL_NULL;
        *at = v[BJ_SIZE_END];
    }
    return sum;
}

/* The run time of size n, which ends now: that of the run less that of the
 * sizes before.  Where PBS's run time is less than theirs, it is that of the
 * clock. */
static int64_t elapsed_of(const struct bj_pbs_sizes *s, size_t n, int64_t end,
                          const struct bj_pbs_size_record *r)
{
    int64_t start = r->run_start;
    const int64_t before = elapsed_until(s, n, &start);
    if (before == BJ_SQL_NULL || r->run_start == BJ_SQL_NULL ||
        end < r->run_start ||
        (n < s->n && s->size[n].v[BJ_SIZE_START] != start))
        return BJ_SQL_NULL;
    int64_t all = end - r->run_start;
    if (r->suspended != BJ_SQL_NULL)
        all -= r->suspended < all ? r->suspended : all;
    if (r->kind == BJ_SIZE_LAST && r->elapsed != BJ_SQL_NULL &&
        r->elapsed >= before)
        all = r->elapsed;
    return all > before ? all - before : 0;
}

static int pbs_size_add(struct bj_pbs_sizes *s, size_t at,
                        const struct bj_size_row *size)
{
    if (s->n == SIZES_MAX)
        return 0;
    if (!BJ_GROW(s->size, s->n + 1, s->cap))
        return -ENOMEM;
    memmove(&s->size[at + 1], &s->size[at], (s->n - at) * sizeof(*s->size));
    s->size[at] = *size;
    s->n++;
    return 1;
}

/* Set what the record knows; 1 if that changes the size. */
static int set(struct bj_size_row *to, const struct bj_size_row *from)
{
    int changed = 0;
    for (int i = 0; i < BJ_SIZE_COLS; i++)
        if (from->v[i] != BJ_SQL_NULL && from->v[i] != to->v[i]) {
            to->v[i] = from->v[i];
            changed = 1;
        }
    return changed;
}

static int pbs_size_begin(struct bj_pbs_sizes *s,
                          const struct bj_pbs_size_record *r)
{
    const int64_t start = r->size.v[BJ_SIZE_START];
    size_t at = s->n;
    while (at > 0 && (s->size[at - 1].v[BJ_SIZE_START] == BJ_SQL_NULL ||
                      s->size[at - 1].v[BJ_SIZE_START] > start))
        at--;
    if (at > 0 && s->size[at - 1].v[BJ_SIZE_START] == start)
        return set(&s->size[at - 1], &r->size);
    return pbs_size_add(s, at, &r->size);
}

static int pbs_size_end(struct bj_pbs_sizes *s,
                        const struct bj_pbs_size_record *r)
{
    const int64_t at = r->size.v[BJ_SIZE_END];
    struct bj_size_row size = r->size;
    size_t n = s->n; /* the size that ends: the last one that began before */
    for (size_t i = 0; r->kind == BJ_SIZE_ENDS && i < s->n; i++)
        if (s->size[i].v[BJ_SIZE_END] == at)
            return 0; /* read before, or the second change in a second */
    while (n > 0 && (s->size[n - 1].v[BJ_SIZE_START] == BJ_SQL_NULL ||
                     s->size[n - 1].v[BJ_SIZE_START] > at))
        n--;
    if (n == 0 && r->kind == BJ_SIZE_LAST)
        return 0; /* when it began is not known */
    if (n == 0) {
        size.v[BJ_SIZE_START] = r->run_start;
        size.v[BJ_SIZE_ELAPSED] = elapsed_of(s, 0, at, r);
        return pbs_size_add(s, 0, &size);
    }
    if (s->size[n - 1].v[BJ_SIZE_END] != BJ_SQL_NULL)
        return 0; /* what began after it is not known */
    size.v[BJ_SIZE_ELAPSED] = elapsed_of(s, n - 1, at, r);
    return set(&s->size[n - 1], &size);
}

int bj_pbs_sizes_join(struct bj_pbs_sizes *s,
                      const struct bj_pbs_size_record *record)
{
    return record->kind == BJ_SIZE_BEGINS ? pbs_size_begin(s, record)
                                          : pbs_size_end(s, record);
}

/* --- sums -----------------------------------------------------------------*/

/* An unknown factor makes the sum unknown. */
static void add_product(int64_t *to, int64_t a, int64_t b)
{
    int64_t v;
    if (*to == BJ_SQL_NULL || a == BJ_SQL_NULL || b == BJ_SQL_NULL ||
        __builtin_mul_overflow(a, b, &v) || __builtin_add_overflow(*to, v, to))
        *to = BJ_SQL_NULL;
}

struct bj_size_sums bj_pbs_sizes_sums(const struct bj_pbs_sizes *s,
                                      int64_t run_start)
{
    const struct bj_size_sums unknown = {BJ_SQL_NULL, BJ_SQL_NULL, BJ_SQL_NULL,
                                         BJ_SQL_NULL};
    struct bj_size_sums sum = {0, 0, 0, 0};
    if (s->n == 0 || run_start == BJ_SQL_NULL ||
        elapsed_until(s, s->n, &run_start) == BJ_SQL_NULL)
        return unknown;
    for (size_t i = 0; i < s->n; i++) {
        const int64_t *v = s->size[i].v;
        const int64_t memory = v[BJ_SIZE_MEMORY];
        add_product(&sum.cpu_sec, v[BJ_SIZE_CPUS], v[BJ_SIZE_ELAPSED]);
        add_product(&sum.node_sec, v[BJ_SIZE_NODES], v[BJ_SIZE_ELAPSED]);
        add_product(&sum.gpu_sec, v[BJ_SIZE_GPUS], v[BJ_SIZE_ELAPSED]);
        add_product(&sum.memory_mib_sec,
                    memory == BJ_SQL_NULL ? BJ_SQL_NULL : memory >> 20,
                    v[BJ_SIZE_ELAPSED]);
    }
    return sum;
}
