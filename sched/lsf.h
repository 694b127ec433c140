/* Reading LSF's reports on jobs: `bjobs -o ... -json`, and the lines of
 * lsb.acct.
 *
 * Sources: LSF 10.1, bjobs(1), lsb.acct(5), lsbatch.h. */
#ifndef BJ_SCHED_LSF_H
#define BJ_SCHED_LSF_H

#include "base/err.h"
#include "base/slice.h"
#include "sched/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Input that could not be read; valid during the call only. */
struct bj_lsf_bad {
    uint64_t line; /* lsb.acct: from 1; bjobs: number of the record, from 1 */
    struct bj_slice job;   /* its id; empty: unknown */
    struct bj_slice field; /* empty: the whole job or line */
    struct bj_slice value;
    const char *expected;
    bool left_out; /* the job or line is left out; else the field is absent */
};

/* Texts must outlive the reader. */
struct bj_lsf_conf {
    struct bj_slice cluster;
    size_t max_line; /* most bytes of a line of lsb.acct [0: 1 MiB] */
    uint64_t
        now_sec; /* bjobs: when it ran, since its times may lack the year */
    void *ctx;
    /* Receives a job.  A negative return ends the reading with it. */
    int (*job)(void *ctx, const struct bj_sched_job *job, struct bj_err *err);
    void (*bad)(void *ctx, const struct bj_lsf_bad *bad); /* may be NULL */
};

struct bj_lsf_counts {
    uint64_t bytes, jobs;
    uint64_t bad_jobs;   /* left out */
    uint64_t bad_fields; /* absent, in jobs that were read */
};

/* --- bjobs ----------------------------------------------------------------*/

/* The value of -o in the command
 *     bjobs -u all -a -o BJ_LSF_FIELDS -json
 * with LSB_DISPLAY_YEAR=y (times with years) and TZ=UTC in its environment. */
#define BJ_LSF_FIELDS                                                          \
    "jobid jobindex stat user ugroup queue job_name proj_name from_host "      \
    "exec_host nexec_host slots nreq_slot submit_time start_time finish_time " \
    "cpu_used run_time mem max_mem memlimit runtimelimit exit_code "           \
    "exit_reason pend_reason gpu_num gpu_alloc exec_cwd sub_cwd command "      \
    "job_description priority"

/* A document {"RECORDS":[{"JOBID":"123",...},...]}: values are strings, "-" or
 * empty for none.  Missing fields stay absent; a record with an ERROR is
 * skipped and reported. */
struct bj_lsf_json;

int bj_lsf_json_new(const struct bj_lsf_conf *conf, struct bj_lsf_json **ret,
                    struct bj_err *err);

/* Feed the next piece, cut anywhere; and the end.  -EINVAL when it is not JSON,
 * or ends early; -EFBIG, -ENOMEM, and the result of the callback. */
int bj_lsf_json_feed(struct bj_lsf_json *r, struct bj_slice piece,
                     struct bj_err *err);
int bj_lsf_json_end(struct bj_lsf_json *r, struct bj_err *err);

const struct bj_lsf_counts *bj_lsf_json_counts(const struct bj_lsf_json *r);
void bj_lsf_json_free(struct bj_lsf_json *r); /* NULL is fine */

/* --- lsb.acct -------------------------------------------------------------*/

/* Lines of fields separated by blanks, texts in quotes with doubled quotes
 * inside. Lines of type JOB_FINISH are jobs.  Two lists in them have their own
 * counts, so fields are found by reading from the start, not by position; the
 * additional fields of later versions are optional. */
struct bj_lsf_acct;

int bj_lsf_acct_new(const struct bj_lsf_conf *conf, struct bj_lsf_acct **ret,
                    struct bj_err *err);

/* Feed the next piece, cut anywhere.  A line is read when its newline has
 * arrived: LSF may still be writing the last one.  -ENOMEM, and the result of
 * the callback; after a failure every further call fails the same way. */
int bj_lsf_acct_feed(struct bj_lsf_acct *r, struct bj_slice piece,
                     struct bj_err *err);

void bj_lsf_acct_free(struct bj_lsf_acct *r);

#endif
