/* Gathers jobs (upsert_gather.c), then stores them together
 * (upsert_gather_store.c). */
#ifndef BJ_STATSDB_IMPORT_UPSERT_GATHER_H
#define BJ_STATSDB_IMPORT_UPSERT_GATHER_H

#include "base/arena.h"
#include "statsdb/import/upsert_impl.h"
#include "statsdb/tables/cache.h"
#include "store/arrays.h"

enum { BJ_GATHER_JOBS = 1000, BJ_GATHER_NONE = -1 };

/* The tables of the rows. */
enum { BJ_GATHER_JOB, BJ_GATHER_MORE, BJ_GATHER_STEP, BJ_GATHER_TABLES };

struct bj_gathered {
    struct bj_row row;
    int64_t id; /* the job's number */
    /* combinations of its daily sums: new, and stored ones */
    int64_t assoc, old_assoc;
    const struct bj_row *old, *old_more; /* of the database */
    int more; /* position in gather.other of its row of job_more, or
                 BJ_GATHER_NONE */
    int step, steps;
    struct bj_step_sum sum; /* of its steps in the database */
    bool changed, more_changed;
    /* the first gathered job with its key, or NULL */
    struct bj_gathered *first;
    bool task, rest, closed; /* only in the first job of a key: jobs of the key
                                include a task of an array; include waiting
                                tasks; no more jobs are merged */
    struct bj_gathered_runs *runs; /* PBS only: the runs of its jobid */
    enum {
        BJ_JOB_NEW,
        BJ_JOB_KNOWN,
        BJ_JOB_MERGED, /* merged into the first job of its key */
        BJ_JOB_ALONE   /* stored one by one */
    } how;
};

/* A row of job_more or step. */
struct bj_gathered_row {
    struct bj_row row;
    const struct bj_row *old; /* of the database; only steps */
    bool alone;
};

/* Rows to write; rows of jobs are the first member of a struct bj_gathered. */
struct bj_row_list {
    const struct bj_row **row;
    size_t n, cap;
};

struct bj_gather {
    struct bj_gathered *job, *spare;
    struct bj_gathered_row *other;
    size_t jobs_cap, spare_cap, others_cap;
    int jobs, others;
    struct bj_arena memory; /* texts of rows, old rows */
    struct bj_cache seen;
    uint64_t seed;
    struct bj_arrays rows;             /* parameters of a request */
    int64_t found[2 * BJ_GATHER_JOBS]; /* twice as many, since each job may end
                                          an earlier run */
    struct bj_st *known, *runs, *find;
    struct {
        struct bj_st *fetch, *change;
        struct bj_row_list loaded, changed;
    } of[BJ_GATHER_TABLES];
};

/* Replace the preliminary numbers of dictionaries in all rows. */
int bj_gather_settle(struct bj_upsert *u, struct bj_err *err);

/* Copy the texts of a row, so that it can be kept. */
void bj_gather_keep(struct bj_gather *g, struct bj_row *row);

/* Return the position of the first job with a key: at, if no earlier job has
 * it. -1: no memory. Clear the cache g->seen before the first call. */
int bj_gather_first(struct bj_gather *g, struct bj_slice key, int at);

/* Compute the number of a job from its key again, after its submit time
 * changed. */
void bj_gather_number(struct bj_gather *g, struct bj_gathered *j);

/* Append the jobid of a row as a parameter. */
void bj_gather_put_id(struct bj_arrays *a, unsigned column,
                      const struct bj_row *row);

/* Is the row a task of an array? Does the job have waiting tasks? */
static inline bool bj_gather_is_task(const struct bj_row *row)
{
    return row->v[BJ_JOB_ARRAY_TASK] != BJ_SQL_NULL;
}

static inline bool bj_gather_has_rest(const struct bj_gather *g,
                                      const struct bj_gathered *j)
{
    return j->more != BJ_GATHER_NONE &&
           g->other[j->more].row.v[BJ_MORE_REST] != BJ_SQL_NULL;
}

/* Steps of storing: leave out known jobs for bj_upsert_only_new
 * (upsert_gather_known.c), choose the runs of PBS (upsert_gather_runs.c), find
 * the jobs that exist (upsert_gather_find.c). */
int bj_gather_known(struct bj_upsert *u, struct bj_err *err);
int bj_gather_runs(struct bj_upsert *u, struct bj_err *err);
int bj_gather_find(struct bj_upsert *u, struct bj_err *err);

#endif
