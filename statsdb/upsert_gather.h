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
    bool changed;
    enum { BJ_JOB_NEW, BJ_JOB_KNOWN, BJ_JOB_ALONE } how; /* alone: one by one */
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
    struct bj_gathered *job;
    struct bj_gathered_row *other;
    size_t jobs_cap, others_cap;
    int jobs, others;
    struct bj_arena memory; /* texts of rows, old rows */
    struct bj_cache seen;
    uint64_t seed;
    struct bj_arrays rows; /* of a request */
    int64_t found[BJ_GATHER_JOBS];
    struct bj_st *find;
    struct {
        struct bj_st *fetch, *change;
        struct bj_row_list loaded, changed;
    } of[BJ_GATHER_TABLES];
};

/* The numbers of dictionaries in all rows. */
int bj_gather_settle(struct bj_upsert *u, struct bj_err *err);

/* Copy the texts of a row, to keep it. */
void bj_gather_keep(struct bj_gather *g, struct bj_row *row);

#endif
