#include "statsdb/measure/measure_impl.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of series per job and node that a query reads: the components.
 */
enum { SERIES = 4 };

enum { QUERY_JOBS = 200 }; /* jobs in one query */

static bool take_id(struct bj_slice id, char to[BJ_MEASURE_ID])
{
    if (id.n == 0 || id.n >= BJ_MEASURE_ID)
        return false;
    for (size_t i = 0; i < id.n; i++)
        if (id.p[i] <= ' ' || id.p[i] == '"' || id.p[i] == '\\' ||
            id.p[i] == 0x7f)
            return false;
    memcpy(to, id.p, id.n);
    to[id.n] = '\0';
    return true;
}

/* The job of the current row; false: its id cannot be a label. */
static bool batch_read_row(struct bj_st *st, struct bj_measure_job *j)
{
    *j = (struct bj_measure_job){.job = bj_st_i64(st, "job"),
                                 .end_sec = bj_st_i64(st, "end"),
                                 .start_sec = bj_st_i64(st, "start"),
                                 .nodes = bj_st_i64(st, "nodes"),
                                 .gpus = bj_st_i64(st, "gpus"),
                                 .other_runs = bj_st_i64(st, "others") != 0,
                                 .prev_end_sec = bj_st_i64(st, "prev_end"),
                                 .prev_start_sec = bj_st_i64(st, "prev_start"),
                                 .next_start_sec = bj_st_i64(st, "next_start")};
    for (int i = 0; i < BJ_ME_COLUMNS; i++)
        j->v[i] = BJ_SQL_NULL;
    for (int i = 0; i < BJ_COMPONENTS; i++)
        j->component[i] = BJ_SQL_NULL;
    return take_id(bj_st_text(st, "jobid"), j->id);
}

/* Number of samples that a query for the job may read on the server. */
static uint64_t cost(const struct bj_measure *m, const struct bj_measure_job *j)
{
    uint64_t scrape = m->conf->scrape_usec / 1000000;
    uint64_t sec =
        (uint64_t)(j->end_sec - j->start_sec) + m->conf->grace_usec / 1000000;
    uint64_t nodes = j->nodes > 0 ? (uint64_t)j->nodes : 1;
    uint64_t series = nodes * SERIES;
    if (j->gpus > 0 && (uint64_t)j->gpus > series)
        series = (uint64_t)j->gpus;
    return (sec / (scrape ? scrape : 1) + 1) * series;
}

/* Boundary between the series of two runs: the middle between both starts, but
 * at most a minute before the later one, because clocks of nodes differ less.
 */
static int64_t between(int64_t start, int64_t next)
{
    enum { WRONG_SEC = 60 };
    int64_t wrong = (next - start) / 2;
    return next - (wrong < WRONG_SEC ? wrong : WRONG_SEC);
}

/* While exporters still show the previous run, or already the next one, use
 * only series that began with this run. False: the runs began too close to each
 * other. */
static bool limit_to_run(const struct bj_measure *m, struct bj_measure_job *j)
{
    enum { CLOSE_SEC = 10 };
    int64_t grace = (int64_t)(m->conf->grace_usec / 1000000);
    int64_t settle = (int64_t)(m->conf->settle_usec / 1000000);
    bool apart = true;
    if (j->prev_end_sec != BJ_SQL_NULL &&
        j->prev_end_sec + grace >= j->start_sec) {
        j->since_sec = between(j->prev_start_sec, j->start_sec);
        apart = j->start_sec - j->prev_start_sec >= CLOSE_SEC;
    }
    if (j->next_start_sec != BJ_SQL_NULL &&
        j->next_start_sec <= j->end_sec + settle) {
        j->until_sec = between(j->start_sec, j->next_start_sec);
        apart = apart && j->next_start_sec - j->start_sec >= CLOSE_SEC;
    }
    j->single = j->since_sec > 0 || j->until_sec > 0;
    j->other_runs = j->other_runs || j->single;
    return apart;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct bj_measure_job *)a)->id,
                  ((const struct bj_measure_job *)b)->id);
}

struct bj_measure_job *bj_measure_find(struct bj_measure_batch *b,
                                       struct bj_slice id)
{
    struct bj_measure_job key;
    if (!take_id(id, key.id))
        return NULL;
    return bsearch(&key, b->job, b->n, sizeof(key), by_id);
}

/* Time and range of the queries. */
static void set_range(struct bj_measure *m, int64_t now)
{
    struct bj_measure_batch *b = &m->batch;
    int64_t settle = (int64_t)(m->conf->settle_usec / 1000000);
    int64_t start = INT64_MAX, at = 0;
    uint64_t samples = 0;
    b->gpus = false;
    for (unsigned i = 0; i < b->n; i++) {
        const struct bj_measure_job *j = &b->job[i];
        int64_t upto = j->end_sec + settle;
        at = upto > at ? upto : at;
        start = j->start_sec < start ? j->start_sec : start;
        b->gpus = b->gpus || j->gpus > 0;
        samples += cost(m, j);
    }
    b->at_sec = at < now ? at : now;
    b->range_sec = b->at_sec > start ? b->at_sec - start : 1;
    /* A job that is too large even alone is queried with a step instead of
     * every sample, short enough to include its last values. */
    int64_t scrape = (int64_t)(m->conf->scrape_usec / 1000000);
    int64_t grace = (int64_t)(m->conf->grace_usec / 2000000);
    b->step_sec = 0;
    if (samples > m->samples)
        b->step_sec = scrape * (int64_t)(samples / m->samples + 1);
    if (b->step_sec > grace)
        b->step_sec = grace;
    b->single = b->job[0].single ? &b->job[0] : NULL;
    if (b->single && b->step_sec == 0)
        b->step_sec = scrape;
}

void bj_measure_job_free(struct bj_measure_job *j)
{
    free(j->bin);
    bj_parts_free(&j->parts);
    for (int i = 0; i < BJ_MEASURE_CURVES; i++)
        free(j->curve[i]);
}

static void free_bins(struct bj_measure_batch *b)
{
    for (unsigned i = 0; i < b->n; i++)
        bj_measure_job_free(&b->job[i]);
    b->n = 0;
}

int bj_measure_choose(struct bj_measure *m, int64_t now, struct bj_err *err)
{
    struct bj_measure_batch *b = &m->batch;
    struct bj_st *st = m->list;
    uint64_t samples = 0;
    bool full = false, alone = false;
    int r;
    free_bins(b);
    bj_st_set_filled(st, "cluster", bj_slice_str(m->cluster));
    bj_st_set_i64(st, "upto", now - (int64_t)(m->conf->settle_usec / 1000000));
    bj_st_set_i64(st, "jobs", QUERY_JOBS);
    while ((r = bj_st_row(st, err)) > 0) {
        struct bj_measure_job *j = &b->job[b->n];
        if (full || b->n == BJ_MEASURE_JOBS)
            continue;
        bool known = batch_read_row(st, j),
             lost = !known || !limit_to_run(m, j);
        if (b->n > 0 && (lost || j->other_runs))
            continue; /* in a later batch, alone */
        samples += cost(m, j);
        if (b->n > 0 && samples > m->samples) {
            full = true;
            continue;
        }
        if (lost) /* no query, but remove it from the list */
            j->outcome = known ? BJ_MEASURE_AMBIGUOUS : BJ_MEASURE_NO_DATA;
        b->n++;
        alone = lost;
        full = lost || j->other_runs;
    }
    if (r < 0 || b->n == 0 || alone)
        return r < 0 ? r : (int)b->n;
    set_range(m, now);
    qsort(b->job, b->n, sizeof(b->job[0]), by_id);
    return (int)b->n;
}
