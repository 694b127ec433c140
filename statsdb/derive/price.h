/* The cost of jobs: the resources they held and their energy, times the prices
 * of the site (price.*).  The prices are in the store, so that all programs
 * compute the same cost. */
#ifndef BJ_STATSDB_DERIVE_PRICE_H
#define BJ_STATSDB_DERIVE_PRICE_H

#include "statsdb/conf/report_conf.h"
#include "store/db.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_store;

/* Prices in millionths of the currency per hour or kWh; BJ_SQL_NULL: free. */
struct bj_prices {
    int64_t cpu_hour, gpu_hour, gib_hour, kwh;
    bool failed_nodes_free; /* jobs whose node failed are not charged */
    char currency[BJ_CURRENCY_MAX + 1]; /* "": no name */
};

/* The amounts that have prices; BJ_SQL_NULL: unknown. */
struct bj_paid {
    int64_t cpu_sec, gpu_sec, memory_mib_sec, energy_mj;
};

/* The cost in millionths of the currency, of the known amounts that have a
 * price; rounded once, half up. BJ_SQL_NULL: there are no such amounts, or it
 * is too large. For a sum of jobs add their amounts, not their costs. */
int64_t bj_cost(const struct bj_prices *p, const struct bj_paid *v);

/* Is the cost only a minimum, because an amount with a price is unknown? */
bool bj_cost_is_minimum(const struct bj_prices *p, const struct bj_paid *v);

/* The prices as values of SQL, in the order of struct bj_prices. */
#define BJ_SQL_PRICES                                                          \
    "(SELECT cpu_hour FROM price)", "(SELECT gpu_hour FROM price)",            \
        "(SELECT gib_hour FROM price)", "(SELECT kwh FROM price)"

/* Are jobs whose node failed free of charge? */
#define BJ_SQL_FAILED_NODES_FREE "(SELECT failed_nodes_free FROM price)"

/* The name of their currency. */
#define BJ_SQL_CURRENCY "(SELECT nullif(currency, '') FROM price)"

/* Read the prices from the store; BJ_SQL_NULL if there are none.  0 or an error
 * of the store. */
int bj_prices_read(struct bj_db *db, struct bj_prices *ret, struct bj_err *err);

/* Is there a price? */
bool bj_prices_are(const struct bj_prices *p);

/* Replace the prices in the store by those of the options.  0 or an error of
 * the store. */
int bj_prices_write(struct bj_store *s, const struct bj_report_conf *conf,
                    struct bj_err *err);

#endif
