/* The spool: a directory with a file for each ended job, from which
 * batchjob_stats_db takes the records (docs/records.md). */
#ifndef BJ_CORE_SPOOL_H
#define BJ_CORE_SPOOL_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

struct bj_spool;

/* Use dir as the spool.  It is created if only its last part is missing, and
 * again if it is removed later.  At most max_files records and max_bytes wait
 * in it.  -errno if it cannot be used. */
int bj_spool_new(const char *dir, uint64_t max_files, uint64_t max_bytes,
                 struct bj_spool **ret, struct bj_err *err);
void bj_spool_free(struct bj_spool *s); /* NULL is fine */

/* Write and remove a hidden file: can records be written?  0 or -errno. */
int bj_spool_try(struct bj_spool *s, struct bj_err *err);

/* Write a record: one line, including its newline.  id (a job id; any text)
 * distinguishes records with the same end time.  When the call returns 0, the
 * record is complete and on disk; otherwise it does not exist:
 *   -EDQUOT             the limit of waiting records is reached
 *   -ENOSPC and others  errors of the system */
int bj_spool_put(struct bj_spool *s, uint64_t end_sec, struct bj_slice id,
                 struct bj_slice line, struct bj_err *err);

#endif
