/* Grams of CO2 equivalent of a job, for each source of factors and for the best
 * of them:
 *     sum over time of energy * factor * PUE
 * Energy is taken bin by bin, within one evenly.  Where a source has no factor
 * for a time, that part of the energy is not covered; the result says how much
 * is. */
#ifndef BJ_STATSDB_GRAMS_H
#define BJ_STATSDB_GRAMS_H

#include "statsdb/store.h"

#include <stddef.h>

enum { BJ_GRAMS_MAX = 32 }; /* sources that count for a cluster */

struct bj_energy_bin {
    int64_t start_sec; /* its end is the start of the next, or of the job's end
                        */
    int64_t microjoules;
};

struct bj_grams_job {
    int64_t cluster;
    int64_t start_sec, end_sec;
    int64_t microjoules;             /* in all */
    const struct bj_energy_bin *bin; /* how it is spread; in the order of time,
                                        the first at start_sec */
    size_t bins;                     /* 0: evenly */
};

struct bj_grams_row {
    int64_t source;
    int64_t micrograms;
    int64_t covered_uj;
    int64_t estimated; /* 1: with estimates among the factors */
};

struct bj_grams;

int bj_grams_new(struct bj_store *s, struct bj_grams **ret, struct bj_err *err);
void bj_grams_free(struct bj_grams *g);

/* Sources and PUE are read once: to be called when they may have changed. */
void bj_grams_forget(struct bj_grams *g);

/* The rows of a job, in the order of sources; sources that cover nothing are
 * left out.  Returns how many, or an error.  Micrograms are rounded, energy is
 * cut off. */
int bj_grams_of(struct bj_grams *g, const struct bj_grams_job *job,
                struct bj_grams_row ret[BJ_GRAMS_MAX], struct bj_err *err);

#endif
