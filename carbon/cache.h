/* What was learnt from providers, kept in a file over restarts, so that a
 * restart asks nobody and an outage has a profile to fall back on. */
#ifndef BJ_CARBON_CACHE_H
#define BJ_CARBON_CACHE_H

#include "carbon/plan.h"
#include "carbon/points.h"

/* What is kept of one slot of a plan. */
struct bj_carbon_cached {
    struct bj_points points;
    uint64_t asked_sec;  /* last asked with success; 0: never */
    uint64_t not_before; /* it wants no question before; 0: any time */
};

/* Fill slots (plan->n of them, zeroed) from the file at path.  Only what was
 * asked of the same provider about the same zone is taken, and nothing from
 * the time after now_sec.  No file is no failure.
 *   -EINVAL  the file is damaged or foreign: it was renamed to PATH.bad, and
 *            the message says so and why
 *   -EPERM   it is writable for others; it stays where it is
 *   -ENOMEM, and errors of reading */
int bj_cache_load(const char *path, const struct bj_carbon_plan *plan,
                  uint64_t now_sec, struct bj_carbon_cached *slots,
                  struct bj_err *err);

/* Write the slots, mode 0644; readers see the old file or the new one.  -errno.
 */
int bj_cache_save(const char *path, const struct bj_carbon_plan *plan,
                  const struct bj_carbon_cached *slots, struct bj_err *err);

/* The text of such a file into slots; -EINVAL, -EFBIG, -ENOMEM.  They may be
 * filled in part on failure. */
int bj_cache_parse(struct bj_slice text, const struct bj_carbon_plan *plan,
                   uint64_t now_sec, struct bj_carbon_cached *slots,
                   struct bj_err *err);

#endif
