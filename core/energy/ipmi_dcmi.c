/* DCMI's power reading: the whole node, in watts.
 *
 * Source: DCMI v1.5, sections 6.6.1 (Get Power Reading), 6.6.2 (Get Power
 * Limit); freeipmi and ipmitool, which use it the same way. */
#include "core/energy/ipmi.h"
#include "core/energy/meter.h"

#include <stdlib.h>

enum {
    NETFN_GROUP = 0x2c,
    GROUP_DCMI = 0xdc,
    GET_READING = 0x02,
    GET_LIMIT = 0x03,
    READING_BYTES = 19,
    LIMIT_BYTES = 8, /* bytes of the limit that are used */
    STATE_ACTIVE = 0x40,
};

struct dcmi {
    struct bj_ipmi *bmc;
    bool inactive; /* readings that are not active count */
    bool no_limit; /* the BMC does not report limits */
};

/* Minimum, maximum and average in the reply are not used: they cover a time
 * that the BMC chooses, and some BMCs never fill them in. */
int bj_dcmi_decode(const struct bj_ipmi_reply *reply, bool inactive,
                   uint64_t *ret_watts, struct bj_err *err)
{
    const uint8_t *b = reply->b;
    if (reply->n < READING_BYTES)
        return bj_err_set(err, -EBADMSG, "DCMI power reading: %zu bytes",
                          reply->n);
    if (b[1] != GROUP_DCMI)
        return bj_err_set(err, -EBADMSG,
                          "DCMI power reading: group 0x%02X instead of 0xDC",
                          b[1]);
    /* Only this bit: some BMCs set other bits of the byte. */
    if (!inactive && !(b[18] & STATE_ACTIVE))
        return bj_err_set(err, -ENODATA,
                          "DCMI power reading: measurement is not active");
    uint64_t watts = bj_ipmi_le(b + 2, 2);
    int r = bj_ipmi_plausible(watts, err);
    if (r < 0)
        return bj_err_wrap(err, r, "DCMI power reading");
    *ret_watts = watts;
    return 0;
}

static int ipmi_dcmi_reading(struct dcmi *d, struct bj_ipmi_reply *reply,
                             uint64_t *ret_watts, struct bj_err *err)
{
    static const uint8_t data[] = {GROUP_DCMI, 0x01, 0x00, 0x00};
    const struct bj_ipmi_send request = {
        .what = "DCMI power reading",
        .netfn = NETFN_GROUP,
        .cmd = GET_READING,
        .data = data,
        .n = sizeof(data),
    };
    int r = bj_ipmi_send(d->bmc, &request, reply, err);
    return r < 0 ? r : bj_dcmi_decode(reply, d->inactive, ret_watts, err);
}

/* Read the active power limit, if any.  If the BMC refuses, the limit is not
 * requested again; only a missing response is a fault. */
static int limit(struct dcmi *d, uint64_t *ret_uw, struct bj_err *err)
{
    static const uint8_t data[] = {GROUP_DCMI, 0x00, 0x00};
    const struct bj_ipmi_send request = {
        .what = "DCMI power limit",
        .netfn = NETFN_GROUP,
        .cmd = GET_LIMIT,
        .data = data,
        .n = sizeof(data),
    };
    struct bj_ipmi_reply reply;
    struct bj_err why = {0};
    if (d->no_limit)
        return 0;
    int r = bj_ipmi_send(d->bmc, &request, &reply, &why);
    if (reply.n == 0 || r == -ETIMEDOUT)
        return bj_err_copy(err, r, &why);
    if (reply.b[0] == BJ_IPMI_NOT_ACTIVE)
        return 0;
    d->no_limit = r < 0 || reply.n < LIMIT_BYTES || reply.b[1] != GROUP_DCMI;
    if (d->no_limit)
        return 0;
    uint64_t watts = bj_ipmi_le(reply.b + 5, 2);
    if (watts > 0 && watts < UINT16_MAX)
        *ret_uw = watts * 1000000;
    return 0;
}

static void dcmi_close(void *m)
{
    struct dcmi *d = m;
    bj_ipmi_close(d->bmc);
    free(d);
}

static int dcmi_read(void *m, struct bj_meter_sample *out, struct bj_err *err)
{
    struct bj_ipmi_reply reply;
    uint64_t watts;
    int r = ipmi_dcmi_reading(m, &reply, &watts, err);
    if (r < 0)
        return r;
    struct bj_zone_sample z;
    bj_zone_init(&z, "node", BJ_ZONE_NODE);
    z.power_uw = watts * 1000000;
    r = limit(m, &z.limit_uw, err);
    bj_zone_add(out, &z);
    return r;
}

int bj_dcmi_open(const struct bj_meter_env *env, const struct bj_ipmi_sys *sys,
                 void **ret, struct bj_err *err)
{
    struct bj_ipmi_reply reply;
    uint64_t watts;
    struct dcmi *d = calloc(1, sizeof(*d));
    if (!d)
        return bj_err_set(err, -ENOMEM, "DCMI");
    d->inactive = env->conf->ipmi_inactive;
    int r = bj_ipmi_open(env, sys, &d->bmc, err);
    if (r == 0) {
        r = bj_ipmi_missing(ipmi_dcmi_reading(d, &reply, &watts, err), &reply);
        if (r == -ENODATA)
            r = -ENODEV; /* another meter may work where DCMI does not */
    }
    if (r < 0) {
        dcmi_close(d);
        return r;
    }
    *ret = d;
    return 0;
}

static int dcmi_open(const struct bj_meter_env *env, void **ret,
                     struct bj_err *err)
{
    return bj_dcmi_open(env, &bj_ipmi_kernel, ret, err);
}

const struct bj_meter_kind bj_meter_ipmi_dcmi = {
    .name = "ipmi_dcmi",
    .slow = true,
    .present = bj_ipmi_present,
    .open = dcmi_open,
    .read = dcmi_read,
    .close = dcmi_close,
    .reads = "DCMI Get Power Reading; Get Power Limit",
    .reports = "whole watts, the active limit",
    .automatic = "yes",
};
