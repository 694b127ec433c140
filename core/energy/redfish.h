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

/* The paths of a chassis that are related to power; missing ones are "". */
struct bj_redfish_chassis {
    char uri[BJ_REDFISH_URI];
    char within[BJ_REDFISH_URI];      /* the chassis that contains it */
    char environment[BJ_REDFISH_URI]; /* EnvironmentMetrics */
    char power[BJ_REDFISH_URI];       /* Power */
};

/* Copy a path from a response of the service.  Only absolute paths of printable
 * ASCII are accepted, so that it cannot lead to another server: false for all
 * others, and dst is then "". */
bool bj_redfish_uri(struct bj_slice s, char dst[BJ_REDFISH_URI]);

/* The last part of a path, which is the id of the chassis: "1" of
 * "/redfish/v1/Chassis/1". */
struct bj_slice bj_redfish_id(const char *uri);

/* Copy the paths in a collection's Members, at most max; returns their number.
 * Other members are left out.  next becomes the path of the collection's next
 * page, or "". */
size_t bj_redfish_members(const struct bj_json *doc,
                          char (*uri)[BJ_REDFISH_URI], size_t max,
                          char next[BJ_REDFISH_URI]);

/* Set the paths of a chassis, except its own. */
void bj_redfish_links(const struct bj_json *doc, struct bj_redfish_chassis *c);

/* Read EnvironmentMetrics or Power into the zone: power, limit and, only from
 * the former, energy.  -ENODATA: no power; -ERANGE: impossible; -EBADMSG: not a
 * number. */
int bj_redfish_environment(const struct bj_json *doc, struct bj_zone_sample *z,
                           struct bj_err *err);
int bj_redfish_power(const struct bj_json *doc, struct bj_zone_sample *z,
                     struct bj_err *err);

#endif
