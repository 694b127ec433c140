/* The history of emission factors in the store.
 *
 * Sources are carbon/ (providers, the site's file, the yearly table, a
 * constant) and a Prometheus server that scrapes an exporter with factors.
 * Factors that arrive late change derived values: jobs with energy in their
 * time are derived again (statsdb/derive/derive.h). */
#ifndef BJ_STATSDB_DERIVE_FACTORS_H
#define BJ_STATSDB_DERIVE_FACTORS_H

#include "base/opt.h"
#include "carbon/factor.h"
#include "statsdb/tables/store.h"

struct bj_factors;

/* For the store's writer. */
int bj_factors_new(struct bj_store *s, struct bj_factors **ret,
                   struct bj_err *err);
void bj_factors_free(struct bj_factors *f);

/* Store a factor, in a transaction. cluster: its number, BJ_SQL_NULL for all;
 * rank: position of the provider in the order of preference. f->start_sec and
 * end_sec 0: the factor is for all times. Preference among the factors of one
 * source: values for up to two hours, values for longer times, profiles, years
 * and constants. An estimate never replaces another value. */
int bj_factors_put(struct bj_factors *h, int64_t cluster, int rank,
                   const struct bj_factor *f, struct bj_err *err);

/* Store the power usage effectiveness of a cluster, in a transaction: "1.3", or
 * "2026-01-31=1.25" from that day (UTC) on. Values that are no longer
 * configured are removed. -EINVAL with a message for a value outside 0.5 to 5.
 */
int bj_factors_pue(struct bj_factors *h, int64_t cluster,
                   const struct bj_strv *pue, struct bj_err *err);

/* Check the values without a store. */
int bj_pue_check(const struct bj_strv *pue, struct bj_err *err);

/* Add the affected jobs to the list of jobs to derive; call it before the
 * transaction ends. Returns their number, or an error. */
int64_t bj_factors_flush(struct bj_factors *h, struct bj_err *err);

/* Drop all changes after a rollback. */
void bj_factors_drop(struct bj_factors *h);

#endif
