/* Reading what `sacct -P` prints, of any size, job by job.
 *
 * The text: a header line with the names of the columns, then a line for each
 * job and, behind it, one for each of its steps.  Columns are found by name,
 * whatever their order; those that are missing leave their fields absent, those
 * that nobody knows are passed over.  JobIDRaw or JobID must be there.
 *
 * Slurm escapes nothing: a job's name may hold newlines, '|', and every control
 * character that a delimiter could be made of.  Three things together make the
 * text safe (bj_sacct_command, sched/sacct_cmd.h, sees to them):
 *   - a delimiter that nobody can guess when a job is submitted, made anew for
 *     each call; newlines then are part of their field;
 *   - JobIDRaw as the first column;
 *   - a column without free text as the last one.
 * Without them ('|' of a recording) a line is what fits the count of columns:
 * hostile text can then spoil its own line and forge others.
 *
 * What was not understood is reported and left out, and the rest goes on.
 *
 * Source: Slurm, doc/man/man1/sacct.1, src/sacct/print.c. */
#ifndef BJ_SCHED_SACCT_H
#define BJ_SCHED_SACCT_H

#include "base/err.h"
#include "base/slice.h"
#include "sched/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BJ_SACCT_DELIMITER_MAX = 32 }; /* bytes */

/* Something in the text that was not understood.  Slices and texts are good
 * during the call only; value may be long, and holds whatever the text held. */
struct bj_sacct_bad {
    uint64_t line;         /* of the text, from 1, where its record begins */
    struct bj_slice job;   /* JobIDRaw of it; empty when that is not known */
    struct bj_slice field; /* name of the column; empty: the whole line */
    struct bj_slice value;
    const char *expected; /* "a time", "25 fields", ... */
    bool line_left_out;   /* else the field is absent and the line was taken */
};

struct bj_sacct_conf {
    struct bj_slice delimiter; /* empty: "|" */
    struct bj_slice cluster;   /* of jobs where the text has no Cluster */
    unsigned max_steps; /* that a record shows of a job; those beyond count in
                           its use all the same [0: 1000] */
    size_t max_record;  /* bytes of a line with its newlines [0: 1 MiB] */
    void *ctx;
    /* A job with its steps.  A negative return ends the reading with it. */
    int (*job)(void *ctx, const struct bj_sched_job *job, struct bj_err *err);
    void (*bad)(void *ctx, const struct bj_sacct_bad *bad); /* may be NULL */
};

struct bj_sacct_counts {
    uint64_t bytes, lines;
    uint64_t jobs, steps;
    uint64_t bad_lines;  /* left out */
    uint64_t bad_fields; /* absent, in lines that were taken */
};

struct bj_sacct;

/* A reader.  *conf is copied, what it points to must outlive the reader.
 *   -EINVAL  a delimiter that is too long or holds a newline; no callback
 *   -ENOMEM */
int bj_sacct_new(const struct bj_sacct_conf *conf, struct bj_sacct **ret,
                 struct bj_err *err);

/* The next piece of the text, cut anywhere.  A job is handed over when the one
 * behind it begins.
 *   -EINVAL  the first line is no header with JobIDRaw or JobID in it
 *   -E2BIG   more than 256 columns
 *   -ENOMEM, and what the callback returns
 * After a failure every further call fails the same way. */
int bj_sacct_feed(struct bj_sacct *r, struct bj_slice piece,
                  struct bj_err *err);

/* The text is over: hands over the last job.  complete: the command ended well;
 * else the job is not handed over, since steps of it may be missing.  A last
 * line without a newline has been cut and is bad.  No text at all is no error:
 * there were no jobs. */
int bj_sacct_end(struct bj_sacct *r, bool complete, struct bj_err *err);

/* What was read so far. */
const struct bj_sacct_counts *bj_sacct_counts(const struct bj_sacct *r);

void bj_sacct_free(struct bj_sacct *r); /* NULL is fine */

#endif
