/* Finding the chips of /sys/class/hwmon.  Internal to hwmon.c. */
#ifndef BJ_CORE_ENERGY_HWMON_CHIP_H
#define BJ_CORE_ENERGY_HWMON_CHIP_H

#include "core/energy/meter.h"

enum { BJ_HWMON_CHANNELS = 64 }; /* of a chip and kind, at most */

struct bj_hwmon_chip {
    unsigned number; /* of hwmonN, which changes from boot to boot */
    int dir;         /* where its attributes are; the caller closes it */
    char name[BJ_ZONE_NAME];   /* of the driver; "chip" where it has none */
    char device[BJ_ZONE_NAME]; /* the last part of the device's path, or
                                  hwmonN */
};

/* Open hwmonN below class_dir.  -ENODEV when it is of no use here (graphics
 * cards are read, and given to jobs, by other means), or -errno. */
int bj_hwmon_chip_open(int class_dir, unsigned number,
                       struct bj_hwmon_chip *ret);

/* The numbers of channels with that attribute: "power", "_input".  How many, or
 * -errno. */
int bj_hwmon_channels(int dir, const char *what, const char *end,
                      unsigned ret[BJ_HWMON_CHANNELS]);

/* Whether it has attributes of power or energy: 1, 0, or -errno. */
int bj_hwmon_has_sensors(int dir);

#endif
