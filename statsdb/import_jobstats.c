#include "statsdb/import.h"

#include "sched/jobstats.h"
#include "store/db.h"

enum { BATCH = 500 };

enum { NEXT, PUT, TODO, STATEMENTS };

/* Values from Prometheus itself stay. */
static const char *const texts[STATEMENTS] = {
    [NEXT] = "SELECT m.job, m.admin_comment, coalesce(j.\"end\", 0)"
             " FROM job_more AS m JOIN job AS j ON j.id = m.job"
             " WHERE m.job > ?1 AND m.admin_comment >= 'JS1:'"
             " AND m.admin_comment < 'JS1;' ORDER BY m.job LIMIT ?2",
    [PUT] = "INSERT INTO job_prom(job, queried_sec, outcome, nodes_seen,"
            " cpu_usec, memory_held_peak_bytes, nodes_unused, gpus_seen, "
            "gpu_busy_ppm,"
            " gpu_memory_peak_bytes, start, \"end\") SELECT ?1, ?2, 0, ?3, ?4,"
            " ?5, ?6, ?7, ?8, ?9, start, \"end\" FROM job WHERE id = ?1"
            " ON CONFLICT(job) DO UPDATE SET queried_sec = ?2, outcome = 0,"
            " nodes_seen = ?3, cpu_usec = ?4, memory_held_peak_bytes = ?5,"
            " nodes_unused = ?6, gpus_seen = ?7, gpu_busy_ppm = ?8,"
            " gpu_memory_peak_bytes = ?9, start = excluded.start,"
            " \"end\" = excluded.\"end\" WHERE job_prom.outcome != 0",
    [TODO] = "INSERT INTO derive_todo(job) VALUES(?1) ON CONFLICT DO NOTHING",
};

struct summaries {
    const struct bj_import *im;
    struct bj_import_counts *count;
    struct bj_db *db;
    struct bj_st *st[STATEMENTS];
    struct bj_arena arena;
    int64_t last; /* last job read */
};

static int put(struct summaries *s, int64_t job, int64_t end,
               const struct bj_jobstats *js, struct bj_err *err)
{
    struct bj_st *st = s->st[PUT];
    const uint64_t values[] = {js->nodes,
                               js->cpu_usec,
                               js->mem_used_bytes,
                               js->nodes_unused,
                               js->gpus ? js->gpus : BJ_ABSENT,
                               js->gpu_busy_ppm,
                               js->gpu_mem_used_bytes};
    bj_st_bind_i64(st, 1, job);
    bj_st_bind_i64(st, 2, end);
    for (int i = 0; i < 7; i++)
        bj_st_bind_i64(st, i + 3, bj_sql_u64(values[i]));
    int r = bj_st_run(st, err);
    if (r < 0)
        return r;
    if (bj_db_changes(s->db) == 0) {
        s->count->known++;
        return 0;
    }
    s->count->taken++;
    bj_st_bind_i64(s->st[TODO], 1, job);
    return bj_st_run(s->st[TODO], err);
}

static int take(struct summaries *s, struct bj_err *err)
{
    struct bj_slice comment = bj_st_get_text(s->st[NEXT], 1);
    struct bj_err why = {0};
    struct bj_jobstats js;
    s->last = bj_st_get_i64(s->st[NEXT], 0);
    s->count->rows++;
    bj_arena_reset(&s->arena);
    int r = bj_jobstats_read(&s->arena, comment, &js, &why);
    if (r == 0)
        return put(s, s->last, bj_st_get_i64(s->st[NEXT], 2), &js, err);
    if (r == -ENOMEM)
        return bj_err_set(err, r, "%s", why.msg);
    if (r == -ENOENT)
        return 0;
    s->count->bad++;
    if (s->im->bad)
        s->im->bad(s->im->ctx, s->last, why.msg);
    return 0;
}

/* One transaction: 1 if there may be more, else 0. */
static int take_some(struct summaries *s, struct bj_err *err)
{
    struct bj_st *next = s->st[NEXT];
    unsigned n = 0;
    int r = bj_store_begin(s->im->store, err), e = 0;
    if (r < 0)
        return r;
    bj_st_bind_i64(next, 1, s->last);
    bj_st_bind_i64(next, 2, BATCH);
    while (e == 0 && (r = bj_st_row(next, err)) > 0) {
        e = take(s, err);
        n++;
    }
    bj_st_reset(next);
    if (e < 0 || r < 0) {
        bj_store_rollback(s->im->store);
        return e < 0 ? e : r;
    }
    r = bj_store_commit(s->im->store, err);
    return r < 0 ? r : n == BATCH;
}

int bj_import_jobstats(const struct bj_import *im, struct bj_import_counts *ret,
                       struct bj_err *err)
{
    struct summaries s = {.im = im, .count = ret, .db = bj_store_db(im->store)};
    int r = 0;
    *ret = (struct bj_import_counts){0};
    for (int i = 0; r == 0 && i < STATEMENTS; i++)
        r = bj_db_prepare(s.db, texts[i], &s.st[i], err);
    while (r == 0 && (r = take_some(&s, err)) > 0)
        r = im->stop && atomic_load(im->stop)
                ? bj_err_set(err, -EINTR, "import: stopped")
                : 0;
    for (int i = 0; i < STATEMENTS; i++)
        bj_st_finalize(s.st[i]);
    bj_arena_free(&s.arena);
    return r;
}
