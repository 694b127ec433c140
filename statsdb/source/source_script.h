/* Options of batch scripts from `sacct -B`, where Slurm keeps scripts
 * (AccountingStoreFlags=job_script).  The scripts are read, not stored: only
 * the options of #SBATCH lines that request amounts, and the name of the
 * application, for the next request and the sums by application. */
#ifndef BJ_STATSDB_SOURCE_SOURCE_SCRIPT_H
#define BJ_STATSDB_SOURCE_SOURCE_SCRIPT_H

#include "base/err.h"
#include "statsdb/conf/conf.h"
#include "statsdb/tables/application.h"
#include "statsdb/tables/store.h"

#include <stdatomic.h>

enum { BJ_SCRIPT_JOBS = 5000 }; /* read in one round at most, newest first */

/* Read the scripts of jobs that have started and that are new or run, of the
 * cluster with this name in the store.  A job is requested once; the tasks of
 * an array have one script.  applications may be NULL.  *ret_jobs: how many
 * jobs are known now.  Errors are those of base/command.h and of the store. */
int bj_source_scripts(const struct bj_cluster_conf *conf,
                      struct bj_slice cluster, struct bj_store *store,
                      const struct bj_applications *applications,
                      const atomic_bool *stop, size_t *ret_jobs,
                      struct bj_err *err);

#endif
