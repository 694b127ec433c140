/* Reading the output of `sacct -P`, of any size, job by job.
 *
 * The text: a header line with the names of the columns, then a line for each
 * job, followed by one for each of its steps.  Columns are found by name, in
 * any order; fields of missing columns are absent, unknown columns are skipped.
 * JobIDRaw or JobID is required.
 *
 * Slurm escapes nothing: a job's name may contain newlines, '|', and all
 * control characters that could be part of a delimiter.  Three measures
 * together make the text safe (bj_sacct_command, sched/sacct_cmd.h, takes
 * them):
 *   - a delimiter that is unknown when a job is submitted, new for each call;
 *     newlines are then part of their field;
 *   - JobIDRaw as the first column;
 *   - a column without free text as the last one.
 * Without them ('|' in a recording) a line is a record when its number of
 * fields fits: hostile text can then damage its own line and forge others.
 *
 * A line that cannot be read is reported and left out; reading continues.
 *
 * Source: Slurm, doc/man/man1/sacct.1, src/sacct/print.c. */
#ifndef BJ_SCHED_SACCT_H
#define BJ_SCHED_SACCT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "sched/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BJ_SACCT_DELIMITER_MAX = 32 }; /* bytes */

/* Input that could not be read.  Slices and texts are valid during the call
 * only; value may be long and contain any bytes. */
struct bj_sacct_bad {
    uint64_t line;         /* number of the first line of the record, from 1 */
    struct bj_slice job;   /* its JobIDRaw; empty: unknown */
    struct bj_slice field; /* name of the column; empty: the whole line */
    struct bj_slice value;
    const char *expected; /* "a time", "25 fields", ... */
    bool line_left_out;   /* else only the field is absent */
    const char *file;     /* its path, and line is unknown; NULL: not a file */
};

struct bj_sacct_conf {
    struct bj_slice delimiter; /* empty: "|" */
    struct bj_slice cluster;   /* of jobs without the column Cluster */
    unsigned max_steps; /* most steps in a record; those beyond still count in
                           its use [0: 1000] */
    size_t max_record;  /* bytes of a line with its newlines [0: 1 MiB] */
    void *ctx;
    /* Receives a job with its steps.  A negative return ends the reading with
     * it. */
    int (*job)(void *ctx, const struct bj_sched_job *job, struct bj_err *err);
    void (*bad)(void *ctx, const struct bj_sacct_bad *bad); /* may be NULL */
};

struct bj_sacct_counts {
    uint64_t bytes, lines;
    uint64_t jobs, steps;
    uint64_t bad_lines;  /* left out */
    uint64_t bad_fields; /* absent, in lines that were read */
};

/* Add counts of another text. */
void bj_sacct_counts_add(struct bj_sacct_counts *to,
                         const struct bj_sacct_counts *more);

struct bj_sacct;

/* Make a reader.  *conf is copied; the data it points to must outlive the
 * reader.
 *   -EINVAL  a delimiter that is too long or contains a newline; no callback
 *   -ENOMEM */
int bj_sacct_new(const struct bj_sacct_conf *conf, struct bj_sacct **ret,
                 struct bj_err *err);

/* Feed the next piece of the text, cut anywhere.  A job is reported when the
 * next one begins.
 *   -EINVAL  the first line is not a header with JobIDRaw or JobID
 *   -E2BIG   more than 256 columns
 *   -ENOMEM, and the result of the callback
 * After a failure every further call fails the same way. */
int bj_sacct_feed(struct bj_sacct *r, struct bj_slice piece,
                  struct bj_err *err);

/* The text has ended: report the last job.  complete: the command succeeded;
 * else the job is not reported, since steps of it may be missing.  A last line
 * without a newline was cut and is an error in the input.  An empty text is
 * not: there were no jobs. */
int bj_sacct_end(struct bj_sacct *r, bool complete, struct bj_err *err);

/* Counters so far. */
const struct bj_sacct_counts *bj_sacct_counts(const struct bj_sacct *r);

void bj_sacct_free(struct bj_sacct *r); /* NULL is fine */

/* --- sacct cmd ---*/

/* The sacct command whose output is unambiguous (sched/sacct.h explains why).
 * Nothing here runs it: base/command.h does.
 *
 * Source: Slurm, doc/man/man1/sacct.1 (20.11 to 26.05). */

enum { BJ_SACCT_DELIMITER = 9 }; /* bytes of a delimiter */

/* A delimiter that no job can contain: a control character and 48 random bits,
 * terminated.  For one call of sacct.  0, or -errno when the kernel has no
 * random numbers. */
int bj_sacct_delimiter(char buf[static BJ_SACCT_DELIMITER + 1]);

/* What to request.  Texts are terminated; NULL and 0 mean the default in
 * brackets. */
struct bj_sacct_query {
    const char *sacct;    /* program ["sacct"] */
    const char *clusters; /* -M: names separated by commas, "all" [this one] */
    bool federation;      /* --federation */
    uint64_t start_sec, end_sec; /* jobs that were pending, running or ended in
                                    this window; both are required */
    const uint64_t *job; /* only jobs with these ids, jobs of them [all] */
    size_t jobs;
    bool jobs_only; /* -X: without steps, and without the values that only steps
                       have */
    const char *delimiter;  /* from bj_sacct_delimiter */
    const char *slurm_conf; /* SLURM_CONF of the command [the default] */
    /* Output of `sacct --helpformat`: sacct fails on an unknown column, so only
     * the columns in it are requested [those of Slurm 20.11]. */
    struct bj_slice helpformat;
};

/* Make the argument vector and the environment of a query, NULL at their ends,
 * in the arena.  TZ=UTC comes from base/command.h.
 *   -EINVAL  no window, or one that ends before it begins; a cluster's name
 * with anything but letters, digits and _ - . ,; no delimiter -ENOMEM */
int bj_sacct_command(const struct bj_sacct_query *query, struct bj_arena *a,
                     const char *const **ret_argv, const char *const **ret_env,
                     struct bj_err *err);

#endif
