/* Reading jobs from slurmrestd's reply to GET /slurmdb/vX/jobs, and from the
 * output of `sacct --json`: the formats of data_parser and openapi plugins
 * 0.0.37 to 0.0.45.
 *
 * Numbers are plain or {"set","infinite","number"}, states a text or a list of
 * texts, exit codes objects of two forms, ids of steps texts, numbers or
 * objects. Missing values stay absent.
 *
 * Before 0.0.39 (Slurm 22.05 and older) every exit code but a signal is
 * reported as SUCCESS: such a code of a failed job is absent here.  Before
 * 0.0.40 only the last run of a requeued job is reported.  There is no uid, no
 * submit line and no canceller.  sacct (sched/sacct.h) reports more.
 *
 * Sources: Slurm, src/plugins/data_parser, src/slurmrestd/plugins/openapi. */
#ifndef BJ_SCHED_SLURMREST_H
#define BJ_SCHED_SLURMREST_H

#include "base/err.h"
#include "base/slice.h"
#include "sched/job.h"

#include <stdbool.h>
#include <stdint.h>

/* Input that could not be read; valid during the call only. */
struct bj_slurmrest_bad {
    uint64_t record;     /* number of the job, from 1 */
    struct bj_slice job; /* its id; empty: unknown */
    const char *field;   /* path below the job, "time.start" */
    const char *expected;
    bool left_out; /* the job is left out; else the field is absent */
};

/* Texts must outlive the reader. */
struct bj_slurmrest_conf {
    struct bj_slice cluster; /* of jobs without one */
    unsigned max_steps;      /* as in sched/sacct.h [0: 1000] */
    void *ctx;
    /* Receives a job with its steps.  A negative return ends the reading with
     * it. */
    int (*job)(void *ctx, const struct bj_sched_job *job, struct bj_err *err);
    void (*bad)(void *ctx,
                const struct bj_slurmrest_bad *bad); /* may be NULL */
    /* The uid of a user, whom slurmrestd names; BJ_ABSENT: unknown.  May be
     * NULL. */
    uint64_t (*uid)(void *ctx, struct bj_slice user);
};

struct bj_slurmrest_counts {
    uint64_t bytes, jobs, steps;
    uint64_t bad_jobs;   /* left out */
    uint64_t bad_fields; /* absent, in jobs that were read */
};

enum {
    BJ_SLURMREST_JOBS = 200, /* most ids of a request */
    BJ_SLURMREST_PATH_MAX = 192 + 16 * BJ_SLURMREST_JOBS,
    BJ_SLURMREST_FIRST_SEC = 1000000 /* the earliest time that Slurm takes */
};

/* The path of a request: jobs of a window of time, for plugin 0.0.VERSION (37
 * to 99).  Plugins with more parameters (40 and later) return all runs of
 * requeued jobs, with starts and ends that are not cut to the window.  Times
 * are written "uts1795171872", which Slurm's parse_time() takes without a zone.
 * jobs > 0: only jobs with these ids; each is a parameter of its own, as lists
 * are not parsed (26.05.3).
 * -EINVAL: a bad version, no window, or too many jobs. */
int bj_slurmrest_path(unsigned version, uint64_t start_sec, uint64_t end_sec,
                      const uint64_t *job, size_t jobs,
                      char buf[static BJ_SLURMREST_PATH_MAX]);

struct bj_slurmrest;

int bj_slurmrest_new(const struct bj_slurmrest_conf *conf,
                     struct bj_slurmrest **ret, struct bj_err *err);

/* Feed the next piece of the document, cut anywhere.  -EINVAL: not JSON;
 * -EFBIG: a job of more than 64 MiB or 2 million values; -ENOMEM; the result of
 * the callback. */
int bj_slurmrest_feed(struct bj_slurmrest *r, struct bj_slice piece,
                      struct bj_err *err);

/* The document has ended.  -EINVAL: it is incomplete, or has no "jobs";
 * -EREMOTEIO: it has "errors", the first of which is the message.  That nothing
 * was found is not an error. */
int bj_slurmrest_end(struct bj_slurmrest *r, struct bj_err *err);

const struct bj_slurmrest_counts *
bj_slurmrest_counts(const struct bj_slurmrest *r);
void bj_slurmrest_free(struct bj_slurmrest *r); /* NULL is fine */

#endif
