/* The options of the emission factors, checked and combined. */
#ifndef BJ_CARBON_PLAN_H
#define BJ_CARBON_PLAN_H

#include "carbon/conf.h"
#include "carbon/provider.h"
#include "carbon/table.h"

enum { BJ_CARBON_SLOTS = 8 }; /* most providers in use */

/* A provider in use.  Strings belong to the options or are static. */
struct bj_carbon_slot {
    const struct bj_carbon_provider *provider;
    char zone[BJ_ZONE_MAX]; /* "" none */
    char country[3];        /* ISO 3166-1 alpha-2, "" unknown */
    const char *origin;     /* of source BJ_CARBON_HTTP */
    const char *token_file; /* NULL: none */
    uint64_t period_sec;
};

struct bj_carbon_plan {
    struct bj_carbon_slot v[BJ_CARBON_SLOTS]; /* in order of preference */
    size_t n;
    const struct bj_country *country; /* NULL: not given */
    struct bj_factor constant;        /* mg_per_kwh 0: none */
};

/* Is any provider configured?  If none is required, there may be no plan. */
bool bj_carbon_wanted(const struct bj_carbon_conf *conf);

/* Make a plan.  The options must outlive it.  -EINVAL with a message that names
 * the option, its value and what was expected: a setting is missing,
 * superfluous or malformed.  Opens no file and sends no request. */
int bj_carbon_plan(const struct bj_carbon_conf *conf,
                   struct bj_carbon_plan *ret, struct bj_err *err);

#endif
