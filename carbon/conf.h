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
    char *factor;  /* g/kWh in decimal, then maybe a blank and the kind */
    char *file;    /* factors of the site */
    char *ca_file; /* CAs to trust instead of the system's */
};

/* The option table; use with a struct bj_carbon_conf as base.  bj_carbon_plan
 * (carbon/plan.h) checks combinations. */
extern const struct bj_opt bj_carbon_opts[];

#endif
