/* Parts of the original API that have no store in them. */
#ifndef BJ_APISERVER_ORIGINAL_H
#define BJ_APISERVER_ORIGINAL_H

#include "base/buf.h"

/* The original's id of a job, appended (base/jobuuid.h). */
void bj_original_uuid(struct bj_slice jobid, struct bj_slice uid,
                      struct bj_slice account, struct bj_slice nodelist,
                      struct bj_buf *to);

/* A list of Slurm's hosts as a regular expression, appended: "n1|n2", special
 * characters escaped.  At most 4096 hosts; nothing for an invalid list. */
void bj_original_hosts(struct bj_slice nodelist, struct bj_buf *to);

/* Seconds as sacct prints them, appended: "[D-]HH:MM:SS". */
void bj_original_elapsed(uint64_t sec, struct bj_buf *to);

#endif
