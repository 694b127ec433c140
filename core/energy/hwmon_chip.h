/* Finding the chips of /sys/class/hwmon.  Internal to hwmon.c. */
#ifndef BJ_CORE_ENERGY_HWMON_CHIP_H
#define BJ_CORE_ENERGY_HWMON_CHIP_H

#include "core/energy/meter.h"

enum { BJ_HWMON_CHANNELS = 64 }; /* maximum number for a chip and kind */

struct bj_hwmon_chip {
    unsigned number; /* of hwmonN, which changes from boot to boot */
    int dir;         /* directory of its attributes; the caller closes it */
    char name[BJ_ZONE_NAME];   /* of the driver; "chip" if it has none */
    char device[BJ_ZONE_NAME]; /* the last part of the device's path, or
                                  hwmonN */
};

/* Open hwmonN below class_dir.  -ENODEV if it is not used here (graphics cards
 * are read elsewhere), or -errno. */
int bj_hwmon_chip_open(int class_dir, unsigned number,
                       struct bj_hwmon_chip *ret);

/* List the numbers of channels with an attribute ("power", "_input").  Returns
 * their number, or -errno. */
int bj_hwmon_channels(int dir, const char *what, const char *end,
                      unsigned ret[BJ_HWMON_CHANNELS]);

/* Whether it has attributes of power or energy: 1, 0, or -errno. */
int bj_hwmon_has_sensors(int dir);

#endif
