/* Jobs that are gathered (upsert_gather.c), then stored together
 * (upsert_gather_store.c). */
#ifndef BJ_STATSDB_UPSERT_GATHER_H
#define BJ_STATSDB_UPSERT_GATHER_H

#include "base/arena.h"
#include "statsdb/cache.h"
#include "statsdb/upsert_impl.h"
#include "store/arrays.h"

enum { BJ_GATHER_JOBS = 1000, BJ_GATHER_NONE = -1 };

/* The tables of the rows. */
enum { BJ_GATHER_JOB, BJ_GATHER_MORE, BJ_GATHER_STEP, BJ_GATHER_TABLES };

struct bj_gathered {
    struct bj_row row;
    int64_t id;               /* its number */
    int64_t assoc, old_assoc; /* of its daily sums; of those that it had */
    const struct bj_row *old, *old_more; /* of the database */
    int more; /* its position in other, or BJ_GATHER_NONE */
    int step, steps;
    bool changed, more_changed;
    struct bj_gathered *first;     /* the first one of its key, or NULL */
    bool task, rest, closed;       /* of the first one: the key has a task of an
                                      array, waiting tasks; no more is merged */
    struct bj_gathered_runs *runs; /* of PBS: those of its jobid */
    enum {
        BJ_JOB_NEW,
        BJ_JOB_KNOWN,
        BJ_JOB_AGAIN, /* merged into the first one */
        BJ_JOB_ALONE  /* stored one by one */
    } how;
};

/* A row of job_more or step. */
struct bj_gathered_row {
    struct bj_row row;
    const struct bj_row *old; /* of the database; only steps */
    bool alone;
};

/* Rows to write; those of jobs begin a struct bj_gathered. */
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
    struct bj_arrays rows;             /* of a request */
    int64_t found[2 * BJ_GATHER_JOBS]; /* each may end an earlier run */
    struct bj_st *known, *runs, *find;
    struct {
        struct bj_st *fetch, *change;
        struct bj_row_list loaded, changed;
    } of[BJ_GATHER_TABLES];
};

/* The numbers of dictionaries in all rows. */
int bj_gather_settle(struct bj_upsert *u, struct bj_err *err);

/* Copy the texts of a row, to keep it. */
void bj_gather_keep(struct bj_gather *g, struct bj_row *row);

/* The position of the first job with a key: this one if there is none before.
 * -1: no memory. The cache seen is cleared before. */
int bj_gather_first(struct bj_gather *g, struct bj_slice key, int at);

/* Give a job the number of its key, when its submit time has changed. */
void bj_gather_number(struct bj_gather *g, struct bj_gathered *j);

/* Its jobid, as a parameter. */
void bj_gather_put_id(struct bj_arrays *a, unsigned column,
                      const struct bj_row *row);

/* Is it a task of an array? Has it waiting tasks? */
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

/* Leave out what bj_upsert_only_new leaves out (upsert_gather_known.c), choose
 * the runs of PBS (upsert_gather_runs.c), find out which jobs exist
 * (upsert_gather_find.c). */
int bj_gather_known(struct bj_upsert *u, struct bj_err *err);
int bj_gather_runs(struct bj_upsert *u, struct bj_err *err);
int bj_gather_find(struct bj_upsert *u, struct bj_err *err);

#endif
