/* Intel Node Manager: the power of the platform, in watts, from the management
 * engine, which is on a bus of the BMC.
 *
 * Source: Intel Node Manager 3.0 external interface, Get Node Manager
 * Statistics (C8h); EAR energy_inm_power.c, ipmitool ipmi_dcmi.c, which use it
 * the same way. */
#include "core/energy/ipmi.h"
#include "core/energy/meter.h"

#include <stdlib.h>
#include <string.h>

enum {
    NETFN_OEM = 0x2e,
    GET_STATISTICS = 0xc8,
    ENGINE = 0x2c, /* address of the management engine */
    STATISTICS_BYTES = 20,
    STATE_MEASURING = 0x40, /* in the next byte, if it is sent */
    NONSENSE = 10,          /* times the maximum */
};

#define INTEL 0x57, 0x01, 0x00 /* 343, low byte first */

/* The bus has number 0 on most boards, 6 on Intel's own. */
static const uint8_t channels[] = {0, 6};

struct nm {
    struct bj_ipmi *bmc;
    uint8_t channel;
};

int bj_nm_decode(const struct bj_ipmi_reply *reply, uint64_t *ret_watts,
                 struct bj_err *err)
{
    static const uint8_t intel[] = {INTEL};
    const uint8_t *b = reply->b;
    if (reply->n < STATISTICS_BYTES)
        return bj_err_set(err, -EBADMSG, "Node Manager: %zu bytes", reply->n);
    if (memcmp(b + 1, intel, sizeof(intel)) != 0)
        return bj_err_set(err, -EBADMSG,
                          "Node Manager: the answer is not Intel's");
    if (reply->n > STATISTICS_BYTES && !(b[20] & STATE_MEASURING))
        return bj_err_set(err, -ENODATA, "Node Manager: not measuring");
    uint64_t watts = bj_ipmi_le(b + 4, 2), max = bj_ipmi_le(b + 8, 2);
    int r = bj_ipmi_plausible(watts, err);
    if (r < 0)
        return bj_err_wrap(err, r, "Node Manager");
    if (max > 0 && watts > NONSENSE * max)
        return bj_err_set(err, -ERANGE,
                          "Node Manager: %u W, above its own maximum of %u W",
                          (unsigned)watts, (unsigned)max);
    *ret_watts = watts;
    return 0;
}

static int ipmi_nm_reading(struct nm *nm, struct bj_ipmi_reply *reply,
                           uint64_t *ret_watts, struct bj_err *err)
{
    /* mode: power; domain: whole platform; no policy */
    static const uint8_t data[] = {INTEL, 0x01, 0x00, 0x00};
    const struct bj_ipmi_send request = {
        .what = "Node Manager",
        .netfn = NETFN_OEM,
        .cmd = GET_STATISTICS,
        .slave = ENGINE,
        .channel = nm->channel,
        .data = data,
        .n = sizeof(data),
    };
    int r = bj_ipmi_send(nm->bmc, &request, reply, err);
    return r < 0 ? r : bj_nm_decode(reply, ret_watts, err);
}

static void nm_close(void *m)
{
    struct nm *nm = m;
    bj_ipmi_close(nm->bmc);
    free(nm);
}

static int nm_read(void *m, struct bj_meter_sample *out, struct bj_err *err)
{
    struct bj_ipmi_reply reply;
    uint64_t watts;
    int r = ipmi_nm_reading(m, &reply, &watts, err);
    if (r < 0)
        return r;
    struct bj_zone_sample z;
    bj_zone_init(&z, "node", BJ_ZONE_NODE);
    z.power_uw = watts * 1000000;
    bj_zone_add(out, &z);
    return 0;
}

/* A request to an address without a device may get no response. This is not
 * an error while the BMC itself responds. */
static int ipmi_nm_find(struct nm *nm, bool forced, struct bj_err *err)
{
    struct bj_ipmi_reply reply;
    struct bj_ipmi_id id;
    uint64_t watts;
    int r = bj_ipmi_identify(nm->bmc, &id, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < sizeof(channels); i++) {
        nm->channel = channels[i];
        r = bj_ipmi_missing(ipmi_nm_reading(nm, &reply, &watts, err), &reply);
        if (r != -ENODEV && r != -ETIMEDOUT)
            break;
    }
    bool absent = r == -ENODATA || (r == -ETIMEDOUT && !forced);
    return absent ? bj_err_set(err, -ENODEV, "no Node Manager") : r;
}

int bj_nm_open(const struct bj_meter_env *env, const struct bj_ipmi_sys *sys,
               void **ret, struct bj_err *err)
{
    struct nm *nm = calloc(1, sizeof(*nm));
    if (!nm)
        return bj_err_set(err, -ENOMEM, "Node Manager");
    int r = bj_ipmi_open(env, sys, &nm->bmc, err);
    if (r == 0)
        r = ipmi_nm_find(nm, env->forced, err);
    if (r < 0) {
        nm_close(nm);
        return r;
    }
    *ret = nm;
    return 0;
}

static int nm_open(const struct bj_meter_env *env, void **ret,
                   struct bj_err *err)
{
    return bj_nm_open(env, &bj_ipmi_kernel, ret, err);
}

const struct bj_meter_kind bj_meter_ipmi_nm = {
    .name = "ipmi_nm",
    .slow = true,
    .present = bj_ipmi_present,
    .open = nm_open,
    .read = nm_read,
    .close = nm_close,
    .reads = "Intel Node Manager, behind the BMC at 2Ch",
    .reports = "whole watts",
    .automatic = "yes",
};
