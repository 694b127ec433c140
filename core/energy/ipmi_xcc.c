/* Lenovo's controller (XCC) of dense water-cooled nodes: an energy counter in
 * the first generation, fine power samples in the second.
 *
 * Source: Slurm acct_gather_energy/xcc, whose offsets are one higher, since its
 * library prepends the command. */
#include "core/energy/ipmi.h"
#include "core/energy/meter.h"

#include <stdlib.h>

enum {
    LENOVO = 19046, /* IANA enterprise number */
    NETFN_OEM = 0x3a,
    GET_ENERGY = 0x32,
    FIRST_BYTES = 15,
    SECOND_BYTES = 39,
};

struct xcc {
    struct bj_ipmi *bmc;
};

/* completion code, u16 place in a queue, u32 J, u16 mJ, u32 s, u16 ms */
static int ipmi_xcc_first(const uint8_t *b, uint64_t *ret_uj,
                          struct bj_err *err)
{
    uint64_t j = bj_ipmi_le(b + 3, 4), mj = bj_ipmi_le(b + 7, 2);
    if (mj > 999 || (j == 0 && mj == 0))
        return bj_err_set(err, -ERANGE,
                          "XCC energy: %u J and %u mJ is not plausible",
                          (unsigned)j, (unsigned)mj);
    *ret_uj = j * 1000000 + mj * 1000;
    return 0;
}

/* completion code, u16 samples, u32 W and u16 mW: their sum, ... */
static int second(const uint8_t *b, uint64_t *ret_uw, struct bj_err *err)
{
    uint64_t n = bj_ipmi_le(b + 1, 2);
    if (n == 0)
        return bj_err_set(err, -ENODATA, "XCC power: no samples");
    uint64_t uw = (bj_ipmi_le(b + 3, 4) * UINT64_C(1000000) +
                   bj_ipmi_le(b + 7, 2) * UINT64_C(1000)) /
                  n;
    int r = bj_ipmi_plausible(uw / 1000000, err);
    if (r < 0)
        return bj_err_wrap(err, r, "XCC power");
    *ret_uw = uw;
    return 0;
}

int bj_xcc_decode(const struct bj_ipmi_reply *reply, uint64_t *ret_uj,
                  uint64_t *ret_uw, struct bj_err *err)
{
    *ret_uj = *ret_uw = BJ_ABSENT;
    if (reply->n == FIRST_BYTES)
        return ipmi_xcc_first(reply->b, ret_uj, err);
    if (reply->n == SECOND_BYTES)
        return second(reply->b, ret_uw, err);
    return bj_err_set(err, -EBADMSG, "XCC energy: %zu bytes", reply->n);
}

static int ipmi_xcc_reading(struct xcc *x, struct bj_ipmi_reply *reply,
                            uint64_t *ret_uj, uint64_t *ret_uw,
                            struct bj_err *err)
{
    static const uint8_t data[] = {0x04, 0x02, 0x00, 0x00, 0x00};
    const struct bj_ipmi_send request = {
        .what = "XCC energy",
        .netfn = NETFN_OEM,
        .cmd = GET_ENERGY,
        .data = data,
        .n = sizeof(data),
    };
    int r = bj_ipmi_send(x->bmc, &request, reply, err);
    return r < 0 ? r : bj_xcc_decode(reply, ret_uj, ret_uw, err);
}

static void xcc_close(void *m)
{
    struct xcc *x = m;
    bj_ipmi_close(x->bmc);
    free(x);
}

static int xcc_read(void *m, struct bj_meter_sample *out, struct bj_err *err)
{
    struct bj_ipmi_reply reply;
    uint64_t uj, uw;
    int r = ipmi_xcc_reading(m, &reply, &uj, &uw, err);
    if (r < 0)
        return r;
    struct bj_zone_sample z;
    bj_zone_init(&z, "node", BJ_ZONE_NODE);
    z.energy_uj = uj;
    z.power_uw = uw;
    if (uj != BJ_ABSENT)
        z.range_uj = UINT32_MAX * UINT64_C(1000000) + 999000;
    bj_zone_add(out, &z);
    return 0;
}

/* The command is specific to Lenovo, and its effect on BMCs of other vendors is
 * unknown: they get it only if the configuration names this meter. */
static int ipmi_xcc_find(struct xcc *x, bool forced, struct bj_err *err)
{
    struct bj_ipmi_reply reply;
    struct bj_ipmi_id id;
    uint64_t uj, uw;
    int r = bj_ipmi_identify(x->bmc, &id, err);
    if (r < 0)
        return r;
    if (id.manufacturer != LENOVO && !forced)
        return bj_err_set(err, -ENODEV, "the BMC is not Lenovo's");
    r = bj_ipmi_missing(ipmi_xcc_reading(x, &reply, &uj, &uw, err), &reply);
    return r == -ENODATA ? -ENODEV : r;
}

int bj_xcc_open(const struct bj_meter_env *env, const struct bj_ipmi_sys *sys,
                void **ret, struct bj_err *err)
{
    struct xcc *x = calloc(1, sizeof(*x));
    if (!x)
        return bj_err_set(err, -ENOMEM, "XCC");
    int r = bj_ipmi_open(env, sys, &x->bmc, err);
    if (r == 0)
        r = ipmi_xcc_find(x, env->forced, err);
    if (r < 0) {
        xcc_close(x);
        return r;
    }
    *ret = x;
    return 0;
}

static int xcc_open(const struct bj_meter_env *env, void **ret,
                    struct bj_err *err)
{
    return bj_xcc_open(env, &bj_ipmi_kernel, ret, err);
}

const struct bj_meter_kind bj_meter_ipmi_xcc = {
    .name = "ipmi_xcc",
    .slow = true,
    .present = bj_ipmi_present,
    .open = xcc_open,
    .read = xcc_read,
    .close = xcc_close,
    .reads = "Lenovo's command for dense water-cooled nodes (SD650)",
    .reports =
        "energy in millijoules; second generation: mean power in milliwatts",
    .automatic = "if the BMC is Lenovo's",
};
