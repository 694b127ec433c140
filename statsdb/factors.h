/* The history of emission factors in the store.
 *
 * Factors come from the feed of carbon/ (providers, the site's file, the yearly
 * table, a constant) and from a Prometheus server that has asked an exporter.
 * Those that come late change what was worked out before: jobs with energy in
 * their time are put on the list of statsdb/derive.h again. */
#ifndef BJ_STATSDB_FACTORS_H
#define BJ_STATSDB_FACTORS_H

#include "base/opt.h"
#include "carbon/factor.h"
#include "statsdb/store.h"

struct bj_factors;

/* For the store's writer. */
int bj_factors_new(struct bj_store *s, struct bj_factors **ret,
                   struct bj_err *err);
void bj_factors_free(struct bj_factors *f);

/* Put a factor.  cluster: number of the one it is for, BJ_SQL_NULL for all;
 * rank: its provider's place among those it competes with.  f->start_sec and
 * end_sec 0: for all times.  Which of several factors of a source counts:
 * values of up to two hours before longer ones, those before profiles, these
 * before years and constants.  An estimate never replaces what is none.  In a
 * transaction. */
int bj_factors_put(struct bj_factors *h, int64_t cluster, int rank,
                   const struct bj_factor *f, struct bj_err *err);

/* Power usage effectiveness of a cluster: "1.3", or "2026-01-31=1.25" from that
 * day (UTC) on; what was set before and is not there any more goes.  In a
 * transaction.  -EINVAL with a message when one makes no sense (0.5 to 5). */
int bj_factors_pue(struct bj_factors *h, int64_t cluster,
                   const struct bj_strv *pue, struct bj_err *err);

/* The same without a store: do they make sense? */
int bj_pue_check(const struct bj_strv *pue, struct bj_err *err);

/* To be called before the transaction ends: put the jobs that what has changed
 * concerns on the list.  Returns how many, or an error. */
int64_t bj_factors_flush(struct bj_factors *h, struct bj_err *err);

/* Forget it: the transaction was rolled back. */
void bj_factors_drop(struct bj_factors *h);

#endif
