/* The sacct command whose output is unambiguous (sched/sacct.h explains why).
 * Nothing here runs it: base/command.h does.
 *
 * Source: Slurm, doc/man/man1/sacct.1 (20.11 to 26.05). */
#ifndef BJ_SCHED_SACCT_CMD_H
#define BJ_SCHED_SACCT_CMD_H

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
