/* Reading jobs out of what slurmrestd answers to GET /slurmdb/vX/jobs, and what
 * `sacct --json` prints: the shapes of data_parser and openapi plugins 0.0.37
 * to 0.0.45.
 *
 * Numbers come plain or as {"set","infinite","number"}, states as a text or a
 * list of texts, exit codes as objects of two shapes, ids of steps as texts,
 * numbers or objects.  What is missing stays absent.
 *
 * Before 0.0.39 (Slurm 22.05 and older) every exit code but a signal is called
 * SUCCESS: such a code of a job that failed is absent here.  Of a requeued job
 * only the last run is told before 0.0.40.  Neither is there a
 * uid, a submit line, or who cancelled a job.  sacct (sched/sacct.h) tells
 * more.
 *
 * Sources: Slurm, src/plugins/data_parser, src/slurmrestd/plugins/openapi. */
#ifndef BJ_SCHED_SLURMREST_H
#define BJ_SCHED_SLURMREST_H

#include "base/err.h"
#include "base/slice.h"
#include "sched/job.h"

#include <stdbool.h>
#include <stdint.h>

/* Something that was not understood; good during the call only. */
struct bj_slurmrest_bad {
    uint64_t record;     /* which of the jobs, from 1 */
    struct bj_slice job; /* its id; empty when that is not known */
    const char *field;   /* path below the job, "time.start" */
    const char *expected;
    bool left_out; /* the job; else the field is absent */
};

/* Texts must outlive the reader. */
struct bj_slurmrest_conf {
    struct bj_slice cluster; /* of jobs that tell none */
    unsigned max_steps;      /* as in sched/sacct.h [0: 1000] */
    void *ctx;
    /* A job with its steps.  A negative return ends the reading with it. */
    int (*job)(void *ctx, const struct bj_sched_job *job, struct bj_err *err);
    void (*bad)(void *ctx, const struct bj_slurmrest_bad *bad); /* NULL */
};

struct bj_slurmrest_counts {
    uint64_t bytes, jobs, steps;
    uint64_t bad_jobs;   /* left out */
    uint64_t bad_fields; /* absent, in jobs that were taken */
};

enum { BJ_SLURMREST_PATH_MAX = 192 };

/* The path to ask for: jobs of a window of time, as plugin 0.0.VERSION (37 to
 * 99) has it.  Where it knows more parameters (40 and later), all runs of
 * requeued jobs, with starts and ends that are not cut to the window.  Times
 * are written "uts1795171872", which Slurm's parse_time() takes without a zone.
 * -EINVAL: no such version, or no window. */
int bj_slurmrest_path(unsigned version, uint64_t start_sec, uint64_t end_sec,
                      char buf[static BJ_SLURMREST_PATH_MAX]);

struct bj_slurmrest;

int bj_slurmrest_new(const struct bj_slurmrest_conf *conf,
                     struct bj_slurmrest **ret, struct bj_err *err);

/* The next piece of the document, cut anywhere.  -EINVAL: no JSON; -EFBIG: a
 * job of more than 64 MiB or 2 million values; -ENOMEM; what the callback
 * returns. */
int bj_slurmrest_feed(struct bj_slurmrest *r, struct bj_slice piece,
                      struct bj_err *err);

/* The document is over.  -EINVAL: it is cut short, or has no "jobs";
 * -EREMOTEIO: it has "errors", of which the first is the message.  That
 * nothing was found is no error. */
int bj_slurmrest_end(struct bj_slurmrest *r, struct bj_err *err);

const struct bj_slurmrest_counts *
bj_slurmrest_counts(const struct bj_slurmrest *r);
void bj_slurmrest_free(struct bj_slurmrest *r); /* NULL is fine */

#endif
