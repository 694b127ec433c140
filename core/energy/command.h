/* The power of the node from the output of other programs. */
#ifndef BJ_CORE_ENERGY_COMMAND_H
#define BJ_CORE_ENERGY_COMMAND_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

/* Find the watts in the output of a command: "Current Power : 332 Watts"
 * (freeipmi), "Instantaneous power reading: 332 Watts" (ipmitool), or a number
 * alone, with or without its unit.  -EBADMSG: no watts in it; -ENODATA: it
 * reports that power is not measured; -ERANGE: not plausible. */
int bj_power_output(struct bj_slice out, uint64_t *ret_uw, struct bj_err *err);

#endif
