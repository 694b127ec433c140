/* Options of the emission factors, the same in all programs. */
#ifndef BJ_CARBON_CONF_H
#define BJ_CARBON_CONF_H

#include "base/opt.h"

/* Providers and their settings.  Owned by the options. */
struct bj_carbon_conf {
    struct bj_strv providers; /* names in order of preference; none: "table" and
                                 "constant", if country and factor are set */
    char *country;            /* ISO 3166-1, two or three letters */
    struct bj_strv zones;     /* "PROVIDER=ZONE" */
    struct bj_strv token_files; /* "PROVIDER=PATH" */
    struct bj_strv urls;        /* "PROVIDER=URL", instead of the default */
    char *factor;               /* g/kWh in decimal */
    char *factor_kind;          /* kind of factor */
    char *file;                 /* factors of the site */
    uint64_t file_age_usec;     /* ignore an older file; 0: any age */
    char *cache;                /* keeps replies; none: no cache */
    uint64_t period_usec;  /* interval of queries; 0: the provider's default */
    uint64_t timeout_usec; /* of one query */
    char *ca_file;         /* CAs to trust instead of the system's */
};

/* The option table; use with a struct bj_carbon_conf as base.  bj_carbon_plan
 * (carbon/plan.h) checks combinations. */
extern const struct bj_opt bj_carbon_opts[];

#endif
