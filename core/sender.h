/* Sends the final records of a spool to batchjob_stats_db, in its own thread.
 * A file is removed when batchjob_stats_db has confirmed that its record is
 * committed; until then it waits, also after a restart.  docs/records.md. */
#ifndef BJ_CORE_SENDER_H
#define BJ_CORE_SENDER_H

#include "core/host.h"
#include "core/sender_conf.h"

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

#endif
