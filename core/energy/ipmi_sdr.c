#include "core/energy/ipmi_sdr.h"
#include "core/energy/zone.h"

#include <stdlib.h>

enum {
    SENSORS = BJ_ZONES_MAX - 1, /* one more zone is for the node */
    GET_READING = 0x2d,
    UNAVAILABLE = 0x20, /* flags of a reading */
    SCANNING = 0x40,
    PATIENCE = 3, /* reads without a response before a power supply counts as
                     switched off */
};

struct sdr {
    struct bj_ipmi *bmc;
    uint64_t changed; /* of the repository; 0: not known */
    enum bj_sdr_part part;
    size_t n;
    struct bj_sdr_sensor s[SENSORS];
    unsigned silent[SENSORS]; /* reads in a row without a value */
};

/* The sum of the node's power. */
struct sum {
    uint64_t uw;
    size_t n;
    int fault; /* why the sum is unknown */
    struct bj_err err;
};

static void put(struct bj_meter_sample *out, const char *name,
                enum bj_zone_role role, uint64_t uw)
{
    struct bj_zone_sample z;
    bj_zone_init(&z, name, role);
    z.power_uw = uw;
    bj_zone_add(out, &z);
}

static int reading(struct sdr *m, const struct bj_sdr_sensor *s,
                   uint64_t *ret_uw, struct bj_err *err)
{
    const struct bj_ipmi_send request = {
        .what = s->name,
        .netfn = BJ_IPMI_SENSOR,
        .cmd = GET_READING,
        .lun = s->lun,
        .slave = s->owner,
        .channel = s->channel,
        .data = &s->number,
        .n = 1,
    };
    struct bj_ipmi_reply reply;
    int r = bj_ipmi_send(m->bmc, &request, &reply, err);
    if (r < 0)
        return r;
    if (reply.n < 3)
        return bj_err_set(err, -EBADMSG, "sensor %s: %zu bytes", s->name,
                          reply.n);
    if ((reply.b[2] & UNAVAILABLE) || !(reply.b[2] & SCANNING))
        return bj_err_set(err, -ENODATA, "sensor %s: no reading now", s->name);
    return bj_sdr_convert(s, reply.b[1], ret_uw, err);
}

/* If one of two power supplies reports no value, the power of the other one is
 * not that of the node: the sum is unknown. A supply without a value for
 * several reads counts as removed. */
static void add_up(struct sum *sum, int r, uint64_t uw, unsigned silent,
                   const struct bj_err *err)
{
    if (r == -ENODATA && silent > PATIENCE)
        return;
    if (r < 0 && sum->fault == 0) {
        sum->fault = r;
        sum->err = *err;
    }
    if (r == 0) {
        sum->uw += uw;
        sum->n++;
    }
}

/* Would requests to other sensors fail as well? */
static bool hopeless(int r)
{
    return r == -ETIMEDOUT || r == -ECANCELED || r == -ENODEV;
}

static int each_sensor(struct sdr *m, struct bj_meter_sample *out,
                       struct sum *sum, struct bj_err *err)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct bj_sdr_sensor *s = &m->s[i];
        struct bj_err why = {0};
        uint64_t uw = 0;
        int r = reading(m, s, &uw, &why);
        if (hopeless(r))
            return bj_err_copy(err, r, &why);
        if (r != -ENODATA)
            m->silent[i] = 0;
        else if (m->silent[i] <= PATIENCE)
            m->silent[i]++;
        if (s->part == m->part)
            add_up(sum, r, uw, m->silent[i], &why);
        if (r == 0 && s->part != BJ_SDR_TOTAL && s->part != BJ_SDR_MAYBE)
            put(out, s->name, BJ_ZONE_PART, uw);
    }
    return 0;
}

static int read_sensors(struct sdr *m, struct bj_meter_sample *out,
                        struct bj_err *err)
{
    struct sum sum = {0};
    int r = each_sensor(m, out, &sum, err);
    if (r < 0)
        return r;
    if (sum.fault < 0)
        return bj_err_copy(err, sum.fault, &sum.err);
    if (sum.n == 0)
        return bj_err_set(err, -ENODATA,
                          "no power sensor of the node has a reading");
    r = bj_ipmi_plausible((sum.uw + 500000) / 1000000, err);
    if (r < 0)
        return bj_err_wrap(err, r, "sensors of the node");
    if (m->part == BJ_SDR_OUTPUT) /* without the losses of the supplies */
        put(out, "outputs", BJ_ZONE_PLATFORM, sum.uw);
    else
        put(out, "node", BJ_ZONE_NODE, sum.uw);
    return 0;
}

/* -ENODEV: the sensor records have changed. */
static int check_records(struct sdr *m, struct bj_err *err)
{
    uint64_t changed;
    struct bj_err why = {0};
    if (m->changed == 0)
        return 0;
    int r = bj_sdr_changed(m->bmc, &changed, &why);
    if (hopeless(r))
        return bj_err_copy(err, r, &why);
    if (r == 0 && changed != m->changed)
        return bj_err_set(err, -ENODEV, "the BMC's sensor records changed");
    return 0;
}

static int sdr_read(void *p, struct bj_meter_sample *out, struct bj_err *err)
{
    struct sdr *m = p;
    int r = check_records(m, err);
    return r < 0 ? r : read_sensors(m, out, err);
}

static void sdr_close(void *p)
{
    struct sdr *m = p;
    bj_ipmi_close(m->bmc);
    free(m);
}

/* Find the sensors and check that they have values. */
static int find(struct sdr *m, struct bj_err *err)
{
    struct bj_meter_sample first = {0};
    int r = bj_sdr_scan(m->bmc, m->s, SENSORS, &m->n, &m->changed, err);
    if (r < 0)
        return r;
    if (!bj_sdr_choose(m->s, m->n, &m->part))
        return bj_err_set(err, -ENODEV,
                          "no sensor reports the power of the node");
    /* A silent sensor may have been silent for a long time. */
    for (size_t i = 0; i < m->n; i++)
        m->silent[i] = PATIENCE;
    r = read_sensors(m, &first, err);
    return r == -ENODATA ? -ENODEV : r;
}

int bj_sdr_open(const struct bj_meter_env *env, const struct bj_ipmi_sys *sys,
                void **ret, struct bj_err *err)
{
    struct sdr *m = calloc(1, sizeof(*m));
    if (!m)
        return bj_err_set(err, -ENOMEM, "sensors");
    int r = bj_ipmi_open(env, sys, &m->bmc, err);
    if (r == 0)
        r = find(m, err);
    if (r < 0) {
        sdr_close(m);
        return r;
    }
    *ret = m;
    return 0;
}

static int sdr_open(const struct bj_meter_env *env, void **ret,
                    struct bj_err *err)
{
    return bj_sdr_open(env, &bj_ipmi_kernel, ret, err);
}

const struct bj_meter_kind bj_meter_sdr = {
    .name = "ipmi_sdr",
    .slow = true,
    .present = bj_ipmi_present,
    .open = sdr_open,
    .read = sdr_read,
    .close = sdr_close,
};
