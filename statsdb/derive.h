/* What is worked out of the accounting, the records of nodes and what a
 * Prometheus server told: use, energy, grams, findings, and daily sums of
 * energy and grams (docs/statsdb.md, "Derived").
 *
 * Everything that concerns a job changes in one transaction, and nothing is
 * written where nothing has changed.  Jobs come by themselves: those that are
 * new in the store and have ended, those that have changed, those of which a
 * record came, those in whose time factors came. */
#ifndef BJ_STATSDB_DERIVE_H
#define BJ_STATSDB_DERIVE_H

#include "statsdb/rule.h"
#include "statsdb/store.h"

struct bj_derive;

struct bj_derive_options {
    const struct bj_rules *rules; /* NULL: no findings */
    int64_t findings_sec; /* jobs that ended longer ago are not judged anew when
                             the rules change */
    /* Clusters that have a Prometheus server, and how far back it remembers:
     * their jobs are put on its list. */
    const char *const *prom_cluster;
    const int64_t *prom_history_sec;
    size_t prom_clusters;
};

struct bj_derive_counts {
    uint64_t jobs;     /* looked at */
    uint64_t changed;  /* of them: something was written */
    uint64_t findings; /* of those */
};

/* For the store's writer.  What options point to must outlive it. */
int bj_derive_new(struct bj_store *s, const struct bj_derive_options *opt,
                  struct bj_derive **ret, struct bj_err *err);
void bj_derive_free(struct bj_derive *d);

/* Work out up to max jobs, in one transaction.  Returns how many there were (0:
 * nothing to do), or an error; then nothing has changed. */
int bj_derive_step(struct bj_derive *d, int64_t now_sec, unsigned max,
                   struct bj_err *err);

/* Factors have changed: read them anew. */
void bj_derive_forget(struct bj_derive *d);

const struct bj_derive_counts *bj_derive_counts(const struct bj_derive *d);

#endif
