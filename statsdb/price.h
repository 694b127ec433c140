/* What jobs cost: what they held, times the prices of the site (price.*).  The
 * store has the prices, so that all programs compute the same. */
#ifndef BJ_STATSDB_PRICE_H
#define BJ_STATSDB_PRICE_H

#include "statsdb/report_conf.h"
#include "store/db.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_store;

/* Millionths of the currency for each hour or kWh; BJ_SQL_NULL: free. */
struct bj_prices {
    int64_t cpu_hour, gpu_hour, gib_hour, kwh;
    char currency[BJ_CURRENCY_MAX + 1]; /* "": none is named */
};

/* What is paid for; BJ_SQL_NULL: unknown. */
struct bj_paid {
    int64_t cpu_sec, gpu_sec, memory_mib_sec, energy_mj;
};

/* Millionths of the currency for the known amounts that have a price;
 * BJ_SQL_NULL: there are none. */
int64_t bj_cost(const struct bj_prices *p, const struct bj_paid *v);

/* Is an amount that has a price unknown, so that the cost is a minimum? */
bool bj_cost_is_minimum(const struct bj_prices *p, const struct bj_paid *v);

/* The prices as values of SQL, in the order of struct bj_prices. */
#define BJ_SQL_PRICES                                                          \
    "(SELECT cpu_hour FROM price)", "(SELECT gpu_hour FROM price)",            \
        "(SELECT gib_hour FROM price)", "(SELECT kwh FROM price)"

/* Read the prices of the store; all unknown without any.  0 or an error of the
 * store. */
int bj_prices_read(struct bj_db *db, struct bj_prices *ret, struct bj_err *err);

/* Is there any? */
bool bj_prices_are(const struct bj_prices *p);

/* Replace them by those of the options.  0 or an error of the store. */
int bj_prices_write(struct bj_store *s, const struct bj_report_conf *conf,
                    struct bj_err *err);

#endif
