/* Running jobs in the store. */
#include "base/array.h"
#include "base/buf.h"
#include "statsdb/running/running_impl.h"
#include "statsdb/tables/fragment.h"
#include "store/db.h"

#include <stdlib.h>
#include <string.h>

/* --- which jobs run -------------------------------------------------------*/

/* clang-format off */
static const char list_sql[] =
    "SELECT j.id AS id, CAST(j.jobid AS TEXT) AS jobid, "
    BJ_SQL_NAME("user", "j.user") " AS owner, "
    BJ_SQL_NAME("account", "j.account") " AS account, "
    BJ_SQL_NAME("partition", "j.partition") " AS partition, "
    BJ_SQL_NAME("qos", "j.qos") " AS qos, j.start AS start, j.suspended AS"
    " suspended, j.nodes AS nodes, j.cpus AS cpus, j.gpus AS gpus,"
    " coalesce(j.memory_allocated_bytes, j.memory_requested_bytes) AS memory,"
    " j.time_limit AS time_limit, j.start - coalesce(j.eligible, nullif("
    "j.submit, 0)) AS wait, j.restarts AS restarts, "
    BJ_SQL_INTERACTIVE("j.id") " AS interactive FROM job AS j WHERE j.cluster"
    " = (SELECT id FROM cluster WHERE name = ?1) AND j.state = 2 AND"
    " j.\"end\" IS NULL AND j.start IS NOT NULL";
/* clang-format on */

/* When accounting of the cluster was last imported. */
static const char imported_sql[] =
    "SELECT coalesce(max(to_sec), 0) FROM covered WHERE cluster = ?1 AND source"
    " IN ('sacct', 'slurmrestd', 'mariadb', 'qstat', 'bjobs')";

static int read_imported(struct bj_store *s, const char *cluster, int64_t *ret,
                         struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(bj_store_db(s), imported_sql, &st, err);
    if (r < 0)
        return r;
    bj_st_bind_filled(st, 1, bj_slice_str(cluster));
    r = bj_st_row(st, err);
    *ret = r > 0 ? bj_st_get_i64(st, 0) : 0;
    bj_st_finalize(st);
    return r < 0 ? r : 0;
}

static struct bj_slice write_text(struct bj_arena *a, struct bj_st *st,
                                  const char *column)
{
    struct bj_slice s = bj_st_text(st, column);
    return s.n > 0 ? bj_arena_copy(a, s) : (struct bj_slice){0};
}

static void write_read_job(struct bj_arena *a, struct bj_st *st,
                           struct bj_running_job *j)
{
    *j = (struct bj_running_job){.id = bj_st_i64(st, "id"),
                                 .jobid = write_text(a, st, "jobid"),
                                 .user = write_text(a, st, "owner"),
                                 .account = write_text(a, st, "account"),
                                 .partition = write_text(a, st, "partition"),
                                 .qos = write_text(a, st, "qos"),
                                 .start_sec = bj_st_i64(st, "start"),
                                 .suspended_sec = bj_st_i64(st, "suspended"),
                                 .nodes = bj_st_i64(st, "nodes"),
                                 .cpus = bj_st_i64(st, "cpus"),
                                 .gpus = bj_st_i64(st, "gpus"),
                                 .memory = bj_st_i64(st, "memory"),
                                 .limit_sec = bj_st_i64(st, "time_limit"),
                                 .wait_sec = bj_st_i64(st, "wait"),
                                 .restarts = bj_st_i64(st, "restarts"),
                                 .interactive =
                                     bj_st_i64(st, "interactive") > 0};
}

static int write_compare(struct bj_slice a, struct bj_slice b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return c != 0 ? c : (a.n > b.n) - (a.n < b.n);
}

static int by_jobid(const void *a, const void *b)
{
    return write_compare(((const struct bj_running_job *)a)->jobid,
                         ((const struct bj_running_job *)b)->jobid);
}

static int write_read_all(struct bj_st *st, struct bj_running_jobs *ret,
                          struct bj_err *err)
{
    size_t cap = 0;
    int r;
    while ((r = bj_st_row(st, err)) > 0) {
        if (!BJ_GROW(ret->job, ret->n + 1, cap))
            return bj_err_set(err, -ENOMEM, "running jobs");
        write_read_job(&ret->arena, st, &ret->job[ret->n++]);
    }
    return r < 0               ? r
           : ret->arena.failed ? bj_err_set(err, -ENOMEM, "running jobs")
                               : 0;
}

int bj_running_jobs(struct bj_store *s, const char *cluster,
                    struct bj_running_jobs *ret, int64_t *ret_imported_sec,
                    struct bj_err *err)
{
    struct bj_st *st = NULL;
    *ret = (struct bj_running_jobs){.n = 0};
    int r = read_imported(s, cluster, ret_imported_sec, err);
    if (r == 0)
        r = bj_db_prepare(bj_store_db(s), list_sql, &st, err);
    if (r < 0)
        return r;
    bj_st_bind_filled(st, 1, bj_slice_str(cluster));
    r = write_read_all(st, ret, err);
    bj_st_finalize(st);
    if (ret->n > 0)
        qsort(ret->job, ret->n, sizeof(*ret->job), by_jobid);
    for (size_t i = 1; i < ret->n; i++)
        if (write_compare(ret->job[i].jobid, ret->job[i - 1].jobid) == 0)
            ret->job[i].ambiguous = ret->job[i - 1].ambiguous = true;
    return r;
}

void bj_running_jobs_free(struct bj_running_jobs *jobs)
{
    for (size_t i = 0; i < jobs->n; i++)
        bj_parts_free(&jobs->job[i].parts);
    free(jobs->job);
    bj_arena_free(&jobs->arena);
    *jobs = (struct bj_running_jobs){.n = 0};
}

struct bj_running_job *bj_running_find(const struct bj_running_jobs *jobs,
                                       struct bj_slice jobid)
{
    const struct bj_running_job key = {.jobid = jobid};
    return jobs->n > 0
               ? bsearch(&key, jobs->job, jobs->n, sizeof(key), by_jobid)
               : NULL;
}

/* --- their values ---------------------------------------------------------*/

/* statsdb/derive/derive.h handles jobs that ended meanwhile. */
#define RUNS " AND (SELECT \"end\" FROM job WHERE id = :job) IS NULL"

enum {
    LIST,
    FORGET,
    DROP,
    PUT,
    NOTE,
    PART,
    PARTS,
    OLD,
    LATE,
    STATE,
    STATEMENTS
};

static const char *const texts[STATEMENTS] = {
    /* Jobs of the cluster that had findings in an earlier evaluation. */
    [LIST] = "SELECT DISTINCT f.job FROM running_finding AS f JOIN job AS j ON"
             " j.id = f.job WHERE j.cluster = (SELECT id FROM cluster WHERE"
             " name = :cluster) AND f.seen < :now",
    [FORGET] = "DELETE FROM running_finding WHERE job = :job AND seen < :now",
    [DROP] = "DELETE FROM job_finding WHERE job = :job" RUNS,
    [PUT] = "INSERT INTO job_finding(job, rule, value, threshold, names)"
            " SELECT :job, :rule, :value, :threshold, :names WHERE (SELECT"
            " \"end\" FROM job WHERE id = :job) IS NULL ON CONFLICT DO NOTHING",
    /* After a missed evaluation, the time of a finding begins again. */
    [NOTE] = "INSERT INTO running_finding(job, rule, since, seen) VALUES(:job,"
             " :rule, :now, :now) ON CONFLICT(job, rule) DO UPDATE SET since = "
             "CASE WHEN"
             " running_finding.seen < :unbroken THEN :now ELSE"
             " running_finding.since END, seen = :now",
    /* Idle since the first evaluation that found it so without a break. */
    [PART] =
        "INSERT INTO job_part(job, node, gpu, \"index\", since, upto, cpus,"
        " cpus_milli, memory_bytes, memory_limit_bytes, busy_ppm, idle_since)"
        " SELECT :job, :node, :gpu, :index, :since, :now, :cpus, :cpus_milli,"
        " :memory, :limit, :busy, :idle WHERE"
        " (SELECT \"end\" FROM job WHERE id = :job) IS NULL ON CONFLICT(job,"
        " node, gpu) DO UPDATE SET \"index\" = excluded.\"index\", since ="
        " excluded.since, upto = excluded.upto, cpus = excluded.cpus,"
        " cpus_milli = excluded.cpus_milli, memory_bytes ="
        " excluded.memory_bytes, memory_limit_bytes ="
        " excluded.memory_limit_bytes, busy_ppm = excluded.busy_ppm, idle_since"
        " = CASE WHEN excluded.idle_since IS NOT NULL AND job_part.idle_since"
        " IS NOT NULL AND job_part.upto >= :unbroken THEN job_part.idle_since "
        "ELSE"
        " excluded.idle_since END",
    /* What this evaluation did not find of running jobs. */
    [PARTS] = "DELETE FROM job_part WHERE upto < :now AND job IN (SELECT id"
              " FROM job WHERE cluster = (SELECT id FROM cluster WHERE name ="
              " :cluster)"
              " AND state = 2 AND \"end\" IS NULL)",
    [OLD] = "DELETE FROM running_finding WHERE job IN (SELECT f.job FROM"
            " running_finding AS f LEFT JOIN job AS j ON j.id = f.job WHERE"
            " j.id IS NULL OR j.\"end\" IS NOT NULL)",
    [LATE] = "UPDATE running_action SET state = 'failed', detail = 'the job"
             " ended before' WHERE state = 'waiting' AND (SELECT j.\"end\""
             " FROM job AS j WHERE j.id = running_action.job) IS NOT NULL",
    [STATE] = "INSERT INTO running_state(cluster, at) VALUES(:cluster, :now)"
              " ON CONFLICT(cluster) DO UPDATE SET at = :now",
};

struct writer {
    struct bj_running *r;
    struct bj_st *st[STATEMENTS];
    int64_t now_sec, unbroken_sec;
};

static int write_run(struct writer *w, int which, int64_t job,
                     struct bj_err *err)
{
    bj_st_set_i64(w->st[which], "job", job);
    return bj_st_run(w->st[which], err);
}

static int write_put_job(struct writer *w, const struct bj_running_job *j,
                         struct bj_err *err)
{
    int e = write_run(w, DROP, j->id, err);
    for (size_t i = 0; e == 0 && i < j->n_found; i++) {
        const struct bj_rule_match *m = &j->found[i];
        int64_t rule;
        e = bj_finding_rules_id(w->r->finding_rules, m->rule, &rule, err);
        if (e < 0)
            return e;
        bj_st_set_i64(w->st[PUT], "rule", rule);
        bj_st_set_f64(w->st[PUT], "value", m->value);
        bj_st_set_f64(w->st[PUT], "threshold", m->threshold);
        bj_st_set_filled(w->st[PUT], "names",
                         bj_slice_str(m->names ? m->names : ""));
        e = write_run(w, PUT, j->id, err);
        bj_st_set_filled(w->st[NOTE], "rule", bj_slice_str(m->rule->name));
        bj_st_set_i64(w->st[NOTE], "now", w->now_sec);
        bj_st_set_i64(w->st[NOTE], "unbroken", w->unbroken_sec);
        if (e == 0)
            e = write_run(w, NOTE, j->id, err);
    }
    return e;
}

static int write_put_parts(struct writer *w, const struct bj_running_jobs *jobs,
                           const struct bj_running_job *j, struct bj_err *err)
{
    struct bj_st *st = w->st[PART];
    int e = 0;
    for (size_t i = 0; e == 0 && !j->parts.too_many && i < j->parts.n; i++) {
        const struct bj_part *p = &j->parts.v[i];
        bj_st_set_text(st, "node", p->node);
        bj_st_set_text(st, "gpu", p->gpu);
        bj_st_set_filled(st, "index", p->index);
        bj_st_set_i64(st, "since", jobs->since_sec);
        bj_st_set_i64(st, "now", w->now_sec);
        bj_st_set_i64(st, "cpus", p->cpus);
        bj_st_set_i64(st, "cpus_milli", p->cpus_milli);
        bj_st_set_i64(st, "memory", p->memory);
        bj_st_set_i64(st, "limit", p->memory_limit);
        bj_st_set_i64(st, "busy", p->busy_ppm);
        bj_st_set_i64(st, "idle", p->idle_since);
        bj_st_set_i64(st, "unbroken", w->unbroken_sec);
        e = write_run(w, PART, j->id, err);
    }
    return e;
}

/* Remove findings that this evaluation did not find again. */
static int drop_others(struct writer *w, const char *cluster,
                       const struct bj_running_jobs *jobs, struct bj_err *err)
{
    enum { BATCH = 500 };
    int64_t job[BATCH];
    int n = BATCH, e = 0;
    while (e == 0 && n == BATCH) {
        n = 0;
        bj_st_set_filled(w->st[LIST], "cluster", bj_slice_str(cluster));
        bj_st_set_i64(w->st[LIST], "now", w->now_sec);
        while (n < BATCH && (e = bj_st_row(w->st[LIST], err)) > 0)
            job[n++] = bj_st_get_i64(w->st[LIST], 0);
        bj_st_reset(w->st[LIST]);
        for (int i = 0; e >= 0 && i < n; i++) {
            bool again = false;
            for (size_t k = 0; k < jobs->n && !again; k++)
                again = jobs->job[k].id == job[i] && jobs->job[k].n_found > 0;
            bj_st_set_i64(w->st[FORGET], "now", w->now_sec);
            e = again ? 0 : write_run(w, DROP, job[i], err);
            if (e == 0)
                e = write_run(w, FORGET, job[i], err);
        }
        e = e < 0 ? e : 0;
    }
    return e;
}

static int write_all(struct writer *w, const char *cluster,
                     const struct bj_running_jobs *jobs, struct bj_err *err)
{
    int e = 0;
    for (size_t i = 0; e == 0 && i < jobs->n; i++)
        if (jobs->job[i].n_found > 0)
            e = write_put_job(w, &jobs->job[i], err);
    for (size_t i = 0; e == 0 && i < jobs->n; i++)
        e = write_put_parts(w, jobs, &jobs->job[i], err);
    if (e == 0) {
        bj_st_set_filled(w->st[PARTS], "cluster", bj_slice_str(cluster));
        bj_st_set_i64(w->st[PARTS], "now", w->now_sec);
        e = bj_st_run(w->st[PARTS], err);
    }
    if (e == 0)
        e = drop_others(w, cluster, jobs, err);
    if (e == 0)
        e = bj_st_run(w->st[OLD], err);
    return e == 0 ? bj_st_run(w->st[LATE], err) : e;
}

static int write_state(struct writer *w, const char *cluster,
                       struct bj_err *err)
{
    bj_st_set_text(w->st[STATE], "cluster", bj_slice_str(cluster));
    bj_st_set_i64(w->st[STATE], "now", w->now_sec);
    return bj_st_run(w->st[STATE], err);
}

int bj_running_write(struct bj_running *r, const struct bj_running_cluster *c,
                     const struct bj_running_jobs *jobs, bool evaluated,
                     int64_t now_sec, struct bj_err *err)
{
    const struct bj_running_conf *conf = &r->conf->running;
    struct writer w = {
        .r = r,
        .now_sec = now_sec,
        .unbroken_sec =
            now_sec - (int64_t)((2 * conf->interval_usec + conf->max_age_usec) /
                                1000000)};
    int e = 0;
    for (int i = 0; e == 0 && i < STATEMENTS; i++)
        e = bj_db_prepare(bj_store_db(r->store), texts[i], &w.st[i], err);
    if (e == 0)
        e = bj_store_begin(r->store, err);
    if (e == 0) {
        e = write_all(&w, c->conf->name, jobs, err);
        if (e == 0 && evaluated)
            e = write_state(&w, c->conf->name, err);
        if (e == 0)
            e = bj_store_commit(r->store, err);
        if (e < 0) {
            bj_store_rollback(r->store);
            bj_finding_rules_clear(r->finding_rules);
        }
    }
    for (int i = 0; i < STATEMENTS; i++)
        bj_st_finalize(w.st[i]);
    return e;
}
