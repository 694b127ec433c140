/* Parses the responses of a Redfish service.
 *
 * Source: DMTF DSP0266 (protocol, sessions), DSP0268 (schemas Chassis, Power,
 * EnvironmentMetrics). */
#ifndef BJ_CORE_ENERGY_REDFISH_H
#define BJ_CORE_ENERGY_REDFISH_H

#include "base/err.h"
#include "base/json.h"
#include "base/slice.h"
#include "core/energy/meter.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    BJ_REDFISH_URI = 256, /* bytes of a path on the service, with its NUL */
    BJ_REDFISH_CHASSIS = 32,
};

/* A chassis, as far as power is concerned; paths that it lacks are "". */
struct bj_redfish_chassis {
    char uri[BJ_REDFISH_URI];
    char within[BJ_REDFISH_URI];      /* the chassis around it */
    char environment[BJ_REDFISH_URI]; /* EnvironmentMetrics */
    char power[BJ_REDFISH_URI];       /* Power */
};

/* Take a path from a response of the service.  Only absolute paths of printable
 * ASCII are taken, so that it can lead nowhere else: false for all others, and
 * *dst is then "". */
bool bj_redfish_uri(struct bj_slice s, char dst[BJ_REDFISH_URI]);

/* The last part of a path, which is the chassis' id: "1" of
 * "/redfish/v1/Chassis/1". */
struct bj_slice bj_redfish_id(const char *uri);

/* The paths in a collection's Members, at most max; how many there are.
 * Anything else is left out. next gets the next page of the collection, or "".
 */
size_t bj_redfish_members(const struct bj_json *doc,
                          char (*uri)[BJ_REDFISH_URI], size_t max,
                          char next[BJ_REDFISH_URI]);

/* A chassis but for its own path. */
void bj_redfish_links(const struct bj_json *doc, struct bj_redfish_chassis *c);

/* The power in EnvironmentMetrics or in Power, into the zone: power, limit,
 * and, from the former, energy.  -ENODATA: no power; -ERANGE: impossible;
 * -EBADMSG: not a number. */
int bj_redfish_environment(const struct bj_json *doc, struct bj_zone_sample *z,
                           struct bj_err *err);
int bj_redfish_power(const struct bj_json *doc, struct bj_zone_sample *z,
                     struct bj_err *err);

#endif
