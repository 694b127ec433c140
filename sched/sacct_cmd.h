/* How sacct is to be asked so that its answer can be trusted (sched/sacct.h
 * says why).  Nothing here runs anything: base/command.h does.
 *
 * Source: Slurm, doc/man/man1/sacct.1 (20.11 to 26.05). */
#ifndef BJ_SCHED_SACCT_CMD_H
#define BJ_SCHED_SACCT_CMD_H

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum { BJ_SACCT_DELIMITER = 9 }; /* bytes of a delimiter */

/* A delimiter that nobody can have put into a job: a control character and 48
 * bits of chance, terminated.  For one call of sacct.  0, or -errno when the
 * kernel has no chance to give. */
int bj_sacct_delimiter(char buf[static BJ_SACCT_DELIMITER + 1]);

/* What to ask.  Texts are terminated; NULL and 0 stand for the value in
 * brackets. */
struct bj_sacct_ask {
    const char *sacct;    /* program ["sacct"] */
    const char *clusters; /* -M: names with commas between, "all" [this one] */
    bool federation;      /* --federation */
    uint64_t start_sec, end_sec; /* jobs that were pending, running or ended in
                                    between; both must be given */
    bool jobs_only; /* -X: without steps, and without what only they know */
    const char *delimiter;  /* of bj_sacct_delimiter */
    const char *slurm_conf; /* SLURM_CONF of the command [its own] */
    /* What `sacct --helpformat` printed: sacct fails on a column that it does
     * not know, so only those are asked for [those of Slurm 20.11]. */
    struct bj_slice helpformat;
};

/* The argument vector and the environment for that, NULL at their ends, in the
 * arena.  TZ=UTC comes from base/command.h.
 *   -EINVAL  no window, or one that ends before it begins; a cluster's name
 *            that holds anything but letters, digits and _ - . ,; no delimiter
 *   -ENOMEM */
int bj_sacct_command(const struct bj_sacct_ask *ask, struct bj_arena *a,
                     const char *const **ret_argv, const char *const **ret_env,
                     struct bj_err *err);

#endif
