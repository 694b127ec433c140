#include "statsdb/measure/measure.h"

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

/* Free what the queries for a job returned. */
static void measure_job_free(struct bj_measure_job *j)
{
    free(j->bin);
    bj_parts_free(&j->parts);
    for (int i = 0; i < BJ_MEASURE_CURVES; i++)
        free(j->curve[i]);
}

static void free_bins(struct bj_measure_batch *b)
{
    for (unsigned i = 0; i < b->n; i++)
        measure_job_free(&b->job[i]);
    b->n = 0;
}

/* Choose the jobs of the next batch. Returns their number or
 * an error. */
static int measure_choose(struct bj_measure *m, int64_t now, struct bj_err *err)
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

/* Other runs with the same jobid, whose series may overlap. */
#define OTHERS                                                                 \
    " FROM job AS k WHERE k.cluster = j.cluster AND k.jobid = j.jobid"         \
    " AND k.id != j.id AND k.start IS NOT NULL"

static const char list_sql[] =
    "SELECT t.job AS job, t.\"end\" AS \"end\", j.jobid AS jobid, j.start AS"
    " start, j.nodes AS nodes, j.gpus AS gpus, EXISTS (SELECT 1" OTHERS
    " AND k.start > j.start - 3456000) AS others,"
    " (SELECT max(coalesce(k.\"end\", j.start))" OTHERS
    " AND k.start <= j.start) AS prev_end,"
    " (SELECT max(k.start)" OTHERS " AND k.start <= j.start) AS prev_start,"
    " (SELECT min(k.start)" OTHERS " AND k.start > j.start) AS next_start"
    " FROM prom_todo AS t JOIN job AS j ON j.id = t.job WHERE t.cluster ="
    " (SELECT id FROM cluster WHERE name = :cluster) AND t.\"end\" <="
    " :upto ORDER BY t.\"end\" DESC LIMIT :jobs";

static const char done_sql[] =
    "DELETE FROM prom_todo WHERE cluster = (SELECT id FROM cluster WHERE name ="
    " :cluster) AND \"end\" = :end AND job = :job";

static int put_sql(struct bj_db *db, struct bj_st **ret, struct bj_err *err)
{
    struct bj_buf sql = {0};
    bj_buf_str(&sql, "INSERT INTO job_prom(job, queried_sec, outcome,"
                     " nodes_seen, nodes_final, coverage_ppm, energy_policy,"
                     " energy_nodes, start, \"end\""
#define COLUMN(upper, lower, nodes) ", " #lower
               BJ_USE_VALUES(COLUMN)
#undef COLUMN
                   ") VALUES(:job, :now, :outcome, :nodes, :final, :coverage,"
                   " :policy, :energy_nodes, :start, :end"
#define COLUMN(upper, lower, nodes) ", :" #lower
               BJ_USE_VALUES(COLUMN)
#undef COLUMN
                   ") ON CONFLICT(job) DO UPDATE SET queried_sec = :now,"
                   " outcome = :outcome, nodes_seen = :nodes, nodes_final"
                   " = :final, coverage_ppm = :coverage, energy_policy ="
                   " :policy, energy_nodes = :energy_nodes, start ="
                   " :start, \"end\" = :end"
#define COLUMN(upper, lower, nodes) ", " #lower " = excluded." #lower
               BJ_USE_VALUES(COLUMN)
#undef COLUMN
    );
    bj_buf_put(&sql, "", 1);
    int r = sql.failed ? bj_err_set(err, -ENOMEM, "prometheus")
                       : bj_db_prepare(db, sql.p, ret, err);
    bj_buf_free(&sql);
    return r;
}

static int measure_prepare(struct bj_measure *m, struct bj_err *err)
{
    const struct {
        const char *sql;
        struct bj_st **st;
    } all[] = {
        {list_sql, &m->list},
        {done_sql, &m->done},
        {"UPDATE job_prom SET queried_sec = :now, start = :start, \"end\" ="
         " :end WHERE job = :job AND outcome = 0",
         &m->keep},
        {"INSERT INTO job_prom_energy(job, component, microjoules)"
         " VALUES(:job, :component, :microjoules)",
         &m->put_energy},
        {"INSERT INTO job_bin(job, start, microjoules) VALUES(:job, :start,"
         " :microjoules)",
         &m->put_bin},
        {"DELETE FROM job_prom_energy WHERE job = :job", &m->drop_energy},
        {"DELETE FROM job_bin WHERE job = :job", &m->drop_bin},
        {"INSERT INTO job_part(job, node, gpu, \"index\", since, upto, cpus,"
         " cpus_milli, memory_bytes, memory_limit_bytes, busy_ppm, idle_since)"
         " VALUES(:job, :node, :gpu, :index, :since, :upto, :cpus, :cpus_milli,"
         " :memory, :limit, :busy, :idle)",
         &m->put_part},
        {"DELETE FROM job_part WHERE job = :job", &m->drop_part},
        {"INSERT INTO derive_todo(job) VALUES(:job) ON CONFLICT DO NOTHING",
         &m->retry},
    };
    int r = put_sql(m->db, &m->put, err);
    for (size_t i = 0; r == 0 && i < sizeof(all) / sizeof(all[0]); i++)
        r = bj_db_prepare(m->db, all[i].sql, all[i].st, err);
    return r;
}

int bj_measure_new(struct bj_store *s, const struct bj_prom_conf *conf,
                   const char *cluster, const atomic_bool *stop,
                   struct bj_measure **ret, struct bj_err *err)
{
    struct bj_measure *m = calloc(1, sizeof(*m));
    if (!m)
        return bj_err_set(err, -ENOMEM, "prometheus");
    m->store = s;
    m->db = bj_store_db(s);
    m->conf = conf;
    m->cluster = cluster;
    m->samples = conf->max_samples;
    int r = bj_prom_matchers(&conf->match, cluster, &m->match, err);
    if (r == 0)
        r = bj_prom_new(conf, stop, &m->prom, err);
    if (r == 0)
        r = bj_dicts_new(m->db, &m->dicts, err);
    if (r == 0)
        r = measure_prepare(m, err);
    if (r < 0) {
        bj_measure_free(m);
        return r;
    }
    *ret = m;
    return 0;
}

void bj_measure_free(struct bj_measure *m)
{
    if (!m)
        return;
    struct bj_st *const all[] = {m->list,     m->done,        m->keep,
                                 m->put,      m->put_energy,  m->put_bin,
                                 m->retry,    m->drop_energy, m->drop_bin,
                                 m->put_part, m->drop_part};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        bj_st_finalize(all[i]);
    for (unsigned i = 0; i < m->batch.n; i++)
        measure_job_free(&m->batch.job[i]);
    bj_dicts_free(m->dicts);
    bj_prom_free(m->prom);
    bj_buf_free(&m->match);
    free(m);
}

const struct bj_measure_counts *bj_measure_counts(const struct bj_measure *m)
{
    return &m->counts;
}

int bj_measure_backlog(struct bj_measure *m, int64_t since_sec,
                       struct bj_err *err)
{
    struct bj_st *st;
    int r = bj_db_prepare(
        m->db,
        "INSERT INTO prom_todo(cluster, \"end\", job) SELECT cluster, \"end\","
        " id FROM job WHERE at > :since - 3456000 AND \"end\" >= :since AND"
        " \"end\" > start AND cluster = (SELECT id FROM cluster WHERE name ="
        " :cluster) AND NOT"
        " EXISTS (SELECT 1 FROM job_prom AS p WHERE p.job = job.id AND"
        " p.start = job.start AND p.\"end\" = job.\"end\")"
        " ON CONFLICT DO NOTHING",
        &st, err);
    if (r < 0)
        return r;
    bj_st_set_filled(st, "cluster", bj_slice_str(m->cluster));
    bj_st_set_i64(st, "since", since_sec);
    r = bj_st_run(st, err);
    bj_st_finalize(st);
    return r;
}

/* --- writing ---------------------------------------------------------------
 */

static int run_for(struct bj_st *st, const struct bj_measure_job *j,
                   struct bj_err *err)
{
    bj_st_set_i64(st, "job", j->job);
    return bj_st_run(st, err);
}

/* The part of the expected samples of all nodes that the server has, in
 * millionths. */
static int64_t coverage(const struct bj_measure *m,
                        const struct bj_measure_job *j)
{
    int64_t scrape = (int64_t)(m->conf->scrape_usec / 1000000);
    int64_t nodes = j->nodes > 0 ? j->nodes : j->v[BJ_ME_NODES];
    int64_t wanted = (j->end_sec - j->start_sec) / scrape * nodes;
    int64_t had = j->v[BJ_ME_SAMPLES] > 0 ? j->v[BJ_ME_SAMPLES] : 0;
    if (m->batch.step_sec > 0)
        return BJ_SQL_NULL;
    return wanted <= 0 || had >= wanted ? 1000000 : had * 1000000 / wanted;
}

static int measure_put_row(struct bj_measure *m, const struct bj_measure_job *j,
                           int64_t now, struct bj_err *err)
{
    struct bj_st *st = m->put;
    bool found = j->outcome == BJ_MEASURE_FOUND;
    int64_t policy = BJ_SQL_NULL;
    /* Unknown if nodes use different policies. */
    if (found && m->batch.policies == 1) {
        int r = bj_dict_text(m->dicts, BJ_DICT_WORD,
                             bj_slice_str(m->batch.policy), &policy, err);
        if (r < 0)
            return r;
    }
    bj_st_set_i64(st, "now", now);
    bj_st_set_i64(st, "outcome", j->outcome);
    bj_st_set_i64(st, "nodes", j->v[BJ_ME_NODES]);
    bj_st_set_i64(st, "final", j->v[BJ_ME_FINAL]);
    bj_st_set_i64(st, "coverage", found ? coverage(m, j) : BJ_SQL_NULL);
    bj_st_set_i64(st, "policy", policy);
    bj_st_set_i64(st, "energy_nodes", j->v[BJ_ME_ENERGY_NODES]);
    bj_st_set_i64(st, "start", j->start_sec);
    bj_st_set_i64(st, "end", j->end_sec);
#define VALUE(upper, lower, nodes)                                             \
    bj_st_set_i64(st, #lower, j->v[BJ_USE_##upper]);
    BJ_USE_VALUES(VALUE)
#undef VALUE
    return run_for(st, j, err);
}

static int measure_put_energy(struct bj_measure *m,
                              const struct bj_measure_job *j,
                              struct bj_err *err)
{
    static const char *const names[BJ_COMPONENTS] = {"cpu", "dram", "gpu",
                                                     "other"};
    int r = run_for(m->drop_energy, j, err);
    for (int i = 0; r == 0 && i < BJ_COMPONENTS; i++) {
        int64_t word;
        if (j->component[i] == BJ_SQL_NULL)
            continue;
        r = bj_dict_text(m->dicts, BJ_DICT_WORD, bj_slice_str(names[i]), &word,
                         err);
        if (r < 0)
            return r;
        bj_st_set_i64(m->put_energy, "component", word);
        bj_st_set_i64(m->put_energy, "microjoules", j->component[i]);
        r = run_for(m->put_energy, j, err);
    }
    if (r == 0)
        r = run_for(m->drop_bin, j, err);
    for (size_t i = 0; r == 0 && i < j->bins; i++) {
        bj_st_set_i64(m->put_bin, "start", j->bin[i].start_sec);
        bj_st_set_i64(m->put_bin, "microjoules", j->bin[i].microjoules);
        r = run_for(m->put_bin, j, err);
    }
    return r;
}

static int measure_put_parts(struct bj_measure *m,
                             const struct bj_measure_job *j, struct bj_err *err)
{
    struct bj_st *st = m->put_part;
    int r = run_for(m->drop_part, j, err);
    for (size_t i = 0; r == 0 && !j->parts.too_many && i < j->parts.n; i++) {
        const struct bj_part *p = &j->parts.v[i];
        bj_st_set_text(st, "node", p->node);
        bj_st_set_text(st, "gpu", p->gpu);
        bj_st_set_filled(st, "index", p->index);
        bj_st_set_i64(st, "since", j->start_sec);
        bj_st_set_i64(st, "upto", j->end_sec);
        bj_st_set_i64(st, "cpus", p->cpus);
        bj_st_set_i64(st, "cpus_milli", p->cpus_milli);
        bj_st_set_i64(st, "memory", p->memory);
        bj_st_set_i64(st, "limit", p->memory_limit);
        bj_st_set_i64(st, "busy", p->busy_ppm);
        bj_st_set_i64(st, "idle", p->unused ? j->start_sec : BJ_SQL_NULL);
        r = run_for(st, j, err);
    }
    return r;
}

/* Keep the stored values when the server no longer has data for a job whose
 * time has changed. */
static int keep_stored(struct bj_measure *m, const struct bj_measure_job *j,
                       int64_t now, struct bj_err *err)
{
    if (j->outcome != BJ_MEASURE_NO_DATA)
        return 0;
    bj_st_set_i64(m->keep, "now", now);
    bj_st_set_i64(m->keep, "start", j->start_sec);
    bj_st_set_i64(m->keep, "end", j->end_sec);
    int r = run_for(m->keep, j, err);
    return r < 0 ? r : bj_db_changes(m->db) > 0;
}

static int put_result(struct bj_measure *m, const struct bj_measure_job *j,
                      int64_t now, struct bj_err *err)
{
    int r = keep_stored(m, j, now, err);
    if (r != 0)
        return r < 0 ? r : 0;
    r = measure_put_row(m, j, now, err);
    if (r == 0)
        r = measure_put_energy(m, j, err);
    if (r == 0)
        r = measure_put_parts(m, j, err);
    if (r < 0 || j->outcome == BJ_MEASURE_NO_DATA)
        return r;
    return run_for(m->retry, j, err);
}

static int measure_put_job(struct bj_measure *m, const struct bj_measure_job *j,
                           int64_t now, struct bj_err *err)
{
    uint64_t *const count[] = {
        [BJ_MEASURE_FOUND] = &m->counts.jobs,
        [BJ_MEASURE_NO_DATA] = &m->counts.no_data,
        [BJ_MEASURE_AMBIGUOUS] = &m->counts.ambiguous,
    };
    int r = put_result(m, j, now, err);
    bj_st_set_filled(m->done, "cluster", bj_slice_str(m->cluster));
    bj_st_set_i64(m->done, "end", j->end_sec);
    bj_st_set_i64(m->done, "job", j->job);
    if (r == 0)
        r = bj_st_run(m->done, err);
    ++*count[j->outcome];
    return r;
}

/* 422: too many samples; make the next batch smaller. */
static int shrink_batch(struct bj_measure *m, int r, struct bj_err *err)
{
    if ((r == -EREMOTEIO || r == -ETIMEDOUT || r == -EFBIG) &&
        m->samples > 10000)
        m->samples /= 2;
    return bj_err_wrap(err, r, "%s", m->cluster);
}

int bj_measure_step(struct bj_measure *m, int64_t now_sec, struct bj_err *err)
{
    int n = measure_choose(m, now_sec, err);
    if (n <= 0)
        return n;
    const struct bj_measure_batch *b = &m->batch;
    int r =
        b->job[0].outcome == BJ_MEASURE_FOUND ? bj_measure_query(m, err) : 0;
    struct bj_measure_counts was = m->counts;
    if (r == 0)
        r = bj_store_begin(m->store, err);
    else
        return shrink_batch(m, r, err);
    for (unsigned i = 0; r == 0 && i < b->n; i++)
        r = measure_put_job(m, &b->job[i], now_sec, err);
    if (r == 0)
        r = bj_store_commit(m->store, err);
    if (r == 0) {
        if (m->samples < m->conf->max_samples)
            m->samples += m->samples / 4;
        return n;
    }
    bj_store_rollback(m->store);
    bj_dicts_clear(m->dicts);
    m->counts = was;
    return bj_err_wrap(err, r, "%s", m->cluster);
}
