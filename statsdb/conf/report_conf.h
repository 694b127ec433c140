/* Options of reports: prices, margins and texts of the site. */
#ifndef BJ_STATSDB_CONF_REPORT_CONF_H
#define BJ_STATSDB_CONF_REPORT_CONF_H

#include "base/opt.h"

#include <stdbool.h>
#include <stdint.h>

enum { BJ_CURRENCY_MAX = 24 };

/* Values as texts; NULL or empty: not set. */
struct bj_report_conf {
    char *currency, *cpu_hour, *gpu_hour, *gib_hour, *kwh;
    bool failed_nodes_free;
    char *time_zone; /* statsdb/tables/site_zone.h */
    char *texts;     /* path: report/model/catalogue.h */
    /* margins of the next request, percent */
    uint64_t memory_margin, time_margin;
    uint64_t memory_of_cpu; /* bytes; 0: no limit */
};
extern const struct bj_opt bj_report_opts[];

/* Parse a price into millionths; BJ_SQL_NULL if it is not set.  -EINVAL: not a
 * price. */
int bj_price_read(const char *text, int64_t *ret);

#endif
