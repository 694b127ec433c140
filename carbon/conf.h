/* Options of the emission factors, the same in all programs. */
#ifndef BJ_CARBON_CONF_H
#define BJ_CARBON_CONF_H

#include "base/opt.h"
#include "carbon/provider.h"
#include "carbon/table.h"

/* Providers and their settings.  Owned by the options. */
struct bj_carbon_conf {
    struct bj_strv providers; /* names in order of preference; none: "table" and
                                 "constant", if country and factor are set */
    char *country;            /* ISO 3166-1, two or three letters */
    struct bj_strv zones;     /* "PROVIDER=ZONE" */
    struct bj_strv token_files; /* "PROVIDER=PATH" */
    struct bj_strv urls;        /* "PROVIDER=URL", instead of the default */
    char *factor;  /* g/kWh in decimal, then maybe a blank and the kind */
    char *file;    /* factors of the site */
    char *ca_file; /* CAs to trust instead of the system's */
};

/* The option table; use with a struct bj_carbon_conf as base.  bj_carbon_plan
 * (carbon/plan.h) checks combinations. */
extern const struct bj_opt bj_carbon_opts[];

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
