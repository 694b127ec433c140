/* Emissions of a job, for each source of factors and for the best of them: the
 * sum over time of energy * factor * PUE.
 *
 * The energy of a bin is spread evenly. Energy at times without a factor is not
 * covered; the result contains the covered energy. */
#ifndef BJ_STATSDB_DERIVE_GRAMS_H
#define BJ_STATSDB_DERIVE_GRAMS_H

#include "statsdb/tables/store.h"

#include <stddef.h>

enum { BJ_GRAMS_MAX = 32 }; /* sources used for a cluster */

struct bj_energy_bin {
    int64_t start_sec; /* the bin ends at the start of the next one, or at the
                          end of the job */
    int64_t microjoules;
};

struct bj_grams_job {
    int64_t cluster;
    int64_t start_sec, end_sec;
    int64_t microjoules; /* in all */
    const struct bj_energy_bin
        *bin;    /* energy over time; the first bin begins at start_sec */
    size_t bins; /* 0: spread evenly over the run time */
};

struct bj_grams_row {
    int64_t source;
    int64_t micrograms;
    int64_t covered_uj;
    int64_t estimated; /* 1: some factors are estimates */
};

struct bj_grams;

int bj_grams_new(struct bj_store *s, struct bj_grams **ret, struct bj_err *err);
void bj_grams_free(struct bj_grams *g);

/* Read sources and PUE again before their next use, because they may have
 * changed. */
void bj_grams_forget(struct bj_grams *g);

/* Compute the rows of a job, in the order of sources, and omit sources that
 * cover nothing. Returns their number, or an error. Micrograms are rounded,
 * energy is truncated. */
int bj_grams_of(struct bj_grams *g, const struct bj_grams_job *job,
                struct bj_grams_row ret[BJ_GRAMS_MAX], struct bj_err *err);

#endif
