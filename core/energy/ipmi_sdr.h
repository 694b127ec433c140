/* Sensor data records of watts, and the choice of those that measure the node.
 *
 * Source: IPMI v2.0 rev. 1.1, sections 43.1 (full sensor record), 36.3
 * (conversion), 43.15 (names), 43.14 (entities). */
#ifndef BJ_CORE_ENERGY_IPMI_SDR_H
#define BJ_CORE_ENERGY_IPMI_SDR_H

#include "base/err.h"
#include "core/energy/ipmi.h"
#include "core/energy/meter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BJ_SDR_MAX = 64,    /* bytes of a record that are used */
    BJ_SDR_FULL = 0x01, /* type of records that describe analog sensors */
    BJ_SDR_UNITS = 24,  /* first bytes of a record, up to the units */
};

/* The part of the node's power that a sensor measures. */
enum bj_sdr_part {
    BJ_SDR_OTHER,  /* a part of the node */
    BJ_SDR_INPUT,  /* input of a power supply */
    BJ_SDR_OUTPUT, /* output of a power supply */
    BJ_SDR_MAYBE,  /* power of the node by its type, but not by its name */
    BJ_SDR_TOTAL,  /* the whole node */
};

/* How to read a sensor and convert its raw byte to watts. */
struct bj_sdr_sensor {
    char name[BJ_ZONE_NAME];
    uint8_t owner, channel, lun,
        number;     /* the address of the sensor's controller */
    uint8_t format; /* 0 unsigned, 1 one's, 2 two's complement */
    uint8_t linearisation;
    int m, b, b_exp, r_exp;
    enum bj_sdr_part part;
    unsigned rank; /* of several totals the one with the lowest rank is used */
};

/* Is a record, of which at least BJ_SDR_UNITS bytes are given, a full sensor
 * record in plain watts? */
bool bj_sdr_watts(const uint8_t *record, size_t n);

/* Decode a whole record.  -ENOENT: not a sensor of watts, or one that cannot be
 * converted by a fixed formula.  -EBADMSG: it contradicts itself. */
int bj_sdr_decode(const uint8_t *record, size_t n, struct bj_sdr_sensor *ret,
                  struct bj_err *err);

/* Convert a raw byte to microwatts.  -ERANGE: not a possible power. */
int bj_sdr_convert(const struct bj_sdr_sensor *s, uint8_t raw, uint64_t *ret_uw,
                   struct bj_err *err);

/* Choose the sensors whose sum is the power of the node: those of *ret_part.
 * That is a total, the best one if there are several (the others then become
 * BJ_SDR_OTHER); else the inputs of power supplies; else BJ_SDR_MAYBE, if there
 * is only one; else the outputs.  Never inputs and outputs together.  False: no
 * sensor measures the node. */
bool bj_sdr_choose(struct bj_sdr_sensor *s, size_t n,
                   enum bj_sdr_part *ret_part);

/* Find all power sensors of the BMC, at most max.  Reads its repository in
 * pieces of the size that it accepts.  *ret_changed identifies the time of the
 * repository's last change, as the BMC encodes it (0: not reported).  -ENODEV:
 * the BMC has no records. */
int bj_sdr_scan(struct bj_ipmi *bmc, struct bj_sdr_sensor *s, size_t max,
                size_t *ret_n, uint64_t *ret_changed, struct bj_err *err);

#endif
