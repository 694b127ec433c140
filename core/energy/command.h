/* The power of the node from the output of other programs. */
#ifndef BJ_CORE_ENERGY_COMMAND_H
#define BJ_CORE_ENERGY_COMMAND_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* Find the watts in the output of a command: "Current Power : 332 Watts"
 * (freeipmi), "Instantaneous power reading: 332 Watts" (ipmitool), or a number
 * alone, with or without its unit.  -EBADMSG: no watts in it, or those of
 * several hosts; -ENODATA: it reports that power is not measured; -ERANGE: not
 * plausible. */
struct bj_power_form {
    bool prefix;   /* lines begin with a host, "node17: Current Power ..."
                      (ipmi-dcmi --always-prefix) */
    bool inactive; /* power that is marked as deactivated counts */
};
int bj_power_output(struct bj_slice out, const struct bj_power_form *form,
                    uint64_t *ret_uw, struct bj_err *err);

#endif
