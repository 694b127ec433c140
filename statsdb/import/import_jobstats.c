#include "statsdb/import/import.h"

#include "sched/jobstats.h"
#include "store/arrays.h"

enum { BATCH = 500 };

enum { NEXT, PUT, LIST, STATEMENTS };

/* The values from a summary, after the job: their columns. */
#define SUMMARY(X)                                                             \
    X(QUERIED, queried_sec)                                                    \
    X(NODES, nodes_seen)                                                       \
    X(CPU, cpu_usec)                                                           \
    X(MEMORY, memory_held_peak_bytes)                                          \
    X(NODES_UNUSED, nodes_unused)                                              \
    X(GPUS, gpus_seen)                                                         \
    X(GPU_BUSY, gpu_busy_ppm)                                                  \
    X(GPU_MEMORY, gpu_memory_peak_bytes)                                       \
    X(START, start)                                                            \
    X(END, end)
#define NUMBER(upper, lower) upper,
enum { JOB, SUMMARY(NUMBER) VALUES };
#undef NUMBER

/* Values from Prometheus itself stay. */
#define COLUMN(upper, lower) ", \"" #lower "\""
#define SET(upper, lower) ", \"" #lower "\" = excluded.\"" #lower "\""
#define PUT_SQL(values)                                                        \
    "INSERT INTO job_prom(job" SUMMARY(                                        \
        COLUMN) ", outcome) " values                                           \
                " ON CONFLICT(job) DO UPDATE SET outcome = 0" SUMMARY(         \
                    SET) " WHERE job_prom.outcome != 0"
#define LIST_SQL "INSERT INTO derive_todo(job) "

/* PostgreSQL writes all summaries of a transaction at once, and counts them. */
#define ONE(upper, lower) ", ?"
#define MANY(upper, lower) ", CAST(? AS bigint[])"
static const char *const texts[STATEMENTS] = {
    [NEXT] = "SELECT m.job, m.admin_comment, j.start, j.\"end\""
             " FROM job_more AS m JOIN job AS j ON j.id = m.job"
             " WHERE m.job > ?1 AND m.admin_comment >= 'JS1:'"
             " AND m.admin_comment < 'JS1;' ORDER BY m.job LIMIT ?2",
    [PUT] = PUT_SQL("VALUES(?" SUMMARY(ONE) ", 0)"),
    [LIST] = LIST_SQL "VALUES(?1) ON CONFLICT DO NOTHING",
};
static const char put_many[] = "WITH p AS (" PUT_SQL(
    "SELECT w.*, 0 FROM unnest(CAST(? AS bigint[])" SUMMARY(
        MANY) ") AS w") " RETURNING job), t AS (" LIST_SQL
                        "SELECT job FROM p ON CONFLICT DO"
                        " NOTHING) SELECT count(*) FROM p";

struct summaries {
    const struct bj_import *im;
    struct bj_import_counts *count;
    struct bj_db *db;
    struct bj_st *st[STATEMENTS];
    struct bj_arena arena;
    bool many;
    struct bj_arrays rows; /* rows to write */
    int64_t last;          /* last job read */
};

static int put_one(struct summaries *s, const int64_t v[VALUES],
                   struct bj_err *err)
{
    for (int i = 0; i < VALUES; i++)
        bj_st_bind_i64(s->st[PUT], i + 1, v[i]);
    int r = bj_st_run(s->st[PUT], err);
    if (r < 0)
        return r;
    if (bj_db_changes(s->db) == 0) {
        s->count->known++;
        return 0;
    }
    s->count->taken++;
    bj_st_bind_i64(s->st[LIST], 1, v[JOB]);
    return bj_st_run(s->st[LIST], err);
}

static int jobstats_put(struct summaries *s, const struct bj_jobstats *js,
                        struct bj_err *err)
{
    struct bj_st *next = s->st[NEXT];
    const int64_t end = bj_st_i64(next, "end");
    const int64_t v[VALUES] = {
        [JOB] = s->last,
        [QUERIED] = end == BJ_SQL_NULL ? 0 : end,
        [NODES] = bj_sql_u64(js->nodes),
        [CPU] = bj_sql_u64(js->cpu_usec),
        [MEMORY] = bj_sql_u64(js->mem_used_bytes),
        [NODES_UNUSED] = bj_sql_u64(js->nodes_unused),
        [GPUS] = bj_sql_u64(js->gpus_known ? js->gpus_known : BJ_ABSENT),
        [GPU_BUSY] = bj_sql_u64(js->gpu_busy_ppm),
        [GPU_MEMORY] = bj_sql_u64(js->gpu_mem_used_bytes),
        [START] = bj_st_i64(next, "start"),
        [END] = end};
    if (!s->many)
        return put_one(s, v, err);
    for (unsigned i = 0; i < VALUES; i++)
        bj_arrays_i64(&s->rows, i, v[i]);
    s->rows.rows++;
    return 0;
}

static int put_all(struct summaries *s, struct bj_err *err)
{
    int64_t n = 0, rows = s->rows.rows;
    if (rows == 0)
        return 0;
    int r = bj_arrays_bind(&s->rows, VALUES, s->st[PUT], err);
    if (r == 0)
        r = bj_st_int(s->st[PUT], &n, err);
    bj_arrays_clear(&s->rows);
    s->count->taken += (uint64_t)n;
    s->count->known += (uint64_t)(rows - n);
    return r < 0 ? r : 0;
}

static int take_summary(struct summaries *s, struct bj_err *err)
{
    struct bj_slice comment = bj_st_text(s->st[NEXT], "admin_comment");
    struct bj_err why = {0};
    struct bj_jobstats js;
    s->last = bj_st_i64(s->st[NEXT], "job");
    s->count->rows++;
    bj_arena_reset(&s->arena);
    int r = bj_jobstats_read(&s->arena, comment, &js, &why);
    if (r == 0)
        return jobstats_put(s, &js, err);
    if (r == -ENOMEM)
        return bj_err_copy(err, r, &why);
    if (r == -ENOENT)
        return 0;
    s->count->bad++;
    if (s->im->bad)
        s->im->bad(s->im->ctx, s->last, why.msg);
    return 0;
}

/* Import summaries in one transaction: 1 if there may be more, else 0. */
static int take_batch(struct summaries *s, struct bj_err *err)
{
    struct bj_st *next = s->st[NEXT];
    unsigned n = 0;
    int r = bj_store_begin(s->im->store, err), e = 0;
    if (r < 0)
        return r;
    bj_st_bind_i64(next, 1, s->last);
    bj_st_bind_i64(next, 2, BATCH);
    while (e == 0 && (r = bj_st_row(next, err)) > 0) {
        e = take_summary(s, err);
        n++;
    }
    bj_st_reset(next);
    r = e < 0 ? e : r < 0 ? r : put_all(s, err);
    if (r < 0) {
        bj_store_rollback(s->im->store);
        return r;
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
    s.many = bj_db_dialect(s.db) == BJ_DIALECT_POSTGRESQL;
    for (int i = 0; r == 0 && i < STATEMENTS; i++)
        r = bj_db_prepare(s.db, s.many && i == PUT ? put_many : texts[i],
                          &s.st[i], err);
    while (r == 0 && (r = take_batch(&s, err)) > 0)
        r = im->stop && atomic_load(im->stop)
                ? bj_err_set(err, -EINTR, "import: stopped")
                : 0;
    for (int i = 0; i < STATEMENTS; i++)
        bj_st_finalize(s.st[i]);
    bj_arena_free(&s.arena);
    bj_arrays_free(&s.rows);
    return r;
}
