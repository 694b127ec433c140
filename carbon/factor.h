/* An emission factor: grams of CO2 equivalent per kilowatt-hour of electricity,
 * with place, time and source. */
#ifndef BJ_CARBON_FACTOR_H
#define BJ_CARBON_FACTOR_H

#include "base/json.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* The kind of emissions.  Values of different kinds differ several times and
 * are never mixed in one series. */
enum bj_factor_kind {
    BJ_FACTOR_LIFECYCLE, /* average, with construction and fuel supply of plants
                          */
    BJ_FACTOR_DIRECT,    /* average, only emissions of the running plants */
    BJ_FACTOR_MARGINAL,  /* of the plant that supplies one more kWh */
    BJ_FACTOR_KINDS
};

/* How the value for a time was found, the best first. */
enum bj_factor_from {
    BJ_FACTOR_LIVE,    /* a provider's value, started less than 2 h before */
    BJ_FACTOR_STATED,  /* a value of a longer period, from the site's file */
    BJ_FACTOR_PROFILE, /* same hour, a week or some days earlier */
    BJ_FACTOR_YEAR,    /* the yearly table */
    BJ_FACTOR_CONSTANT /* the configured constant */
};

enum {
    BJ_ZONE_MAX = 64,             /* bytes of a zone's name, with NUL */
    BJ_FACTOR_MG_MAX = 5000000,   /* values above are errors */
    BJ_FACTOR_LIVE_SEC = 2 * 3600 /* how long a value is live, from its start */
};

/* Credits that the licences of the data require; part of the help of metric and
 * option. */
#define BJ_FACTOR_CREDITS                                                      \
    "Factors of table: Our World in Data (CC BY 4.0), adapted from Ember (CC " \
    "BY 4.0) and the Energy Institute Statistical Review of World Energy, as " \
    "packaged by CodeCarbon (MIT). Factors of neso: National Energy System "   \
    "Operator (CC BY 4.0)."

/* A factor.  A plain record that may be copied. */
struct bj_factor {
    const char *provider; /* static: "rte", "table", ... */
    enum bj_factor_kind kind;
    enum bj_factor_from from;
    char zone[BJ_ZONE_MAX]; /* the provider's name of the grid; "": none */
    char country[3];        /* ISO 3166-1 alpha-2; "" unknown */
    uint32_t mg_per_kwh;    /* 1 to BJ_FACTOR_MG_MAX; g/kWh x 1000 */
    uint64_t start_sec;     /* since 1970; the period of the value: of a */
    uint64_t end_sec;       /* PROFILE the requested hour; 0, 0 none */
    unsigned year;          /* of YEAR; 0 otherwise */
    bool estimated;         /* forecast, estimate or profile */
    uint64_t fetched_sec; /* when it was received; 0: built in or configured */
};

/* "average_lifecycle", "average_direct", "marginal". */
const char *bj_factor_kind_name(enum bj_factor_kind kind);
/* The kind of that name; -EINVAL: unknown. */
int bj_factor_kind_parse(struct bj_slice s, enum bj_factor_kind *ret);

/* Check milligrams: 1 to BJ_FACTOR_MG_MAX.  -ERANGE otherwise: publishers use 0
 * and below for "unknown", and values far above have wrong units.  *ret is
 * unchanged on failure in all of these. */
int bj_factor_check(int64_t mg, uint32_t *ret);

/* From grams per kWh in decimal, as text (bj_decimal_i64 describes it) and as a
 * value of JSON, number or string; rounded to the nearest milligram.  -ENOENT:
 * missing or null, -EINVAL: not a number, -ERANGE. */
int bj_factor_grams(struct bj_slice text, uint32_t *ret);
int bj_factor_json(const struct bj_json *v, uint32_t *ret);

/* The same from pounds per MWh; a pound is 0.45359237 kg. */
int bj_factor_json_pounds(const struct bj_json *v, uint32_t *ret);

#endif
