/* Power meters in the dialects: mapping of our zones to those of the originals.
 * Private to the dialects. */
#ifndef BJ_CORE_VIEW_DIALECT_ENERGY_H
#define BJ_CORE_VIEW_DIALECT_ENERGY_H

#include "core/view/dialect_tables.h"

/* Zone names of the meter rapl, and the index that the originals give them: the
 * package number. A node has at most eight. */
extern const struct bj_dialect_word bj_rapl_packages[], bj_rapl_drams[],
    bj_rapl_cores[], bj_rapl_uncores[], bj_rapl_psys[];

/* A field of a meter's zone; meter and zone are patterns. */
#define BJ_ZONE(field, meter, zone)                                            \
    BJ_IN_SNAPS(zones, bj_zone_stat, field), .only = {meter, zone}

/* Power of the node from its BMC, or from a command that queries it. */
extern const struct bj_dialect_word bj_dcmi_meters[];
#define BJ_DCMI                                                                \
    BJ_ZONE(power_uw, NULL, "node"), BJ_UNIT(MICRO),                           \
        .words = bj_dcmi_meters, .words_only = true, .first = true

#define BJ_RAPL_OF(field, zone_words)                                          \
    BJ_ZONE(field, "rapl", NULL), BJ_UNIT(MICRO),                              \
        .key = {NULL, "index"}, .words = (zone_words), .word = 1,              \
        .words_only = true
#define BJ_RAPL(zone_words) BJ_RAPL_OF(energy_uj, zone_words)

#endif
