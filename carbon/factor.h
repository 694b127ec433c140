/* An emission factor: how many grams of CO2 equivalent a kilowatt-hour of
 * electricity stands for, where and when, and who says so. */
#ifndef BJ_CARBON_FACTOR_H
#define BJ_CARBON_FACTOR_H

#include "base/json.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* What is counted.  Values of different kinds differ by a factor of several
 * and are never put into one series. */
enum bj_factor_kind {
    BJ_FACTOR_LIFECYCLE, /* average, with building and fuel supply of plants */
    BJ_FACTOR_DIRECT,    /* average, only what leaves the stacks */
    BJ_FACTOR_MARGINAL,  /* of the plant that would follow one more kWh */
    BJ_FACTOR_KINDS
};

/* How the value came to hold for the time that was asked for, the best first.
 */
enum bj_factor_from {
    BJ_FACTOR_LIVE,    /* a provider's value that began less than 2 h ago */
    BJ_FACTOR_STATED,  /* a site's file names a longer period that holds now */
    BJ_FACTOR_PROFILE, /* same hour, a week or some days ago */
    BJ_FACTOR_YEAR,    /* the yearly table */
    BJ_FACTOR_CONSTANT /* the operator's constant */
};

enum {
    BJ_ZONE_MAX = 64,             /* bytes of a zone's name, with NUL */
    BJ_FACTOR_MG_MAX = 5000000,   /* a value above is no factor but an error */
    BJ_FACTOR_LIVE_SEC = 2 * 3600 /* a value lives so long from its start */
};

/* Credits that the licenses of the data require; part of the metric's and the
 * option's help. */
#define BJ_FACTOR_CREDITS                                                      \
    "Factors of table: Our World in Data (CC BY 4.0), adapted from Ember (CC " \
    "BY 4.0) and the Energy Institute Statistical Review of World Energy, as " \
    "packaged by CodeCarbon (MIT). Factors of neso: National Energy System "   \
    "Operator (CC BY 4.0)."

/* A factor.  A plain record: copies are whole. */
struct bj_factor {
    const char *provider; /* static: "rte", "table", ... */
    enum bj_factor_kind kind;
    enum bj_factor_from from;
    char zone[BJ_ZONE_MAX]; /* the provider's name of the grid; "" none */
    char country[3];        /* ISO 3166-1 alpha-2; "" unknown */
    uint32_t mg_per_kwh;    /* 1 to BJ_FACTOR_MG_MAX; g/kWh x 1000 */
    uint64_t start_sec;     /* since 1970; the period it was stated for: of a */
    uint64_t end_sec;       /* PROFILE the hour that was asked for; 0, 0 none */
    unsigned year;          /* of YEAR; 0 otherwise */
    bool estimated;         /* forecast, estimate or profile */
    uint64_t fetched_sec;   /* when we learnt it; 0: built in or configured */
};

/* "average_lifecycle", "average_direct", "marginal". */
const char *bj_factor_kind_name(enum bj_factor_kind kind);
/* The kind of that name; -EINVAL when there is none. */
int bj_factor_kind_parse(struct bj_slice s, enum bj_factor_kind *ret);

/* Milligrams if they are a factor at all: 1 to BJ_FACTOR_MG_MAX.  -ERANGE
 * otherwise: 0 and below mean "unknown" to those who publish factors, and far
 * above lie errors of units.  *ret is untouched on failure in all of these. */
int bj_factor_check(int64_t mg, uint32_t *ret);

/* From grams per kWh in decimal, as text (bj_decimal_i64 says which) and as a
 * value of JSON, number or string; rounded to the nearest milligram.  -ENOENT
 * when there is none or null, -EINVAL when it is no number, -ERANGE. */
int bj_factor_grams(struct bj_slice text, uint32_t *ret);
int bj_factor_json(const struct bj_json *v, uint32_t *ret);

/* The same from pounds per MWh; a pound is 0.45359237 kg. */
int bj_factor_json_pounds(const struct bj_json *v, uint32_t *ret);

#endif
