/* Final records of jobs, written by the collectors of the nodes: resources that
 * a job used on one node, counted by the kernel (docs/records.md). */
#ifndef BJ_STATSDB_RECORD_H
#define BJ_STATSDB_RECORD_H

#include "base/err.h"
#include "base/slice.h"
#include "statsdb/store.h"

#include <stdint.h>

struct bj_records;

enum { BJ_RECORD_BYTES = 256 * 1024 }; /* maximum size of a record */

/* For the store's writer, which must outlive it. */
int bj_records_new(struct bj_store *s, struct bj_records **ret,
                   struct bj_err *err);
void bj_records_free(struct bj_records *r);

/* Store one record, in an open transaction. The same record again changes
 * nothing; absent values stay. cluster is used if the record has none; name is
 * the file's, for messages. -EINVAL: not a record (not JSON, another format,
 * without job, host or end). */
int bj_record_put(struct bj_records *r, struct bj_slice cluster,
                  const char *name, struct bj_slice text, struct bj_err *err);

struct bj_records_counts {
    uint64_t taken, bad;
};

/* Import up to max_files records of a spool directory in one transaction, then
 * remove the files. An invalid file is renamed to NAME.bad and counted;
 * *ret_why gets the first message about one. Only files of users who may write
 * to the directory are read (base/file.h, bj_file_read_spooled). Returns the
 * number of files imported or renamed, or an error: imported files may then
 * still be there, and are imported again. */
int bj_records_collect(struct bj_records *r, struct bj_slice cluster,
                       const char *dir, unsigned max_files,
                       struct bj_records_counts *ret, struct bj_err *ret_why,
                       struct bj_err *err);

#endif
