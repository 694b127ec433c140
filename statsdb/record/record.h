/* Final records of jobs, which the exporters on the nodes write: the resources
 * that a job used on one node, as counted by the kernel (docs/records.md). */
#ifndef BJ_STATSDB_RECORD_RECORD_H
#define BJ_STATSDB_RECORD_RECORD_H

#include "base/err.h"
#include "base/slice.h"
#include "statsdb/tables/store.h"

#include <stdint.h>

struct bj_records;

enum { BJ_RECORD_BYTES = 256 * 1024 }; /* maximum size of a record */

/* For the store's writer; the store must outlive *ret. */
int bj_records_new(struct bj_store *s, struct bj_records **ret,
                   struct bj_err *err);
void bj_records_free(struct bj_records *r);

struct bj_json;

/* Parse and check one record; *ret is valid until the next call.  name: the
 * file of the record, for messages.  -EINVAL: not a record (not JSON, another
 * format, without job, host or end). */
int bj_record_read(struct bj_records *r, const char *name, struct bj_slice text,
                   const struct bj_json **ret, struct bj_err *err);

/* Begin, commit and roll back transactions that store records. */
int bj_records_begin(struct bj_records *r, struct bj_err *err);
int bj_records_commit(struct bj_records *r, struct bj_err *err);
void bj_records_rollback(struct bj_records *r);

/* Store the record that was read last, in such a transaction. Storing a record
 * again changes nothing; stored values that the record lacks stay. cluster is
 * used if the record has none. */
int bj_record_store(struct bj_records *r, struct bj_slice cluster,
                    const char *name, const struct bj_json *doc,
                    struct bj_err *err);

/* Read and store a record. */
int bj_record_put(struct bj_records *r, struct bj_slice cluster,
                  const char *name, struct bj_slice text, struct bj_err *err);

/* Does the store have jobs or records of this cluster?  1, 0, or an error of
 * the store. */
int bj_records_have_cluster(struct bj_records *r, struct bj_slice name,
                            struct bj_err *err);

struct bj_records_counts {
    uint64_t taken, bad;
};

/* Import up to max_files records of a spool directory in one transaction, then
 * remove the files. An invalid file is renamed to NAME.bad and counted;
 * *ret_why returns the message about the first one. Only files of users who may
 * write to the directory are read (base/file.h, bj_file_read_spooled). Returns
 * the number of files imported or renamed, or an error: imported files may then
 * still exist, and are imported again, which changes nothing. */
int bj_records_collect(struct bj_records *r, struct bj_slice cluster,
                       const char *dir, unsigned max_files,
                       struct bj_records_counts *ret, struct bj_err *ret_why,
                       struct bj_err *err);

#endif
