/* The records that are stored together, and the jobs that they concern as they
 * are to be stored. Of this folder only: upsert.c gathers records, stored.h
 * says what the database has of them. */
#ifndef BJ_STATSDB_IMPORT_BATCH_H
#define BJ_STATSDB_IMPORT_BATCH_H

#include "base/arena.h"
#include "base/cache.h"
#include "statsdb/import/pbs_run.h"
#include "statsdb/import/upsert.h"
#include "statsdb/tables/dict.h"
#include "statsdb/tables/row.h"

/* A size of a record, with the SLUID that it had. */
struct bj_batch_size {
    struct bj_size_row row;
    struct bj_slice sluid;
};

struct bj_batch_record {
    struct bj_batch_record *next;
    struct bj_row row;
    struct bj_row *more; /* its row of job_more; NULL: none */
    struct bj_row *step;
    unsigned steps;
    struct bj_batch_size *size;
    unsigned sizes;
    enum bj_sizes_kind sizes_kind;
    int64_t elapsed;            /* of the size of a record of PBS */
    struct bj_batch_runs *runs; /* PBS only: the runs of its jobid */
    /* PostgreSQL: the number of the job, if no other job has it; SQLite:
       BJ_SQL_NULL, because the database assigns numbers */
    int64_t number;
    /* what the database has (stored.h) */
    bool known;    /* the job, as defined by bj_upsert_only_new */
    bool is_taken; /* another job has the number */
    int64_t found; /* number of the job; 0: it has none */
};

/* A step as it is to be stored. */
struct bj_batch_step {
    const struct bj_row *row;
    bool stored, changed;
};

/* A job as it is to be stored. */
struct bj_batch_job {
    struct bj_batch_job *next;
    int64_t id; /* BJ_SQL_NULL: the database will assign it */
    const struct bj_row *row;
    const struct bj_row *old; /* as it is stored; NULL: it is new */
    enum bj_row_change change;
    const struct bj_row *more; /* NULL: none, or it was not needed */
    bool more_read, more_stored, more_changed;
    struct bj_batch_step *step; /* in the order of their slots */
    unsigned steps, steps_cap;
    bool steps_read;
    struct bj_pbs_sizes sizes; /* of PBS, if sizes_read */
    bool sizes_read, sizes_changed;
    const struct bj_batch_record *all_sizes; /* they replace those stored */
    /* combinations of its daily sums: now, and as it is stored */
    int64_t assoc, old_assoc;
};

/* The runs of a jobid of PBS. */
struct bj_batch_runs {
    struct bj_batch_runs *next;
    const struct bj_row *of; /* a row with its cluster and jobid */
    int64_t from, to;        /* range of submit times to read, without to */
    struct bj_batch_run *run;
};

struct bj_batch_run {
    /* times, state and shared values of the run; all others are unknown */
    struct bj_row row;
    struct bj_batch_run *next;
};

struct bj_batch {
    struct bj_db *db;
    struct bj_dicts *dicts;
    unsigned max; /* records that are stored together */
    bool follow;  /* numbers are computed from jobs: PostgreSQL */
    bool pbs;     /* the records are of PBS */
    bool only_new;
    struct bj_upsert_counts *counts;
    struct bj_batch_record *record, **end; /* in their order */
    unsigned records, rows;                /* rows of job_more, steps */
    struct bj_batch_job *job, **jobs_end;
    struct bj_batch_runs *runs;
    struct bj_arena memory; /* all of the above, and their texts */
    struct bj_cache seen;   /* keys of jobs and runs */
    uint64_t seed;
};

/* Zero-initialise *b first. max: see above. */
void bj_batch_begin(struct bj_batch *b, struct bj_db *db,
                    struct bj_dicts *dicts, struct bj_upsert_counts *counts);
void bj_batch_free(struct bj_batch *b);
void bj_batch_drop(struct bj_batch *b); /* forget all records and jobs */
bool bj_batch_is_full(const struct bj_batch *b);

/* Add a record. Its texts must stay valid until the batch is stored if max is
 * 1 with SQLite. */
int bj_batch_add(struct bj_batch *b, int64_t cluster,
                 const struct bj_sched_job *job, struct bj_err *err);

/* Insert an empty record behind *at, which is &b->record or a next. NULL: no
 * memory. */
struct bj_batch_record *bj_batch_insert(struct bj_batch *b,
                                        struct bj_batch_record **at);

/* Copy the texts of a row, so that they stay valid. */
void bj_batch_keep(struct bj_batch *b, struct bj_row *row);

/* A copy of a row with its texts. NULL: no memory. */
struct bj_row *bj_batch_copy(struct bj_batch *b, const struct bj_row *row);

/* Replace the preliminary numbers of dictionaries (bj_dicts_defer). */
int bj_batch_settle(struct bj_batch *b, struct bj_err *err);

/* --- jobs ----------------------------------------------------------------- */

/* The job with a number of the database; it is added if it is missing: then old
 * is NULL. NULL: no memory. */
struct bj_batch_job *bj_batch_stored(struct bj_batch *b, int64_t id);

/* Take a row of the database: the caller has read it, and its texts may become
 * invalid. -ENOMEM. */
int bj_batch_take_job(struct bj_batch *b, struct bj_batch_job *j,
                      const struct bj_row *row, struct bj_err *err);
int bj_batch_take_more(struct bj_batch *b, struct bj_batch_job *j,
                       const struct bj_row *row, struct bj_err *err);
int bj_batch_take_step(struct bj_batch *b, struct bj_batch_job *j,
                       const struct bj_row *row, struct bj_err *err);

/* The job of a record; NULL: it is new. */
struct bj_batch_job *bj_batch_find(struct bj_batch *b,
                                   const struct bj_batch_record *r);

/* A new job for a record. NULL: no memory. */
struct bj_batch_job *bj_batch_new(struct bj_batch *b, struct bj_batch_record *r,
                                  int64_t id);

/* Does a job of the batch have this number? */
bool bj_batch_has(struct bj_batch *b, int64_t id);

/* Let the job be found by the SLUID of a row. */
int bj_batch_name(struct bj_batch *b, struct bj_batch_job *j,
                  const struct bj_row *row, struct bj_err *err);

/* The place of a step: that of the slot, or where it would be. */
unsigned bj_batch_step_at(const struct bj_batch_job *j, int64_t slot);

/* Insert a step at its place. */
int bj_batch_put_step(struct bj_batch *b, struct bj_batch_job *j, unsigned at,
                      const struct bj_batch_step *step, struct bj_err *err);

/* --- runs of PBS ---------------------------------------------------------- */

/* The runs of the jobid of a record, whose range of submit times then includes
 * those of the record. */
int bj_batch_find_runs(struct bj_batch *b, struct bj_batch_record *r,
                       struct bj_err *err);

/* Update the list with a row: it changes the run with its key, or is a new run.
 */
int bj_batch_list_run(struct bj_batch *b, struct bj_batch_runs *runs,
                      const struct bj_row *row, struct bj_err *err);

/* Is the row a task of an array? */
static inline bool bj_batch_is_task(const struct bj_row *row)
{
    return row->v[BJ_JOB_ARRAY_TASK] != BJ_SQL_NULL;
}

/* --- what jobs become
 * ---------------------------------------------------------
 */

/* Decides what the jobs of a batch become by its records, in their order: each
 * is new, or is merged into the job that is stored or that an earlier record
 * has made. */

/* Statements for sizes of resized jobs, which are few, and for numbers of jobs
 * that are taken, which are fewer. */
struct bj_become;

int bj_become_new(struct bj_db *db, struct bj_become **ret, struct bj_err *err);
void bj_become_free(struct bj_become *c);
void bj_become_reset(struct bj_become *c); /* after a rollback */

/* Leave out records of jobs that the store has, or that earlier records have.
 */
void bj_become_only_new(struct bj_batch *b);

/* Choose the runs of records of PBS. If a record shows that an earlier run has
 * ended, a record of that is inserted before it. */
int bj_become_runs(struct bj_batch *b, struct bj_err *err);

/* Decide for all records; counts them. */
int bj_become_jobs(struct bj_become *c, struct bj_batch *b, struct bj_err *err);

/* Write the changed sizes, after the jobs. */
int bj_become_write_sizes(struct bj_become *c, struct bj_batch *b,
                          struct bj_err *err);

#endif
