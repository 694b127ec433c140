/* Slurm's accounting as a source: slurmrestd, for a time window. */
#ifndef BJ_STATSDB_SOURCE_SOURCE_REST_H
#define BJ_STATSDB_SOURCE_SOURCE_REST_H

#include "statsdb/source/source_sacct.h"

struct bj_source_rest;

/* conf must outlive it. */
int bj_source_rest_new(const struct bj_cluster_conf *conf,
                       struct bj_source_rest **ret, struct bj_err *err);
void bj_source_rest_free(struct bj_source_rest *s); /* NULL is fine */

/* Like bj_source_sacct_run; lines are jobs and steps, bad_lines jobs that were
 * skipped. It uses the newest plugin of slurmrestd unless conf names one; the
 * token is read from its file each time. Errors are those of base/fetch.h,
 * base/file.h, slurmrest.h and upsert.h; -ENOTSUP: no supported accounting
 * plugin. */
int bj_source_rest_run(struct bj_source_rest *s, const struct bj_window *window,
                       const struct bj_source_run *run,
                       struct bj_sacct_counts *ret, struct bj_err *err);

#endif
