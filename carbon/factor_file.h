/* Emission factors in a file of the site: for machines without access to the
 * internet, own contracts, other providers.  docs/emissions.md describes the
 * format. */
#ifndef BJ_CARBON_FACTOR_FILE_H
#define BJ_CARBON_FACTOR_FILE_H

#include "carbon/points.h"

/* The rows of a file to read: those of zone; if zone is a code of a country,
 * those with either code of the country. */
struct bj_factor_rows {
    const char *zone;
    uint64_t fetched_sec; /* copied into the points */
};

/* Read a file's text as CSV or JSON.  name is the file in messages.  Strict:
 * the first deviation rejects the whole file, -EINVAL, "NAME:LINE: what was
 * expected". -EFBIG when more than BJ_POINTS_MAX rows match, -ENOMEM.  *ret is
 * unchanged on failure, else replaced: it must be zero or filled by these
 * calls.
 *
 * CSV: comma separated, no quotes, '#' begins a comment line.  The first line
 * names the columns, in any order: zone, kind, g_per_kwh, and start and end or
 * year; estimated is optional. JSON: {"factors": [{"zone": ..., ...}, ...]}
 * with the same names. */
int bj_factor_file_csv(struct bj_slice text, const char *name,
                       const struct bj_factor_rows *want, struct bj_points *ret,
                       struct bj_err *err);
int bj_factor_file_json(struct bj_slice text, const char *name,
                        const struct bj_factor_rows *want,
                        struct bj_points *ret, struct bj_err *err);

#endif
