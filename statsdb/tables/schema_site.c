/* Tables with options of the site, so that all programs use the same values:
 * prices (statsdb/derive/price.h), the time zone (statsdb/tables/site_zone.h),
 * texts of reports and numbers for advice (report/model/catalogue.h). */
#include "statsdb/tables/schema_sql.h"

#include <stddef.h>

const char *const bj_schema_site[] = {
    "CREATE TABLE price("
    "id INTEGER PRIMARY KEY CHECK(id = 1),"
    "currency TEXT NOT NULL,"
    "cpu_hour INT," /* millionths of the currency; NULL: free */
    "gpu_hour INT,"
    "gib_hour INT,"
    "kwh INT) STRICT",

    "CREATE TABLE sentence("
    "name TEXT PRIMARY KEY,"
    "text TEXT NOT NULL) STRICT, WITHOUT ROWID",
    NULL};

const char *const bj_schema_zone[] = {
    /* No row: the days of sums are those of UTC. */
    "CREATE TABLE site("
    "id INTEGER PRIMARY KEY CHECK(id = 1),"
    "time_zone TEXT NOT NULL) STRICT",

    /* Jobs whose node failed are not charged. */
    "ALTER TABLE price ADD COLUMN failed_nodes_free INT NOT NULL DEFAULT 0",
    NULL};
