/* Derives values from accounting, final records and Prometheus data: use,
 * energy, grams, findings, and daily sums of energy and grams
 * (docs/derived.md).
 *
 * All changes of a job are one transaction, and only rows that differ are
 * written. Triggers list the jobs: new jobs that have ended, changed jobs, jobs
 * with a new final record, and jobs with new emission factors in their time. */
#ifndef BJ_STATSDB_DERIVE_DERIVE_H
#define BJ_STATSDB_DERIVE_DERIVE_H

#include "base/buf.h"
#include "statsdb/derive/rule.h"
#include "statsdb/tables/store.h"

#include <stdbool.h>

struct bj_applications;
struct bj_derive;

struct bj_derive_options {
    const struct bj_rules *rules;               /* NULL: no findings */
    const struct bj_applications *applications; /* NULL: none is named */
    int64_t findings_sec; /* jobs that ended longer ago are not evaluated again
                             when rules or applications change */
    /* Clusters with a Prometheus server, and how far back it has samples: their
     * jobs are added to its list. */
    const char *const *prom_cluster;
    const int64_t *prom_history_sec;
    size_t prom_clusters;
};

struct bj_derive_counts {
    uint64_t jobs;     /* processed */
    uint64_t changed;  /* of them: written */
    uint64_t findings; /* of those */
};

/* The job and facts for which rules are evaluated. */
struct bj_derive_facts {
    char cluster[256], partition[256], qos[256];
    double fact[BJ_FACT_COUNT];
};

/* Compute the facts of an ended job again; the store may be open for reading
 * only.  -ENOENT: the job is not in the store.  -EBUSY: it has not ended. */
int bj_derive_facts_of(struct bj_store *s, int64_t job,
                       struct bj_derive_facts *ret, struct bj_err *err);

/* For the store's writer.  Everything that the options point to must outlive
 * *ret. */
int bj_derive_new(struct bj_store *s, const struct bj_derive_options *opt,
                  struct bj_derive **ret, struct bj_err *err);
void bj_derive_free(struct bj_derive *d);

/* Derive up to max jobs in one transaction. Returns their number (0: nothing to
 * do), or an error, after which nothing has changed. */
int bj_derive_step(struct bj_derive *d, int64_t now_sec, unsigned max,
                   struct bj_err *err);

/* Read emission factors again, because they have changed. */
void bj_derive_forget(struct bj_derive *d);

const struct bj_derive_counts *bj_derive_counts(const struct bj_derive *d);

/* Append the metric of refused final records, by host. */
void bj_derive_refused_page(const struct bj_derive *d, struct bj_buf *out);

/* Store the zone, and move the sums of all jobs from the days of the former
 * zone to its own, in one transaction.  Sums of jobs that were removed stay on
 * their days.  name "": that of the store, or, if it has none, of this machine.
 * Call it before anything else writes sums.  *ret_changed: the zone is another
 * one than before. */
int bj_site_zone_set(struct bj_store *s, const char *name, bool *ret_changed,
                     struct bj_err *err);

#endif
