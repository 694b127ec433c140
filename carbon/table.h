/* Yearly average factors by country, compiled in from carbon/factors.csv: for
 * machines without network access. */
#ifndef BJ_CARBON_TABLE_H
#define BJ_CARBON_TABLE_H

#include "carbon/factor.h"

/* A country or territory. */
struct bj_country {
    char iso3[4], iso2[3]; /* ISO 3166-1 */
    unsigned year;         /* of the value */
    uint32_t mg_per_kwh;   /* average_lifecycle; 0: unknown */
    const char *name;      /* English */
};

/* The country with this ISO 3166-1 code of two or three letters, in upper or
 * lower case; NULL: unknown. */
const struct bj_country *bj_carbon_country(struct bj_slice code);

/* The table's factor of a country; false: none. */
bool bj_carbon_country_factor(const struct bj_country *c,
                              struct bj_factor *ret);

#endif
