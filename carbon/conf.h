/* Options of the emission factors, the same in every program that wants them.
 */
#ifndef BJ_CARBON_CONF_H
#define BJ_CARBON_CONF_H

#include "base/opt.h"

/* Which sources are asked, and with what.  Owned by the options. */
struct bj_carbon_conf {
    struct bj_strv providers;   /* names, the preferred first; none: "table"
                                   and "constant", as far as they are given */
    char *country;              /* ISO 3166-1, two or three letters */
    struct bj_strv zones;       /* "PROVIDER=ZONE" */
    struct bj_strv token_files; /* "PROVIDER=PATH" */
    struct bj_strv urls;        /* "PROVIDER=URL", instead of its own */
    char *factor;               /* g/kWh in decimal */
    char *factor_kind;          /* what it counts */
    char *file;                 /* where the site drops its factors */
    uint64_t file_age_usec;     /* an older file does not count; 0: any */
    char *cache;                /* where replies are kept; none: nowhere */
    uint64_t period_usec;  /* between questions; 0: as each provider says */
    uint64_t timeout_usec; /* of one question */
    char *ca_file;         /* certificates to trust instead of the system's */
};

/* The option table; use with a struct bj_carbon_conf as base.  What belongs
 * together is checked by bj_carbon_plan (carbon/plan.h). */
extern const struct bj_opt bj_carbon_opts[];

#endif
