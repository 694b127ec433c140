/* Reading what PBS tells of its jobs: `qstat -x -f -F json`, and the lines of
 * its accounting files.
 *
 * Source: OpenPBS, qstat(1B), pbs_job_attributes(7), src/server/accounting.c;
 * PBS Professional Administrator's Guide, "Accounting". */
#ifndef BJ_SCHED_PBS_H
#define BJ_SCHED_PBS_H

#include "base/err.h"
#include "base/slice.h"
#include "sched/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Something that was not understood; good during the call only. */
struct bj_pbs_bad {
    uint64_t line;         /* of the text, from 1; where it was noticed */
    struct bj_slice job;   /* its id; empty when that is not known */
    struct bj_slice field; /* attribute; empty: all of the job or line */
    struct bj_slice value;
    const char *expected;
    bool left_out; /* the job or line; else the field is absent */
};

/* Texts must outlive the reader. */
struct bj_pbs_conf {
    struct bj_slice cluster;
    size_t max_job; /* bytes of a job or a line [0: 1 MiB] */
    void *ctx;
    /* Accounting files: minutes by which the server's local time is ahead of
     * UTC when its clocks show local_sec, counted as if they showed UTC.  It is
     * for the stamps of lines, which count only where a record has no times of
     * its own.  NULL: they are UTC. */
    int (*offset_min)(void *ctx, uint64_t local_sec);
    /* A job.  A negative return ends the reading with it. */
    int (*job)(void *ctx, const struct bj_sched_job *job, struct bj_err *err);
    void (*bad)(void *ctx, const struct bj_pbs_bad *bad); /* may be NULL */
};

struct bj_pbs_counts {
    uint64_t bytes, jobs;
    uint64_t bad_jobs;   /* left out */
    uint64_t bad_fields; /* absent, in jobs that were taken */
};

/* --- qstat ----------------------------------------------------------------*/

/* `qstat -x -f -F json`, run with TZ=UTC: object "Jobs", a member for each job.
 *
 * PBS's JSON is not always JSON: its older versions escape neither quotes nor
 * newlines in values, write what looks like a number to the C library without
 * quotes (0123, 0x1f, inf, .5), and repeat keys.  So this is no JSON parser,
 * but takes apart what has JSON's outline: a quote ends a string where what
 * follows could follow a string.  Values of free text can deceive it about
 * their own job, and, where PBS escapes nothing, about others: the accounting
 * files are the better source.
 *
 * A job that is damaged is reported and left out.  Jobs that have not ended
 * come too.  A job that was killed by a user (substate 91) is cancelled. */
struct bj_pbs_json;

/* -ENOMEM; -EINVAL without a callback. */
int bj_pbs_json_new(const struct bj_pbs_conf *conf, struct bj_pbs_json **ret,
                    struct bj_err *err);

/* The next piece of the text, cut anywhere.  -ENOMEM, or what the callback
 * returns; after a failure every further call fails the same way. */
int bj_pbs_json_feed(struct bj_pbs_json *r, struct bj_slice piece,
                     struct bj_err *err);

/* The text is over.  -EINVAL when it ends within its outermost object, or had
 * none; no text at all is no error, as qstat prints none without jobs. */
int bj_pbs_json_end(struct bj_pbs_json *r, struct bj_err *err);

const struct bj_pbs_counts *bj_pbs_json_counts(const struct bj_pbs_json *r);
void bj_pbs_json_free(struct bj_pbs_json *r); /* NULL is fine */

/* --- accounting files -----------------------------------------------------*/

/* Lines "MM/DD/YYYY HH:MM:SS;T;ID;KEY=VALUE KEY=VALUE...", of which come:
 *   Q  queued             a pending job
 *   S  started            a running job
 *   E  ended              the job, with all that it used
 *   R  to run again       a run that was requeued (restarts tells runs of the
 *                         same job apart: submit_sec stays)
 *   A  aborted by PBS     failed
 *   D  deleted            cancelled, when it has not started; if it has, its E
 *                         record, which follows, is a cancelled job
 *   k  a reservation, and all other types, are counted in others.
 * D and A say nothing but the id: user and times are absent where no Q or S
 * record of the job was read before (of the last 65536 jobs). */
struct bj_pbs_acct;

int bj_pbs_acct_new(const struct bj_pbs_conf *conf, struct bj_pbs_acct **ret,
                    struct bj_err *err);

/* The next piece, cut anywhere.  A line is taken when its newline has come: the
 * last one of a file may still be being written.  -ENOMEM, and what the
 * callback returns; after a failure every further call fails the same way. */
int bj_pbs_acct_feed(struct bj_pbs_acct *r, struct bj_slice piece,
                     struct bj_err *err);

void bj_pbs_acct_free(struct bj_pbs_acct *r);

#endif
