/* Sends the final records of a spool to batchjob_stats_db, in its own thread.
 * A file is removed when batchjob_stats_db has confirmed that its record is
 * committed; until then it waits, also after a restart.  docs/records.md. */
#ifndef BJ_CORE_SENDER_H
#define BJ_CORE_SENDER_H

#include "base/buf.h"
#include "base/err.h"
#include "core/conf.h"
#include "core/host.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

struct bj_sender;

/* dir: the spool.  conf is copied and must have a url.  -EINVAL, -ENOMEM,
 * -ENOSYS (no libcurl), or the error of a file named in conf. */
int bj_sender_new(const struct bj_sender_conf *conf, const char *dir,
                  const struct bj_host *host, struct bj_sender **ret,
                  struct bj_err *err);
void bj_sender_free(struct bj_sender *s); /* NULL is fine */

/* Send one request without records, as the thread does at its start: 0 if
 * batchjob_stats_db accepts records of this host. */
int bj_sender_try(const struct bj_sender_conf *conf, struct bj_err *err);

/* A record was added to the spool: send it within the interval, if
 * batchjob_stats_db responds. */
void bj_sender_wake(struct bj_sender *s);

struct bj_sender_stat {
    uint64_t sent;    /* records that batchjob_stats_db has committed */
    uint64_t refused; /* records renamed to *.bad */
    uint64_t errors;  /* requests that failed, or with records that were refused
                         for now */
    uint64_t waiting; /* records in the spool */
    uint64_t age_usec; /* of the oldest one; 0: none waits */
    uint64_t success;  /* of the last round: 1 or 0; absent: none has ended */
};
void bj_sender_stat(struct bj_sender *s, struct bj_sender_stat *ret);

/* --- send batch ---*/

/* A request with final records: files of the spool, and their handling after
 * the response of batchjob_stats_db. */

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

#endif
