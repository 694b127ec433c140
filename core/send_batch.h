/* A request with final records: files of the spool, and what becomes of them
 * when batchjob_stats_db has answered. */
#ifndef BJ_CORE_SEND_BATCH_H
#define BJ_CORE_SEND_BATCH_H

#include "base/buf.h"
#include "base/err.h"

#include <dirent.h>
#include <stdint.h>

enum {
    BJ_SEND_RECORDS = 500,
    BJ_SEND_BYTES = 256 * 1024, /* of all, and at most of one record */
};

struct bj_send_batch {
    struct bj_buf names; /* of the files, each with its NUL */
    struct bj_buf body;  /* their records, a line each */
    unsigned n;
    unsigned unreadable; /* files that were left out */
    struct bj_err why;   /* they could not be read: of the newest */
    char *text;          /* BJ_SEND_BYTES */
};

void bj_send_batch_free(struct bj_send_batch *b);

/* Is it the name of a record's file? */
bool bj_send_is_record(const char *name);

/* Fill it with files that follow in d, an open directory, at most max of them.
 * A file that cannot be a record is renamed to NAME.bad and counted in
 * *ret_bad; err then has the reason for the newest.  One that cannot be read is
 * left out and counted.  0, or -ENOMEM. */
int bj_send_batch_fill(struct bj_send_batch *b, DIR *d, unsigned max,
                       uint64_t *ret_bad, struct bj_err *err);

/* The result of each record in the answer. */
struct bj_send_result {
    unsigned stored; /* their files are removed */
    unsigned bad;    /* can never be stored: renamed to NAME.bad */
    unsigned denied; /* refused for now: they stay */
    struct bj_err bad_why, denied_why; /* of the first one */
};

/* Apply the answer of batchjob_stats_db (statsdb/record_body.h) to the files in
 * the open directory dir.
 *   -EPROTO  not an answer about these records; nothing is changed
 *   others   a file could not be removed or renamed */
int bj_send_batch_settle(const struct bj_send_batch *b, int dir,
                         struct bj_slice answer, struct bj_send_result *ret,
                         struct bj_err *err);

/* Rename the only file of a batch to NAME.bad. */
int bj_send_batch_set_bad(const struct bj_send_batch *b, int dir,
                          struct bj_err *err);

#endif
