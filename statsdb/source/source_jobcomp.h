/* Slurm's jobcomp/elasticsearch as a source: slurmctld sends a record of each
 * job that ends, which is in the store a moment later, before accounting has
 * it. A record only adds values to those of a job; accounting completes and
 * corrects it.
 *
 * slurmctld can send no token and no certificate: jobcomp.from names the
 * addresses that may send. A client on this machine must be root or the user of
 * jobcomp.user.
 *
 * One thread serves the connections; the caller's thread stores the records.
 * An answer is sent after the record is committed. slurmctld keeps all others,
 * and sends them again every 30 s. */
#ifndef BJ_STATSDB_SOURCE_SOURCE_JOBCOMP_H
#define BJ_STATSDB_SOURCE_SOURCE_JOBCOMP_H

#include "base/err.h"
#include "statsdb/conf/conf.h"
#include "statsdb/import/upsert.h"
#include "statsdb/tables/application.h"
#include "statsdb/tables/store.h"

struct bj_source_jobcomp;

/* Check the options. -EINVAL with the option in the message. */
int bj_source_jobcomp_check(const struct bj_jobcomp_conf *c,
                            struct bj_err *err);

/* Listen on the addresses of conf->jobcomp. wake(ctx) is called in the thread
 * of the connections when a record waits. All arguments must outlive *ret;
 * applications may be NULL. */
int bj_source_jobcomp_new(const struct bj_statsdb_conf *conf,
                          struct bj_store *store, struct bj_upsert *upsert,
                          const struct bj_applications *applications,
                          void (*wake)(void *ctx), void *ctx,
                          struct bj_source_jobcomp **ret, struct bj_err *err);
void bj_source_jobcomp_free(struct bj_source_jobcomp *j); /* NULL is fine */

/* Store all records that wait in one transaction, and answer them; nothing if
 * none waits. After an error of the store, which is returned, slurmctld keeps
 * them. */
int bj_source_jobcomp_run(struct bj_source_jobcomp *j, struct bj_err *err);

/* Records since the start, and transactions that failed. */
struct bj_source_jobcomp_counts {
    uint64_t stored, malformed;
    uint64_t denied; /* the client may not send, or the cluster is unknown */
    uint64_t failures;
};

/* In the thread of bj_source_jobcomp_run(). */
struct bj_source_jobcomp_counts
bj_source_jobcomp_counts(const struct bj_source_jobcomp *j);

#endif
