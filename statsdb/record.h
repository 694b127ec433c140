/* Final records of jobs, as the collectors of the nodes leave them: what a job
 * used on one node, counted by the kernel.  docs/records.md has their form. */
#ifndef BJ_STATSDB_RECORD_H
#define BJ_STATSDB_RECORD_H

#include "base/err.h"
#include "base/slice.h"
#include "statsdb/store.h"

#include <stdint.h>

struct bj_records;

enum { BJ_RECORD_BYTES = 256 * 1024 }; /* of a record, at most */

/* For the store's writer, which must outlive it. */
int bj_records_new(struct bj_store *s, struct bj_records **ret,
                   struct bj_err *err);
void bj_records_free(struct bj_records *r);

/* Put one record into the store, in an open transaction.  The same one again
 * changes nothing; absent values stay.  cluster is used if the record has
 * none; name is the file's, for messages.
 *   -EINVAL  no record: not JSON, another format, without job, host or end */
int bj_record_put(struct bj_records *r, struct bj_slice cluster,
                  const char *name, struct bj_slice text, struct bj_err *err);

struct bj_records_counts {
    uint64_t taken, bad;
};

/* Take up to max_files records out of a spool directory: put them in one
 * transaction, and when that is safe, remove the files.  What is no record is
 * renamed to NAME.bad and counted; the first message about one goes into
 * *ret_why.  Only files that nobody else can have written are taken (base/
 * file.h, bj_file_read_trusted).  Returns how many files have gone from it, or
 * an error: what was put may still be there then, and is put again. */
int bj_records_collect(struct bj_records *r, struct bj_slice cluster,
                       const char *dir, unsigned max_files,
                       struct bj_records_counts *ret, struct bj_err *ret_why,
                       struct bj_err *err);

#endif
