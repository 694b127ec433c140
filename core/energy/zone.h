/* What every meter does with its zones. */
#ifndef BJ_CORE_ENERGY_ZONE_H
#define BJ_CORE_ENERGY_ZONE_H

#include "core/energy/meter.h"

/* A zone about which nothing is known but its name and role. */
void bj_zone_init(struct bj_zone_sample *z, const char *name,
                  enum bj_zone_role role);

/* Append a zone to a reading; NULL when there is no room. */
struct bj_zone_sample *bj_zone_add(struct bj_meter_sample *out,
                                   const struct bj_zone_sample *z);

/* Make a zone's name of text: lower case, and every run of characters that may
 * not be in a name is one '_'; none at the end; cut to BJ_ZONE_NAME-1. */
void bj_zone_name(char dst[BJ_ZONE_NAME], struct bj_slice text);

/* Keep the first fault of a reading that continues with its other zones: *first
 * is 0 until then, e belongs to r (negative). */
void bj_zone_fault(int *first, struct bj_err *err, int r,
                   const struct bj_err *e);

#endif
