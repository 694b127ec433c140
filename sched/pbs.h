/* Reading PBS's reports on jobs: `qstat -x -f -F json`, and the lines of its
 * accounting files.
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

/* Input that could not be read; valid during the call only. */
struct bj_pbs_bad {
    uint64_t line;       /* of the text, from 1; where the reader noticed it */
    struct bj_slice job; /* its id; empty: unknown */
    struct bj_slice field; /* attribute; empty: the whole job or line */
    struct bj_slice value;
    const char *expected;
    bool left_out; /* the job or line is left out; else the field is absent */
};

struct bj_pbs_json;

/* Texts must outlive the reader. */
struct bj_pbs_conf {
    struct bj_slice cluster;
    size_t max_job; /* most bytes of a job or a line [0: 1 MiB] */
    void *ctx;
    /* Accounting files: the minutes by which the server's local time is ahead
     * of UTC when its clock shows local_sec (seconds since 1970 as if it were
     * UTC).  Only for the stamps of lines, which are used if a record has no
     * own times.  NULL: they are UTC. */
    int (*offset_min)(void *ctx, uint64_t local_sec);
    /* Receives a job.  A negative return ends the reading with it. */
    int (*job)(void *ctx, const struct bj_sched_job *job, struct bj_err *err);
    void (*bad)(void *ctx, const struct bj_pbs_bad *bad); /* may be NULL */
    /* JSON: the key of the objects [NULL: "Jobs"], and a callback that receives
     * them, also arrays, as attributes instead of jobs. */
    const char *objects;
    int (*object)(void *ctx, struct bj_slice id, const struct bj_pbs_json *r,
                  struct bj_err *err);
};

struct bj_pbs_counts {
    uint64_t bytes, jobs;
    uint64_t bad_jobs;   /* left out */
    uint64_t bad_fields; /* absent, in jobs that were read */
};

/* --- qstat ----------------------------------------------------------------*/

/* `qstat -x -f -F json`, run with TZ=UTC: object "Jobs", a member for each job.
 *
 * This output is not always JSON: older versions of PBS escape neither quotes
 * nor newlines in values, write anything that strtod() accepts without quotes
 * (0123, 0x1f, inf, .5), and repeat keys.  So this is not a JSON parser; it
 * reads the outline of JSON: a quote ends a string where the text after it can
 * follow a string.  Free text can therefore falsify values of its own job, and,
 * where PBS escapes nothing, of other jobs: prefer the accounting files.
 *
 * A damaged job is reported and left out.  Jobs that have not ended are
 * included. A job that a user killed (substate 91) is cancelled. */

/* -ENOMEM; -EINVAL without a callback. */
int bj_pbs_json_new(const struct bj_pbs_conf *conf, struct bj_pbs_json **ret,
                    struct bj_err *err);

/* Feed the next piece of the text, cut anywhere.  -ENOMEM, or the result of the
 * callback; after a failure every further call fails the same way. */
int bj_pbs_json_feed(struct bj_pbs_json *r, struct bj_slice piece,
                     struct bj_err *err);

/* The text has ended.  -EINVAL when it ends within its outermost object, or had
 * none; an empty text is not an error, since qstat prints none without jobs. */
int bj_pbs_json_end(struct bj_pbs_json *r, struct bj_err *err);

/* Within conf.object: attribute i of the object, "Resource_List.ncpus", in the
 * order of the text; false: there are no more. */
bool bj_pbs_json_attr(const struct bj_pbs_json *r, unsigned i,
                      struct bj_slice *ret_key, struct bj_slice *ret_value);

const struct bj_pbs_counts *bj_pbs_json_counts(const struct bj_pbs_json *r);
void bj_pbs_json_free(struct bj_pbs_json *r); /* NULL is fine */

/* --- accounting files -----------------------------------------------------*/

/* Lines "MM/DD/YYYY HH:MM:SS;T;ID;KEY=VALUE KEY=VALUE...":
 *   Q  queued             a pending job
 *   S  started            a running job
 *   E  ended              the job, with all that it used
 *   R  to run again       a run that was requeued (the runs of a job differ in
 *                         restarts; submit_sec stays)
 *   A  aborted by PBS     cancelled, when it has not started, else failed; the
 *                         reason is the text of the record
 *   D  deleted            cancelled, when it has not started; if it has, its E
 *                         record, which follows, is a cancelled job
 *   z  suspended, r resumed, a altered: the job, as it is then
 *   u  ends what a running job had until it released nodes, c begins what it
 *      has then, e ends the last of it, before E, which has what it had at
 *      first: a running job with that size only
 *   k  a reservation, and all other types, are counted in others.
 * D and A contain only the id: user and times are absent unless a Q or S record
 * of the job was read before (of the last 65536 jobs), or it was recalled. */
struct bj_pbs_acct;

int bj_pbs_acct_new(const struct bj_pbs_conf *conf, struct bj_pbs_acct **ret,
                    struct bj_err *err);

/* A run that had not ended in the records that another reader has read. */
struct bj_pbs_open {
    struct bj_slice id;
    uint64_t submit_sec, start_sec; /* BJ_ABSENT: it waits */
    uint64_t suspended_sec;         /* until then; BJ_ABSENT: none */
    bool suspended;                 /* it is suspended, since when is unknown */
    bool resized;                   /* it has released nodes */
};

/* Continue that run: call it before the first record of the job. */
void bj_pbs_acct_recall(struct bj_pbs_acct *r, const struct bj_pbs_open *open);

/* Feed the next piece, cut anywhere.  A record is read when the next one has
 * begun: a line that does not begin with "date;type;" belongs to the record
 * before, and so does every line until the account of that record has ended,
 * since an account is any text of its user.  -ENOMEM, and the result of the
 * callback; after a failure every further call fails the same way. */
int bj_pbs_acct_feed(struct bj_pbs_acct *r, struct bj_slice piece,
                     struct bj_err *err);

/* Bytes of complete lines that were fed and whose record was not read yet. */
size_t bj_pbs_acct_pending(const struct bj_pbs_acct *r);

/* There are no more lines for now: read the last record.  *ret_rest: the bytes
 * of complete lines that were not read, since their account has not ended: feed
 * them again with what follows. */
int bj_pbs_acct_end(struct bj_pbs_acct *r, size_t *ret_rest,
                    struct bj_err *err);

void bj_pbs_acct_free(struct bj_pbs_acct *r);

#endif
