/* Factors that a site drops into a file: for machines without a way to the
 * internet, own contracts, other providers.  docs/emissions.md describes the
 * format for those who write it. */
#ifndef BJ_CARBON_DROP_H
#define BJ_CARBON_DROP_H

#include "carbon/points.h"

/* Which rows of a file are ours: those of zone, or of a country by either of
 * its codes where zone is one. */
struct bj_drop_want {
    const char *zone;
    uint64_t fetched_sec; /* what the points get */
};

/* Read a file's text as CSV or JSON.  name stands for the file in messages.
 * Strict: the first thing that is not as described refuses the whole file,
 * -EINVAL, "NAME:LINE: what was expected".  -EFBIG when there are more than
 * BJ_POINTS_MAX rows of ours, -ENOMEM.  *ret is untouched on failure, else
 * replaced: it must be zero or filled by these calls.
 *
 * CSV: comma separated, no quotes, '#' begins a comment line.  The first line
 * names the columns, in any order: zone, kind, g_per_kwh, and start and end
 * or year; estimated may be there.
 * JSON: {"factors": [{"zone": ..., ...}, ...]} with the same names. */
int bj_drop_csv(struct bj_slice text, const char *name,
                const struct bj_drop_want *want, struct bj_points *ret,
                struct bj_err *err);
int bj_drop_json(struct bj_slice text, const char *name,
                 const struct bj_drop_want *want, struct bj_points *ret,
                 struct bj_err *err);

#endif
