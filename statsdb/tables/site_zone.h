/* The time zone of the site (option time-zone): days and months of sums are
 * days and months of this zone, and people see times in it.  It is in the
 * store, so that all programs use the same one. */
#ifndef BJ_STATSDB_TABLES_SITE_ZONE_H
#define BJ_STATSDB_TABLES_SITE_ZONE_H

#include "base/tz.h"

struct bj_db;

/* Read the zone; UTC if the store has none yet.  Free *ret with bj_tz_free.
 * 0, an error of the store, or one of bj_tz_load. */
int bj_site_zone_read(struct bj_db *db, struct bj_tz **ret, struct bj_err *err);

/* Read its name; "": the store has none yet.  0 or an error of the store. */
int bj_site_zone_name(struct bj_db *db, char ret[static BJ_TZ_NAME],
                      struct bj_err *err);

#endif
