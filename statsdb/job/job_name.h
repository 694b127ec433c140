/* Parses names of jobs, as users and programs write them, and builds the query
 * that finds the jobs. */
#ifndef BJ_STATSDB_JOB_JOB_NAME_H
#define BJ_STATSDB_JOB_JOB_NAME_H

#include "base/slice.h"
#include "store/sql_build.h"

enum bj_job_name_kind {
    BJ_NAME_JOB,       /* 4711 */
    BJ_NAME_TASK,      /* 4711_3 */
    BJ_NAME_TASKS,     /* 4711_[1-5,8], 4711_[1-9:2%4] */
    BJ_NAME_COMPONENT, /* 4711+1 */
    BJ_NAME_JOBID,     /* any other jobid: 4711.server, 4711[3].server */
    BJ_NAME_KEY,       /* cluster:jobid:submit */
    BJ_NAME_SLUID,
    BJ_NAME_UUID, /* UUID of the original server; only the API can find it */
};

struct bj_job_name {
    enum bj_job_name_kind kind;
    struct bj_slice text;  /* without Slurm's step */
    int64_t number;        /* of the job, array job or leader */
    int64_t part;          /* task or offset */
    struct bj_slice tasks; /* "1-5,8" */
    struct bj_slice cluster, jobid;
    int64_t submit;
};

/* Parse a name; every text is a valid name. Slices point into the text. */
struct bj_job_name bj_job_name_parse(struct bj_slice text);

/* Cut the first name off a list separated by commas; commas in brackets are
 * part of a name: 4711_[1,3]. */
struct bj_slice bj_job_name_cut(struct bj_slice *list);

/* Which jobs a name selects. */
enum bj_job_name_parts {
    BJ_NAME_EXACT,     /* the job with that jobid */
    BJ_NAME_WITH_PARTS /* also the tasks of an array, the components of a
                          heterogeneous job */
};

/* Append "SELECT id FROM job ..." for a name that is not a UUID.  Each look-up
 * uses an index. */
void bj_job_name_query(const struct bj_job_name *name,
                       enum bj_job_name_parts parts, struct bj_sql_build *b);

/* Find the newest run with that name: 1, or 0 if there is none. */
int bj_job_name_newest(struct bj_db *db, struct bj_slice name,
                       enum bj_job_name_parts parts, int64_t *ret,
                       struct bj_err *err);

/* Find the newest run for a name from the command line, parts included.
 * -EINVAL: there is none. */
int bj_job_name_find(struct bj_db *db, const char *name, int64_t *ret,
                     struct bj_err *err);

#endif
