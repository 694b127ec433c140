/* A request with final records: files of the spool, and their handling after
 * the response of batchjob_stats_db. */
#ifndef BJ_CORE_SEND_BATCH_H
#define BJ_CORE_SEND_BATCH_H

#include "base/buf.h"
#include "base/err.h"

#include <dirent.h>
#include <stdint.h>

enum {
    BJ_SEND_RECORDS = 500,
    BJ_SEND_BYTES = 256 * 1024, /* of all records; also the maximum of one
                                   record */
};

struct bj_send_batch {
    struct bj_buf names; /* of the files, each with its NUL */
    struct bj_buf body;  /* their records, a line each */
    unsigned n;
    unsigned unreadable; /* files that were left out */
    struct bj_err why;   /* error of the last file that could not be read */
    char *text;          /* BJ_SEND_BYTES */
};

void bj_send_batch_free(struct bj_send_batch *b);

/* Is it the name of a record's file? */
bool bj_send_is_record(const char *name);

/* Fill it with at most max of the next files in the open directory d.  A file
 * that cannot be a record is renamed to NAME.bad and counted in *ret_bad; err
 * then has the reason for the last one.  A file that cannot be read is left out
 * and counted.  Returns 0 or -ENOMEM. */
int bj_send_batch_fill(struct bj_send_batch *b, DIR *d, unsigned max,
                       uint64_t *ret_bad, struct bj_err *err);

/* The numbers of records by result, from the response. */
struct bj_send_result {
    unsigned stored; /* stored: their files are removed */
    unsigned bad; /* can never be stored: their files are renamed to NAME.bad */
    unsigned denied;                   /* refused for now: their files stay */
    struct bj_err bad_why, denied_why; /* of the first one */
};

/* Apply the response of batchjob_stats_db (statsdb/record/record_body.h) to the
 * files in the open directory dir. -EPROTO  not a response about these records;
 * no file is changed others   a file could not be removed or renamed */
int bj_send_batch_settle(const struct bj_send_batch *b, int dir,
                         struct bj_slice response, struct bj_send_result *ret,
                         struct bj_err *err);

/* Rename the only file of a batch to NAME.bad. */
int bj_send_batch_set_bad(const struct bj_send_batch *b, int dir,
                          struct bj_err *err);

#endif
