/* Sets the time zone of the site (site_zone.h), and moves sums to its days. */
#ifndef BJ_STATSDB_DERIVE_DERIVE_ZONE_H
#define BJ_STATSDB_DERIVE_DERIVE_ZONE_H

#include "statsdb/tables/store.h"

#include <stdbool.h>

/* Store the zone, and move the sums of all jobs from the days of the former
 * zone to its own, in one transaction.  Sums of jobs that were removed stay on
 * their days.  name "": that of the store, or, if it has none, of this machine.
 * Call it before anything else writes sums.  *ret_changed: the zone is another
 * one than before. */
int bj_site_zone_set(struct bj_store *s, const char *name, bool *ret_changed,
                     struct bj_err *err);

#endif
