#include "statsdb/running/running_impl.h"
#include "store/db.h"

/* statsdb/derive/derive.h handles jobs that ended meanwhile. */
#define RUNS " AND (SELECT \"end\" FROM job WHERE id = ?1) IS NULL"

enum { LIST, FORGET, DROP, PUT, NOTE, PART, PARTS, OLD, LATE, STATEMENTS };

static const char *const texts[STATEMENTS] = {
    /* Jobs of the cluster that had findings in an earlier evaluation. */
    [LIST] = "SELECT DISTINCT f.job FROM running_finding AS f JOIN job AS j ON"
             " j.id = f.job WHERE j.cluster = (SELECT id FROM cluster WHERE"
             " name = ?1) AND f.seen < ?2",
    [FORGET] = "DELETE FROM running_finding WHERE job = ?1 AND seen < ?2",
    [DROP] = "DELETE FROM job_finding WHERE job = ?1" RUNS,
    [PUT] = "INSERT INTO job_finding(job, rule, value, threshold, names)"
            " SELECT ?1, ?2, ?3, ?4, ?5 WHERE (SELECT \"end\" FROM job WHERE "
            "id = ?1) IS NULL"
            " ON CONFLICT DO NOTHING",
    /* After a missed evaluation, the time of a finding begins again. */
    [NOTE] =
        "INSERT INTO running_finding(job, rule, since, seen) VALUES(?1,"
        " ?2, ?3, ?3) ON CONFLICT(job, rule) DO UPDATE SET since = CASE WHEN"
        " running_finding.seen < ?4 THEN ?3 ELSE running_finding.since END,"
        " seen = ?3",
    /* Idle since the first evaluation that found it so without a break. */
    [PART] =
        "INSERT INTO job_part(job, node, gpu, \"index\", since, upto, cpus,"
        " cpus_milli, memory_bytes, memory_limit_bytes, busy_ppm, idle_since)"
        " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12 WHERE"
        " (SELECT \"end\" FROM job WHERE id = ?1) IS NULL ON CONFLICT(job,"
        " node, gpu) DO UPDATE SET \"index\" = excluded.\"index\", since ="
        " excluded.since, upto = excluded.upto, cpus = excluded.cpus,"
        " cpus_milli = excluded.cpus_milli, memory_bytes ="
        " excluded.memory_bytes, memory_limit_bytes ="
        " excluded.memory_limit_bytes, busy_ppm = excluded.busy_ppm, idle_since"
        " = CASE WHEN excluded.idle_since IS NOT NULL AND job_part.idle_since"
        " IS NOT NULL AND job_part.upto >= ?13 THEN job_part.idle_since ELSE"
        " excluded.idle_since END",
    /* What this evaluation did not find of running jobs. */
    [PARTS] = "DELETE FROM job_part WHERE upto < ?2 AND job IN (SELECT id FROM"
              " job WHERE cluster = (SELECT id FROM cluster WHERE name = ?1)"
              " AND state = 2 AND \"end\" IS NULL)",
    [OLD] = "DELETE FROM running_finding WHERE job IN (SELECT f.job FROM"
            " running_finding AS f LEFT JOIN job AS j ON j.id = f.job WHERE"
            " j.id IS NULL OR j.\"end\" IS NOT NULL)",
    [LATE] = "UPDATE running_action SET state = 'failed', detail = 'the job"
             " ended before' WHERE state = 'waiting' AND (SELECT j.\"end\""
             " FROM job AS j WHERE j.id = running_action.job) IS NOT NULL",
};

struct writer {
    struct bj_running *r;
    struct bj_st *st[STATEMENTS];
    int64_t now_sec, unbroken_sec;
};

static int run(struct writer *w, int which, int64_t job, struct bj_err *err)
{
    bj_st_bind_i64(w->st[which], 1, job);
    return bj_st_run(w->st[which], err);
}

static int put_job(struct writer *w, const struct bj_running_job *j,
                   struct bj_err *err)
{
    int e = run(w, DROP, j->id, err);
    for (size_t i = 0; e == 0 && i < j->n_found; i++) {
        const struct bj_rule_match *m = &j->found[i];
        int64_t rule;
        e = bj_finding_rules_id(w->r->finding_rules, m->rule, &rule, err);
        if (e < 0)
            return e;
        bj_st_bind_i64(w->st[PUT], 2, rule);
        bj_st_bind_f64(w->st[PUT], 3, m->value);
        bj_st_bind_f64(w->st[PUT], 4, m->threshold);
        bj_st_bind_filled(w->st[PUT], 5,
                          bj_slice_str(m->names ? m->names : ""));
        e = run(w, PUT, j->id, err);
        bj_st_bind_filled(w->st[NOTE], 2, bj_slice_str(m->rule->name));
        bj_st_bind_i64(w->st[NOTE], 3, w->now_sec);
        bj_st_bind_i64(w->st[NOTE], 4, w->unbroken_sec);
        if (e == 0)
            e = run(w, NOTE, j->id, err);
    }
    return e;
}

static int put_parts(struct writer *w, const struct bj_running_jobs *jobs,
                     const struct bj_running_job *j, struct bj_err *err)
{
    struct bj_st *st = w->st[PART];
    int e = 0;
    for (size_t i = 0; e == 0 && !j->parts.too_many && i < j->parts.n; i++) {
        const struct bj_part *p = &j->parts.v[i];
        const int64_t numbers[] = {
            jobs->since_sec, w->now_sec,    p->cpus,
            p->cpus_milli,   p->memory,     p->memory_limit,
            p->busy_ppm,     p->idle_since, w->unbroken_sec};
        bj_st_bind_text(st, 2, p->node);
        bj_st_bind_text(st, 3, p->gpu);
        bj_st_bind_filled(st, 4, p->index);
        for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
            bj_st_bind_i64(st, (int)k + 5, numbers[k]);
        e = run(w, PART, j->id, err);
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
        bj_st_bind_filled(w->st[LIST], 1, bj_slice_str(cluster));
        bj_st_bind_i64(w->st[LIST], 2, w->now_sec);
        while (n < BATCH && (e = bj_st_row(w->st[LIST], err)) > 0)
            job[n++] = bj_st_get_i64(w->st[LIST], 0);
        bj_st_reset(w->st[LIST]);
        for (int i = 0; e >= 0 && i < n; i++) {
            bool again = false;
            for (size_t k = 0; k < jobs->n && !again; k++)
                again = jobs->job[k].id == job[i] && jobs->job[k].n_found > 0;
            bj_st_bind_i64(w->st[FORGET], 2, w->now_sec);
            e = again ? 0 : run(w, DROP, job[i], err);
            if (e == 0)
                e = run(w, FORGET, job[i], err);
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
            e = put_job(w, &jobs->job[i], err);
    for (size_t i = 0; e == 0 && i < jobs->n; i++)
        e = put_parts(w, jobs, &jobs->job[i], err);
    if (e == 0) {
        bj_st_bind_filled(w->st[PARTS], 1, bj_slice_str(cluster));
        bj_st_bind_i64(w->st[PARTS], 2, w->now_sec);
        e = bj_st_run(w->st[PARTS], err);
    }
    if (e == 0)
        e = drop_others(w, cluster, jobs, err);
    if (e == 0)
        e = bj_st_run(w->st[OLD], err);
    return e == 0 ? bj_st_run(w->st[LATE], err) : e;
}

int bj_running_write(struct bj_running *r, const struct bj_running_cluster *c,
                     const struct bj_running_jobs *jobs, int64_t now_sec,
                     struct bj_err *err)
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
