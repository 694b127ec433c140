/* Options of what reports show: prices and texts of the site. */
#ifndef BJ_STATSDB_REPORT_CONF_H
#define BJ_STATSDB_REPORT_CONF_H

#include "base/opt.h"

#include <stdint.h>

enum { BJ_CURRENCY_MAX = 24 };

/* As texts; NULL or empty: no such price, no file. */
struct bj_report_conf {
    char *currency, *cpu_hour, *gpu_hour, *gib_hour, *kwh;
    char *texts; /* path: report/catalogue.h */
};
extern const struct bj_opt bj_report_opts[];

/* Millionths of a price; BJ_SQL_NULL without one.  -EINVAL. */
int bj_price_read(const char *text, int64_t *ret);

#endif
