/* Values of providers in a file, so that a restart needs no request and a
 * profile is available during an outage. */
#ifndef BJ_CARBON_CACHE_H
#define BJ_CARBON_CACHE_H

#include "carbon/plan.h"
#include "carbon/points.h"

/* The cached data of one slot of a plan. */
struct bj_carbon_cached {
    struct bj_points points;
    uint64_t queried_sec; /* last successful query; 0: never */
    uint64_t not_before; /* the provider wants no request before; 0: any time */
};

/* Fill slots (plan->n of them, zeroed) from the file at path.  Only series of
 * the same provider and zone are read, and no values after now_sec.  A missing
 * file is not an error.
 *   -EINVAL  the file is damaged or another one: it was renamed to PATH.bad,
 * and the message says so and why -EPERM   other users can write to it; it
 * stays in place -ENOMEM, and errors of reading */
int bj_cache_load(const char *path, const struct bj_carbon_plan *plan,
                  uint64_t now_sec, struct bj_carbon_cached *slots,
                  struct bj_err *err);

/* Write the slots, mode 0644; readers see either the old or the new file.
 * -errno. */
int bj_cache_save(const char *path, const struct bj_carbon_plan *plan,
                  const struct bj_carbon_cached *slots, struct bj_err *err);

/* Parse the text of such a file into slots; -EINVAL, -EFBIG, -ENOMEM.  On
 * failure they may be filled in part. */
int bj_cache_parse(struct bj_slice text, const struct bj_carbon_plan *plan,
                   uint64_t now_sec, struct bj_carbon_cached *slots,
                   struct bj_err *err);

#endif
