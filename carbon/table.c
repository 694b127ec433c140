#include "carbon/table.h"

#include <strings.h>

static const struct bj_country countries[] = {
#include "carbon/factors.inc"
};

enum { COUNTRIES = sizeof(countries) / sizeof(countries[0]) };

static bool table_same(struct bj_slice code, const char *iso)
{
    return strlen(iso) == code.n && strncasecmp(code.p, iso, code.n) == 0;
}

const struct bj_country *bj_carbon_country(struct bj_slice code)
{
    if (code.n < 2)
        return NULL;
    for (size_t i = 0; i < COUNTRIES; i++)
        if (table_same(code, countries[i].iso3) ||
            table_same(code, countries[i].iso2))
            return &countries[i];
    return NULL;
}

bool bj_carbon_country_factor(const struct bj_country *c, struct bj_factor *ret)
{
    if (c->mg_per_kwh == 0)
        return false;
    struct bj_factor f = {.provider = "table",
                          .kind = BJ_FACTOR_LIFECYCLE,
                          .from = BJ_FACTOR_YEAR,
                          .mg_per_kwh = c->mg_per_kwh,
                          .year = c->year};
    memcpy(f.zone, c->iso3, sizeof(c->iso3));
    memcpy(f.country, c->iso2, sizeof(c->iso2));
    *ret = f;
    return true;
}
