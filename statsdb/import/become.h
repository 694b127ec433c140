/* Decides what the jobs of a batch become by its records, in their order: each
 * is new, or is merged into the job that is stored or that an earlier record
 * has made. */
#ifndef BJ_STATSDB_IMPORT_BECOME_H
#define BJ_STATSDB_IMPORT_BECOME_H

#include "statsdb/import/batch.h"

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
