/* Functions for the zones of all meters. */
#ifndef BJ_CORE_ENERGY_ZONE_H
#define BJ_CORE_ENERGY_ZONE_H

#include "core/energy/meter.h"

/* Initialise a zone with a name and role; all values are unknown. */
void bj_zone_init(struct bj_zone_sample *z, const char *name,
                  enum bj_zone_role role);

/* Append a zone to a reading; NULL: no room. */
struct bj_zone_sample *bj_zone_add(struct bj_meter_sample *out,
                                   const struct bj_zone_sample *z);

/* Make a zone's name from text: lower case, each run of invalid characters
 * becomes one '_', none at the end, cut to BJ_ZONE_NAME-1 bytes. */
void bj_zone_name(char dst[BJ_ZONE_NAME], struct bj_slice text);

/* Keep the first fault of a reading that continues with other zones: *first is
 * initially 0; e belongs to r (negative). */
void bj_zone_fault(int *first, struct bj_err *err, int r,
                   const struct bj_err *e);

#endif
