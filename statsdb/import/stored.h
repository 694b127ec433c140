/* What the database has of the jobs of a batch, and writing what has changed.
 * PostgreSQL does it by few requests with arrays of values; SQLite, which needs
 * no requests, by a prepared statement for each row. */
#ifndef BJ_STATSDB_IMPORT_STORED_H
#define BJ_STATSDB_IMPORT_STORED_H

#include "statsdb/import/batch.h"

struct bj_stored; /* the statements */

struct bj_stored_kind {
    int (*open)(struct bj_db *db, struct bj_stored **ret, struct bj_err *err);
    void (*close)(struct bj_stored *s); /* NULL is fine */
    void (*reset)(struct bj_stored *s); /* after a rollback */
    /* Set known of all records (bj_upsert_only_new). */
    int (*known)(struct bj_stored *s, struct bj_batch *b, struct bj_err *err);
    /* Read the runs of all jobids of PBS: bj_batch_list_run. */
    int (*runs)(struct bj_stored *s, struct bj_batch *b, struct bj_err *err);
    /* Set found and is_taken of all records, and take the jobs that exist, with
     * their steps, and with their rows of job_more where a record needs them.
     */
    int (*find)(struct bj_stored *s, struct bj_batch *b, struct bj_err *err);
    /* Write the new and changed rows of all jobs. New jobs get their id. */
    int (*write)(struct bj_stored *s, struct bj_batch *b, struct bj_err *err);
};

extern const struct bj_stored_kind bj_stored_sqlite, bj_stored_postgres;

/* Selects a row if the store has a job, as defined by bj_upsert_only_new. The
 * names of its parameters begin with p: cluster, jobid, array job and task,
 * submit, start and end. */
#define BJ_SQL_KNOWN_JOB(p)                                                    \
    "SELECT 1 FROM job WHERE jobid = " p "2" BJ_SQL_KNOWN_TIME(                \
        p) " UNION ALL SELECT 1 FROM job WHERE array_job_id = " p "3"          \
           " AND array_task = " p "4" BJ_SQL_KNOWN_TIME(p)
#define BJ_SQL_KNOWN_TIME(p)                                                   \
    " AND (submit = " p "5 OR start = " p "6 OR \"end\" = " p "7)"             \
    " AND cluster = " p "1"

#endif
