/* The spool: a directory that gets a file for each job that has ended, and
 * from which the accounting database takes them (docs/records.md). */
#ifndef BJ_CORE_SPOOL_H
#define BJ_CORE_SPOOL_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

struct bj_spool;

/* Use dir, which is made when only its last part is missing, and again when it
 * has been removed since.  At most
 * max_files records and max_bytes wait in it.  -errno when it cannot be used.
 */
int bj_spool_new(const char *dir, uint64_t max_files, uint64_t max_bytes,
                 struct bj_spool **ret, struct bj_err *err);
void bj_spool_free(struct bj_spool *s); /* NULL is fine */

/* Write a record: one line, given with its newline.  id (a job id; any text)
 * distinguishes records of the same end.  When the call returns 0, the record
 * is complete and on disk; otherwise it does not exist: -EDQUOT  too much waits
 * already -ENOSPC and others: what the system says */
int bj_spool_put(struct bj_spool *s, uint64_t end_sec, struct bj_slice id,
                 struct bj_slice line, struct bj_err *err);

#endif
