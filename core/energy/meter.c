#include "core/energy/meter.h"

#include <stdio.h>

void bj_zone_init(struct bj_zone_sample *z, const char *name,
                  enum bj_zone_role role)
{
    *z = (struct bj_zone_sample){.role = role,
                                 .energy_uj = BJ_ABSENT,
                                 .range_uj = BJ_ABSENT,
                                 .power_uw = BJ_ABSENT,
                                 .limit_uw = BJ_ABSENT,
                                 .max_uw = BJ_ABSENT,
                                 .stamp_usec = BJ_ABSENT};
    bj_zone_name(z->name, bj_slice_str(name));
}

struct bj_zone_sample *bj_zone_add(struct bj_meter_sample *out,
                                   const struct bj_zone_sample *z)
{
    if (out->n == BJ_ZONES_MAX)
        return NULL;
    out->zone[out->n] = *z;
    return &out->zone[out->n++];
}

/* A character of a name in lower case; '_' for invalid ones. */
static char lower(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c + ('a' - 'A'));
    bool fit = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
               c == '-';
    return fit ? c : '_';
}

void bj_zone_name(char dst[BJ_ZONE_NAME], struct bj_slice text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n && n < BJ_ZONE_NAME - 1; i++) {
        char c = lower(text.p[i]);
        if (c != '_' || (n > 0 && dst[n - 1] != '_'))
            dst[n++] = c;
    }
    while (n > 0 && dst[n - 1] == '_')
        n--;
    dst[n] = '\0';
}

void bj_zone_fault(int *first, struct bj_err *err, int r,
                   const struct bj_err *e)
{
    if (*first < 0)
        return;
    *first = r;
    if (err)
        *err = *e;
}
