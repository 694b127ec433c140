/* NVIDIA's management library: one reading. */
#include "base/array.h"
#include "base/clock.h"
#include "core/gpu/gpu.h"
#include "core/gpu/nvml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BJ_NVML_DEVICES = 32, BJ_NVML_INSTANCES = 8 };

/* A device; valid while the library is open. */
struct bj_nvml_dev {
    struct bj_nvml_device *handle; /* NULL: the driver returned none */
    char uuid[BJ_GPU_TEXT], model[BJ_GPU_TEXT], pci[32];
    uint64_t minor, multiprocessors;
    struct bj_gpu_xid *xid; /* NULL: not supported */
    /* Newest sample of a process at a reading, when that was, and the newest
     * sample at the reading before it. */
    unsigned long long seen_usec, seen_before_usec;
    uint64_t seen_at_usec;
    bool gpm_checked, gpm; /* profiling is supported */
};

struct bj_nvml_gpm;

struct bj_nvml_reader {
    struct bj_nvml nv;
    char driver[BJ_GPU_TEXT];
    uint64_t opened_usec;
    unsigned n;
    struct bj_nvml_dev dev[BJ_NVML_DEVICES];
    struct bj_nvml_process *procs; /* reused by all readings */
    size_t nprocs;
    struct bj_nvml_process_use *uses;
    size_t nuses;
    struct bj_nvml_events *events;
    struct bj_nvml_gpm *gpm; /* samples */
    struct bj_nvml_gpm_get *get;
    uint64_t reading; /* number of this reading */
};

/* A reading of one device. */
struct bj_nvml_visit {
    struct bj_nvml_reader *r;
    struct bj_nvml_dev *dev;
    struct bj_gpu_set *set;
    struct bj_gpu *gpu;
    struct bj_err *err;
    int worst; /* the latest error; -ENODEV takes precedence */
    bool lost; /* the device returns no values any more */
};

/* Whether a call returned a value.  Records an error of the call. */
static bool nvml_succeeded(struct bj_nvml_visit *v, int code, const char *what)
{
    int r = bj_nvml_errno(code);
    if (r == 0 || r == -ENODATA)
        return r == 0;
    bj_err_set(v->err, r, "GPU %s: %s: %s (%d)", v->dev->uuid, what,
               bj_nvml_text(code), code);
    v->set->faults++;
    v->gpu->failed = true;
    v->gpu->use.last_error = (uint64_t)code;
    if (v->worst != -ENODEV)
        v->worst = r;
    v->lost |= r == -ENXIO || r == -ENODEV;
    return false;
}

/* --- xid errors -----------------------------------------------------------*/

/* Xid errors: events of the driver since a device was registered.
 *
 * Source: nvml.h, "Event Handling Methods".  A wait of 0 ms returns pending
 * events. */

/* The entry of a device, added if missing; NULL: too many. */
static struct bj_gpu_xid *entry_of(struct bj_gpu_xids *x, const char *uuid)
{
    for (size_t i = 0; i < x->n; i++)
        if (strcmp(x->v[i].uuid, uuid) == 0)
            return &x->v[i];
    if (x->n == BJ_GPU_XIDS_MAX)
        return NULL;
    struct bj_gpu_xid *e = &x->v[x->n++];
    *e = (struct bj_gpu_xid){.count = 0};
    memcpy(e->uuid, uuid, sizeof(e->uuid));
    return e;
}

static bool listen_to(const struct bj_nvml_reader *r,
                      const struct bj_nvml_dev *dev)
{
    unsigned long long types = 0;
    return dev->handle && *dev->uuid &&
           r->nv.event_types(dev->handle, &types) == BJ_NVML_OK &&
           (types & BJ_NVML_XID) &&
           r->nv.event_register(dev->handle, BJ_NVML_XID, r->events) ==
               BJ_NVML_OK;
}

/* Xid errors: subscribe, read pending events, unsubscribe.  xids must outlive
 * the reader; NULL: not wanted. */
static void nvml_events_open(struct bj_nvml_reader *r, struct bj_gpu_xids *xids)
{
    const struct bj_nvml *nv = &r->nv;
    if (!xids || !nv->event_types || !nv->event_set || !nv->event_register ||
        !nv->event_wait || !nv->event_free ||
        nv->event_set(&r->events) != BJ_NVML_OK)
        return;
    for (unsigned i = 0; i < r->n; i++)
        if (listen_to(r, &r->dev[i]))
            r->dev[i].xid = entry_of(xids, r->dev[i].uuid);
}

static void nvml_events_close(struct bj_nvml_reader *r)
{
    if (r->events)
        r->nv.event_free(r->events);
    r->events = NULL;
}

static void nvml_events_take(struct bj_nvml_reader *r)
{
    enum { MOST = 256 }; /* the others are read next time */
    struct bj_nvml_event e = {0};
    for (int n = 0; r->events && n < MOST &&
                    r->nv.event_wait(r->events, &e, 0) == BJ_NVML_OK;
         n++)
        for (unsigned i = 0; i < r->n; i++)
            if ((e.type & BJ_NVML_XID) && r->dev[i].xid &&
                r->dev[i].handle == e.device) {
                struct bj_gpu_xid *x = r->dev[i].xid;
                x->recent[x->count++ % BJ_GPU_RECENT] =
                    e.data < UINT16_MAX ? (uint16_t)e.data : UINT16_MAX;
                x->last = e.data;
            }
}

/* --- values of a device ---------------------------------------------------*/

/* One table for each type of call. */

#define AT(member) offsetof(struct bj_gpu_use, member)
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Make a call, unless the device is lost or the library lacks the call. */
#define CALL(v, call, ...)                                                     \
    (!(v)->lost && (v)->r->nv.call &&                                          \
     nvml_succeeded(v, (v)->r->nv.call(__VA_ARGS__), #call))

enum {
    TEMPERATURE_GPU = 0, /* nvmlTemperatureSensors_t */
    FIELD_MEMORY_TEMPERATURE = 82,
    FIELD_PCIE_REPLAYS = 94,
    FIELD_NVLINK_TX = 138,
    FIELD_NVLINK_RX = 139,
    FIELD_RECOVERY = 230, /* NVML_FI_DEV_GET_GPU_RECOVERY_ACTION */
    /* NVML_FI_DEV_CLOCKS_EVENT_REASON_..., nanoseconds */
    FIELD_SW_THERMAL = 269,
    FIELD_HW_THERMAL = 270,
    FIELD_POWER_BRAKE = 271
};

static void nvml_read_put(struct bj_gpu *g, size_t off, uint64_t value)
{
    *(uint64_t *)(void *)((char *)&g->use + off) = value;
}

static void nvml_memory_values(struct bj_nvml_visit *v,
                               struct bj_nvml_device *handle)
{
    struct bj_gpu_use *u = &v->gpu->use;
    struct bj_nvml_memory2 two = {.version = BJ_NVML_MEMORY2};
    struct bj_nvml_memory one = {0};
    /* The second version excludes memory that the driver reserves; the first
     * counts it as used. */
    if (CALL(v, memory2, handle, &two)) {
        u->memory_total_bytes = two.total;
        u->memory_used_bytes = two.used;
        u->memory_reserved_bytes = two.reserved;
        u->memory_free_bytes = two.free;
    } else if (CALL(v, memory, handle, &one)) {
        u->memory_total_bytes = one.total;
        u->memory_used_bytes = one.used;
        u->memory_free_bytes = one.free;
    }
}

static void power_values(struct bj_nvml_visit *v)
{
    struct bj_gpu_use *u = &v->gpu->use;
    unsigned milliwatts;
    unsigned long long millijoules;
    if (CALL(v, power, v->dev->handle, &milliwatts) && milliwatts != UINT32_MAX)
        u->power_uw = milliwatts * UINT64_C(1000);
    if (CALL(v, power_limit, v->dev->handle, &milliwatts) &&
        milliwatts != UINT32_MAX)
        u->power_limit_uw = milliwatts * UINT64_C(1000);
    if (CALL(v, energy, v->dev->handle, &millijoules) &&
        millijoules <= UINT64_MAX / 1000 - 1)
        v->gpu->energy_raw_uj = millijoules * UINT64_C(1000);
}

/* CUDA 14 withdraws the older call. */
static void temperature_value(struct bj_nvml_visit *v)
{
    struct bj_nvml_temperature new = {.version = BJ_NVML_TEMPERATURE,
                                      .sensor = TEMPERATURE_GPU};
    unsigned celsius = UINT32_MAX;
    if (CALL(v, temperature_v, v->dev->handle, &new))
        celsius = new.celsius >= 0 ? (unsigned)new.celsius : UINT32_MAX;
    else if (!CALL(v, temperature, v->dev->handle, TEMPERATURE_GPU, &celsius))
        return;
    if (celsius < 1000)
        v->gpu->use.temperature_uc = celsius * UINT64_C(1000000);
}

static void state_values(struct bj_nvml_visit *v)
{
    struct bj_gpu_use *u = &v->gpu->use;
    struct bj_nvml_utilization busy;
    unsigned percent;
    unsigned long long mask;
    if (!v->gpu->split && CALL(v, utilization, v->dev->handle, &busy) &&
        busy.gpu <= 100 && busy.memory <= 100) {
        u->busy_ppm = busy.gpu * UINT64_C(10000);
        u->memory_busy_ppm = busy.memory * UINT64_C(10000);
    }
    temperature_value(v);
    if (CALL(v, fan, v->dev->handle, &percent) && percent < 1000)
        u->fan_ppm = percent * UINT64_C(10000);
    if (CALL(v, throttle, v->dev->handle, &mask))
        v->gpu->throttle = mask;
}

static void clock_values(struct bj_nvml_visit *v)
{
    static const size_t clocks[] = {/* nvmlClockType_t */
                                    AT(graphics_clock_hz), AT(sm_clock_hz),
                                    AT(memory_clock_hz), AT(video_clock_hz)};
    unsigned mhz;
    for (size_t i = 0; i < COUNT(clocks); i++)
        if (CALL(v, clock, v->dev->handle, (int)i, &mhz) && mhz != UINT32_MAX)
            nvml_read_put(v->gpu, clocks[i], mhz * UINT64_C(1000000));
}

static void health_values(struct bj_nvml_visit *v)
{
    static const struct {
        int type, counter; /* 0 corrected, 1 not; 0 volatile, 1 aggregate */
        size_t off;
    } errors[] = {{0, 0, AT(ecc_corrected)},
                  {1, 0, AT(ecc_uncorrected)},
                  {0, 1, AT(ecc_corrected_ever)},
                  {1, 1, AT(ecc_uncorrected_ever)}};
    struct bj_gpu_use *u = &v->gpu->use;
    unsigned long long n;
    unsigned row[4];
    for (size_t i = 0; i < COUNT(errors); i++)
        if (CALL(v, ecc, v->dev->handle, errors[i].type, errors[i].counter, &n))
            nvml_read_put(v->gpu, errors[i].off, n);
    if (CALL(v, remapped, v->dev->handle, &row[0], &row[1], &row[2], &row[3])) {
        u->rows_corrected = row[0];
        u->rows_uncorrected = row[1];
        u->rows_pending = row[2];
        u->rows_failed = row[3];
    }
}

/* Get the value of a field; false: it has no valid value. */
static bool field_value(const struct bj_nvml_field *f, uint64_t *ret)
{
    switch (f->type) {
    case BJ_NVML_U32:
        *ret = f->value.u32;
        return f->value.u32 != UINT32_MAX;
    case BJ_NVML_ULONG:
    case BJ_NVML_U64:
        *ret = f->value.u64;
        return f->value.u64 != UINT64_MAX;
    case BJ_NVML_U16:
        *ret = f->value.u16;
        return f->value.u16 != UINT16_MAX;
    case BJ_NVML_S64:
        *ret = (uint64_t)f->value.s64;
        return f->value.s64 >= 0;
    case BJ_NVML_S32:
        *ret = (uint64_t)f->value.s32;
        return f->value.s32 >= 0;
    default:
        return false;
    }
}

/* Read fields in a single call; if it is refused because of one of them, each
 * on its own.  False: none was read. */
static bool read_fields(struct bj_nvml_visit *v, struct bj_nvml_field *f,
                        size_t n)
{
    if (v->lost || !v->r->nv.fields)
        return false;
    int code = v->r->nv.fields(v->dev->handle, (int)n, f);
    int r = bj_nvml_errno(code);
    if (r == 0 || r == -ENODATA || r == -ENXIO || r == -ENODEV)
        return nvml_succeeded(v, code, "fields");
    bool any = false;
    for (size_t i = 0; i < n && !v->lost; i++) {
        int each = v->r->nv.fields(v->dev->handle, 1, &f[i]);
        /* This is how a driver says that it does not know the field. */
        if (each == BJ_NVML_BAD_ARGUMENT)
            each = BJ_NVML_NOT_SUPPORTED;
        if (nvml_succeeded(v, each, "field"))
            any = true;
        else
            f[i].code = BJ_NVML_NO_DATA;
    }
    return any;
}

/* Read the values without their own call.  The bytes of PCI
 * Express (197, 198) are not read: they have 32 bits, which an H100 fills in 75
 * ms. */
static void field_values(struct bj_nvml_visit *v)
{
    static const struct {
        uint32_t id, scope; /* scope: all links */
        size_t off;
        uint64_t mul, div;
    } fields[] = {
        {FIELD_MEMORY_TEMPERATURE, 0, AT(memory_temperature_uc), 1000000, 1},
        {FIELD_PCIE_REPLAYS, 0, AT(pcie_replays), 1, 1},
        {FIELD_NVLINK_TX, UINT32_MAX, AT(nvlink_tx_bytes), 1024, 1},
        {FIELD_NVLINK_RX, UINT32_MAX, AT(nvlink_rx_bytes), 1024, 1},
        {FIELD_RECOVERY, 0, AT(recovery), 1, 1},
        {FIELD_SW_THERMAL, 0, AT(throttled_sw_usec), 1, 1000},
        {FIELD_HW_THERMAL, 0, AT(throttled_hw_usec), 1, 1000},
        {FIELD_POWER_BRAKE, 0, AT(throttled_brake_usec), 1, 1000},
    };
    struct bj_nvml_field f[COUNT(fields)] = {0};
    for (size_t i = 0; i < COUNT(fields); i++) {
        f[i].id = fields[i].id;
        f[i].scope = fields[i].scope;
        f[i].code = BJ_NVML_NO_DATA;
    }
    if (!read_fields(v, f, COUNT(fields)))
        return;
    for (size_t i = 0; i < COUNT(fields); i++) {
        uint64_t value;
        if (f[i].code == BJ_NVML_OK && field_value(&f[i], &value) &&
            value < UINT64_MAX / 1000000)
            nvml_read_put(v->gpu, fields[i].off,
                          value * fields[i].mul / fields[i].div);
    }
}

/* Values of the device, or of an instance with its handle. */
static void nvml_device_values(struct bj_nvml_visit *v)
{
    nvml_memory_values(v, v->dev->handle);
    power_values(v);
    state_values(v);
    clock_values(v);
    health_values(v);
    field_values(v);
}

/* --- profile (GPM) --------------------------------------------------------*/

/* Profiling of Hopper and later without DCGM: two samples of each device and
 * instance, swapped at each reading, so that values cover the whole time
 * between two readings.  NVML compares only samples that are at least 100 ms
 * apart: a reading that comes sooner repeats the values of the one before.
 *
 * Source: nvml.h, "GPM"; ids of nvmlGpmMetricId_t. */

enum { APART_USEC = 100000, PPM_PERCENT = 10000, MIB = 1048576 };

#define AT(member) offsetof(struct bj_gpu_use, member)
static const struct {
    uint32_t id;
    size_t off;
    uint32_t mul; /* PPM_PERCENT: the value is a percentage */
} metrics[] = {
    {1, AT(graphics_ppm), PPM_PERCENT},  {2, AT(sm_ppm), PPM_PERCENT},
    {3, AT(occupancy_ppm), PPM_PERCENT}, {5, AT(tensor_ppm), PPM_PERCENT},
    {6, AT(dfma_ppm), PPM_PERCENT},      {7, AT(hmma_ppm), PPM_PERCENT},
    {8, AT(dmma_ppm), PPM_PERCENT},      {9, AT(imma_ppm), PPM_PERCENT},
    {10, AT(dram_ppm), PPM_PERCENT},     {11, AT(fp64_ppm), PPM_PERCENT},
    {12, AT(fp32_ppm), PPM_PERCENT},     {13, AT(fp16_ppm), PPM_PERCENT},
    {20, AT(pcie_tx_rate), MIB},         {21, AT(pcie_rx_rate), MIB},
    {4, AT(integer_ppm), PPM_PERCENT},   {60, AT(nvlink_rx_rate), MIB},
    {61, AT(nvlink_tx_rate), MIB},
};
enum { METRICS = sizeof(metrics) / sizeof(metrics[0]) };

/* The samples of a device or an instance. */
struct bj_nvml_gpm {
    struct bj_nvml_gpm *next;
    struct bj_nvml_gpm_sample *sample[2];
    unsigned newest;
    uint64_t stamp_usec;     /* of the newest; 0: none */
    bool first;              /* it is the only one */
    uint64_t value[METRICS]; /* of the last comparison */
    uint64_t reading;        /* last reading that contained it */
    char uuid[BJ_GPU_TEXT];
};

static void nvml_read_forget(struct bj_nvml_gpm *p)
{
    for (size_t i = 0; i < METRICS; i++)
        p->value[i] = BJ_ABSENT;
}

static void free_pair(const struct bj_nvml *nv, struct bj_nvml_gpm *p)
{
    for (int i = 0; i < 2; i++)
        if (p->sample[i])
            nv->gpm_free(p->sample[i]);
    free(p);
}

static void nvml_gpm_prune(struct bj_nvml_reader *r, bool all)
{
    struct bj_nvml_gpm **at = &r->gpm;
    while (*at) {
        struct bj_nvml_gpm *p = *at;
        if (!all && p->reading == r->reading) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        free_pair(&r->nv, p);
    }
    if (all) {
        free(r->get);
        r->get = NULL;
    }
}

static struct bj_nvml_gpm *pair_of(struct bj_nvml_reader *r, const char *uuid)
{
    struct bj_nvml_gpm *p = r->gpm;
    while (p && strcmp(p->uuid, uuid) != 0)
        p = p->next;
    if (p)
        return p;
    p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    memcpy(p->uuid, uuid, sizeof(p->uuid));
    nvml_read_forget(p);
    for (int i = 0; i < 2; i++)
        if (r->nv.gpm_alloc(&p->sample[i]) != BJ_NVML_OK) {
            p->sample[i] = NULL;
            free_pair(&r->nv, p);
            return NULL;
        }
    p->next = r->gpm;
    return r->gpm = p;
}

/* Whether the device supports profiling; queried once. */
static bool supported(struct bj_nvml_visit *v)
{
    const struct bj_nvml *nv = &v->r->nv;
    struct bj_nvml_gpm_support s = {.version = 1};
    if (!nv->gpm_support || !nv->gpm_alloc || !nv->gpm_free ||
        !nv->gpm_sample || !nv->gpm_metrics)
        return false;
    if (!v->dev->gpm_checked)
        v->dev->gpm = nv->gpm_support(v->dev->handle, &s) == BJ_NVML_OK &&
                      s.supported == 1;
    v->dev->gpm_checked = true;
    return v->dev->gpm;
}

static void publish(struct bj_gpu *g, const struct bj_nvml_gpm *p)
{
    g->profile_due = p->first;
    for (size_t i = 0; i < METRICS; i++)
        *(uint64_t *)(void *)((char *)&g->use + metrics[i].off) = p->value[i];
}

static void nvml_read_take(struct bj_nvml_gpm *p, size_t i, double value)
{
    double most = metrics[i].mul == PPM_PERCENT ? 101 : 1e12;
    if (!isfinite(value) || value < 0 || value > most)
        return;
    if (metrics[i].mul == PPM_PERCENT && value > 100)
        value = 100; /* values above are due to rounding */
    p->value[i] = (uint64_t)(value * metrics[i].mul + 0.5);
}

/* Get n metrics from that one on; returns NVML's code. */
static int nvml_read_get(struct bj_nvml_visit *v, struct bj_nvml_gpm *p,
                         uint32_t from, uint32_t n)
{
    struct bj_nvml_gpm_get *q = v->r->get;
    memset(q, 0, sizeof(*q));
    q->version = 1;
    q->n = n;
    q->older = p->sample[1 - p->newest];
    q->newer = p->sample[p->newest];
    for (uint32_t i = 0; i < n; i++) {
        q->metric[i].id = metrics[from + i].id;
        q->metric[i].code = BJ_NVML_NO_DATA;
    }
    int code = v->r->nv.gpm_metrics(q);
    for (uint32_t i = 0; code == BJ_NVML_OK && i < n; i++)
        if (q->metric[i].code == BJ_NVML_OK)
            nvml_read_take(p, from + i, q->metric[i].value);
    return code;
}

static void nvml_read_compare(struct bj_nvml_visit *v, struct bj_nvml_gpm *p)
{
    struct bj_nvml_reader *r = v->r;
    if (!r->get)
        r->get = malloc(sizeof(*r->get));
    if (!r->get)
        return;
    int code = nvml_read_get(v, p, 0, METRICS);
    int e = bj_nvml_errno(code);
    if (e == 0 || e == -ENODATA || e == -ENXIO || e == -ENODEV) {
        nvml_succeeded(v, code, "GPM metrics");
        return;
    }
    /* One of them may be refused. */
    for (uint32_t i = 0; i < METRICS && !v->lost; i++) {
        code = nvml_read_get(v, p, i, 1);
        nvml_succeeded(
            v, code == BJ_NVML_BAD_ARGUMENT ? BJ_NVML_NOT_SUPPORTED : code,
            "GPM metric");
    }
}

/* Whether an earlier compute instance is in the same GPU instance, which is
 * sampled as a whole: the values belong to the first one. */
static bool repeated(const struct bj_nvml_visit *v)
{
    const struct bj_gpu *g = v->gpu;
    for (const struct bj_gpu *o = v->set->v; o < g; o++)
        if (o->parent == g->parent && o->gi == g->gi)
            return true;
    return false;
}

/* Profiling of the device or instance in v->gpu.  prune frees the samples of
 * devices that were not in this reading; free those of all. */
static void nvml_profile(struct bj_nvml_visit *v)
{
    const struct bj_nvml *nv = &v->r->nv;
    bool instance = v->gpu->parent >= 0;
    if (v->lost || v->gpu->split || !supported(v) ||
        (instance && (!nv->gpm_mig_sample || repeated(v))))
        return;
    struct bj_nvml_gpm *p = pair_of(v->r, v->gpu->uuid);
    if (!p)
        return;
    p->reading = v->r->reading;
    uint64_t now = bj_clock_boot_usec();
    if (p->stamp_usec && now < p->stamp_usec + APART_USEC) {
        publish(v->gpu, p);
        return;
    }
    struct bj_nvml_gpm_sample *s = p->sample[1 - p->newest];
    int code = instance ? nv->gpm_mig_sample(v->dev->handle, v->gpu->gi, s)
                        : nv->gpm_sample(v->dev->handle, s);
    p->first = p->stamp_usec == 0;
    p->stamp_usec = 0;
    nvml_read_forget(p);
    if (!nvml_succeeded(v, code, "GPM sample"))
        return;
    p->newest = 1 - p->newest;
    p->stamp_usec = now;
    if (!p->first)
        nvml_read_compare(v, p);
    publish(v->gpu, p);
}

/* --- processes ------------------------------------------------------------*/

enum {
    LIST_MAX = 8192,
    ROOM = 32,
    SAMPLE_USEC = 1000000 /* the longest time between two samples */
};

/* The place of the instance that a process runs on, or of the device.  An
 * unknown number matches any instance. */
static uint32_t nvml_read_place_of(const struct bj_nvml_visit *v, uint32_t gi,
                                   uint32_t ci)
{
    uint32_t parent = (uint32_t)(v->gpu - v->set->v);
    for (uint32_t i = parent + 1; v->gpu->split && i < v->set->n; i++) {
        const struct bj_gpu *g = &v->set->v[i];
        if (g->parent == (int)parent && g->gi == gi &&
            (g->ci == ci || ci == UINT32_MAX || g->ci == UINT32_MAX))
            return i;
    }
    return parent;
}

/* Add a process, which may be in two lists. */
static void nvml_read_add(struct bj_nvml_visit *v,
                          const struct bj_nvml_process *p, bool mps)
{
    uint32_t at = nvml_read_place_of(v, p->gpu_instance, p->compute_instance);
    for (size_t i = 0; i < v->set->nprocs; i++)
        if (v->set->proc[i].gpu == at && v->set->proc[i].pid == p->pid) {
            v->set->proc[i].mps |= mps;
            return;
        }
    struct bj_gpu_proc *n = bj_gpu_add_proc(v->set, at, p->pid);
    if (!n)
        return;
    n->memory_bytes = p->used_memory; /* -1, unknown, equals BJ_ABSENT */
    n->mps = mps;
    v->set->v[at].use.processes++;
}

/* Read a list of processes, again up to two times, since it may grow between
 * two calls. */
static bool nvml_read_list(struct bj_nvml_visit *v,
                           int (*call)(struct bj_nvml_device *, unsigned *,
                                       struct bj_nvml_process *),
                           const char *what)
{
    struct bj_nvml_reader *r = v->r;
    int code = BJ_NVML_TOO_SMALL;
    unsigned n = 0, want = ROOM;
    for (int i = 0; code == BJ_NVML_TOO_SMALL && i < 3; i++) {
        if (!BJ_GROW(r->procs, want, r->nprocs))
            break;
        n = (unsigned)r->nprocs;
        code = call(v->dev->handle, &n, r->procs);
        want = n < LIST_MAX - ROOM ? n + ROOM : LIST_MAX;
    }
    if (!nvml_succeeded(v, code, what))
        return false;
    for (unsigned i = 0; i < n && i < r->nprocs; i++)
        nvml_read_add(v, &r->procs[i], call == r->nv.mps);
    return true;
}

/* The device reports processes: set those of its instances to 0 first. */
static void nvml_read_begin(struct bj_nvml_visit *v, uint64_t n)
{
    int parent = (int)(v->gpu - v->set->v);
    v->gpu->use.processes = n;
    for (size_t i = 0; i < v->set->n; i++)
        if (v->set->v[i].parent == parent)
            v->set->v[i].use.processes = n;
}

/* The samples after this one count.  A process without samples was idle, unless
 * the time is too short for one: then those of the time before count again. */
static unsigned long long seen_until(const struct bj_nvml_dev *d)
{
    return bj_clock_boot_usec() < d->seen_at_usec + SAMPLE_USEC
               ? d->seen_before_usec
               : d->seen_usec;
}

/* Set the use of each process to the mean of its samples after that one.  Use
 * by clients of an MPS server is in the samples of the server. */
static void take_uses(struct bj_nvml_visit *v, unsigned n,
                      unsigned long long seen)
{
    struct bj_nvml_process_use *use = v->r->uses;
    unsigned long long newest = seen;
    uint32_t at = (uint32_t)(v->gpu - v->set->v);
    for (unsigned k = 0; k < n; k++)
        if (use[k].stamp_usec > newest)
            newest = use[k].stamp_usec;
    bool idle = newest == seen;
    for (size_t i = 0; i < v->set->nprocs; i++) {
        struct bj_gpu_proc *p = &v->set->proc[i];
        uint64_t sum = 0, count = 0;
        for (unsigned k = 0; p->gpu == at && k < n; k++)
            if (use[k].pid == p->pid && use[k].sm <= 100 &&
                use[k].stamp_usec > seen) {
                sum += use[k].sm;
                count++;
            }
        if (p->gpu == at && count > 0)
            p->sm_ppm = sum * PPM_PERCENT / count;
        else if (p->gpu == at && (!p->mps || idle))
            p->sm_ppm = 0;
    }
    if (seen != v->dev->seen_usec)
        return;
    v->dev->seen_before_usec = seen;
    v->dev->seen_usec = newest;
    v->dev->seen_at_usec = bj_clock_boot_usec();
}

static void uses(struct bj_nvml_visit *v)
{
    struct bj_nvml_reader *r = v->r;
    int code = BJ_NVML_TOO_SMALL;
    unsigned n = 0, want = 4 * ROOM;
    const unsigned long long seen = seen_until(v->dev);
    for (int i = 0; code == BJ_NVML_TOO_SMALL && i < 3; i++) {
        if (!BJ_GROW(r->uses, want, r->nuses))
            return;
        n = (unsigned)r->nuses;
        code = r->nv.process_use(v->dev->handle, r->uses, &n, seen);
        want = n < LIST_MAX - ROOM ? n + ROOM : LIST_MAX;
    }
    /* It returns "not found" when no process was active. */
    if (code == BJ_NVML_NOT_FOUND)
        take_uses(v, 0, seen);
    else if (nvml_succeeded(v, code, "process utilization"))
        take_uses(v, n < r->nuses ? n : (unsigned)r->nuses, seen);
}

/* Processes of the device and its instances, for the GPUs in the set. */
static void nvml_processes(struct bj_nvml_visit *v)
{
    const struct bj_nvml *nv = &v->r->nv;
    if (v->lost || !nv->compute)
        return;
    nvml_read_begin(v, 0);
    if (!nvml_read_list(v, nv->compute, "compute processes")) {
        nvml_read_begin(v, BJ_ABSENT);
        return;
    }
    if (nv->mps && !v->lost)
        nvml_read_list(v, nv->mps, "MPS processes");
    if (nv->graphics && !v->lost)
        nvml_read_list(v, nv->graphics, "graphics processes");
    if (nv->process_use && !v->gpu->split && !v->lost)
        uses(v);
}

/* --- all devices ----------------------------------------------------------*/

enum { SECOND = 1000000, REOPEN_USEC = 60 * SECOND };

/* --- the library ----------------------------------------------------------*/

static bool nvml_read_present(const struct bj_gpu_env *env)
{
    char path[512];
    if (env->nvml && *env->nvml)
        return access(env->nvml, F_OK) == 0;
    snprintf(path, sizeof(path), "%.400s/driver/nvidia/version", env->procfs);
    return access(path, F_OK) == 0;
}

static void close_reader(void *m)
{
    struct bj_nvml_reader *r = m;
    nvml_gpm_prune(r, true);
    nvml_events_close(r);
    bj_nvml_close(&r->nv);
    free(r->procs);
    free(r->uses);
    free(r);
}

static void nvml_read_text(int (*call)(struct bj_nvml_device *, char *,
                                       unsigned),
                           struct bj_nvml_device *dev, char ret[BJ_GPU_TEXT])
{
    ret[0] = '\0';
    if (!call || call(dev, ret, BJ_GPU_TEXT) != BJ_NVML_OK)
        ret[0] = '\0';
    ret[BJ_GPU_TEXT - 1] = '\0';
}

/* The driver reports CUDA cores; their number per multiprocessor depends on the
 * generation.
 * Source: CUDA C++ Programming Guide, "Compute Capabilities" (results of 32-bit
 * additions per clock). */
static uint64_t multiprocessors_of(const struct bj_nvml *nv,
                                   struct bj_nvml_device *handle)
{
    static const struct {
        int capability;
        unsigned cores;
    } generations[] = {{50, 128},  {52, 128},  {53, 128},  {60, 64},
                       {61, 128},  {62, 128},  {70, 64},   {72, 64},
                       {75, 64},   {80, 64},   {86, 128},  {87, 128},
                       {89, 128},  {90, 128},  {100, 128}, {101, 128},
                       {103, 128}, {120, 128}, {121, 128}};
    int major = 0, minor = 0;
    unsigned cores = 0;
    if (!nv->cores || !nv->capability ||
        nv->capability(handle, &major, &minor) != BJ_NVML_OK ||
        nv->cores(handle, &cores) != BJ_NVML_OK)
        return BJ_ABSENT;
    for (size_t i = 0; i < sizeof(generations) / sizeof(generations[0]); i++)
        if (generations[i].capability == 10 * major + minor && cores > 0 &&
            cores % generations[i].cores == 0)
            return cores / generations[i].cores;
    return BJ_ABSENT;
}

static void identify(const struct bj_nvml *nv, struct bj_nvml_dev *dev)
{
    struct bj_nvml_pci pci = {0};
    unsigned minor;
    nvml_read_text(nv->uuid, dev->handle, dev->uuid);
    nvml_read_text(nv->name, dev->handle, dev->model);
    if (nv->pci && nv->pci(dev->handle, &pci) == BJ_NVML_OK) {
        pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
        bj_gpu_pci_text(pci.bus_id, dev->pci);
    }
    dev->minor = BJ_ABSENT;
    if (nv->minor && nv->minor(dev->handle, &minor) == BJ_NVML_OK)
        dev->minor = minor;
    dev->multiprocessors = multiprocessors_of(nv, dev->handle);
    if (!*dev->uuid)
        memcpy(dev->uuid, dev->pci, sizeof(dev->pci));
}

/* A device that cannot be opened now is counted, so that the others keep their
 * numbers. */
static int open_reader(const struct bj_gpu_env *env, void **ret,
                       struct bj_err *err)
{
    struct bj_nvml_reader *r = calloc(1, sizeof(*r));
    if (!r)
        return bj_err_set(err, -ENOMEM, "NVML");
    int code = bj_nvml_open(&r->nv, env->nvml, err);
    if (code < 0) {
        free(r);
        return code;
    }
    code = r->nv.count(&r->n);
    if (code != BJ_NVML_OK || r->n == 0) {
        close_reader(r);
        return code == BJ_NVML_OK
                   ? -ENODEV
                   : bj_err_say(err, bj_nvml_errno(code), "count GPUs: %s (%d)",
                                bj_nvml_text(code), code);
    }
    if (r->n > BJ_NVML_DEVICES)
        r->n = BJ_NVML_DEVICES;
    for (unsigned i = 0; i < r->n; i++)
        if (r->nv.by_index(i, &r->dev[i].handle) == BJ_NVML_OK)
            identify(&r->nv, &r->dev[i]);
        else
            r->dev[i].handle = NULL;
    if (!r->nv.driver || r->nv.driver(r->driver, BJ_GPU_TEXT) != BJ_NVML_OK)
        r->driver[0] = '\0';
    nvml_events_open(r, env->xids);
    r->opened_usec = bj_clock_boot_usec();
    *ret = r;
    return 0;
}

/* --- instances ------------------------------------------------------------*/

static void read_instance(struct bj_nvml_visit *v, struct bj_nvml_device *mig)
{
    const struct bj_nvml *nv = &v->r->nv;
    struct bj_nvml_attributes a;
    struct bj_gpu *device = v->gpu, *g = bj_gpu_add(v->set);
    unsigned id;
    if (!g)
        return;
    nvml_read_text(nv->uuid, mig, g->uuid);
    if (!*g->uuid) { /* the instance has gone meanwhile */
        v->set->n--;
        return;
    }
    nvml_read_text(nv->name, mig, g->model);
    memcpy(g->pci, device->pci, sizeof(g->pci));
    g->index = device->index;
    g->parent = (int)(device - v->set->v);
    g->use.minor = device->use.minor;
    g->gi = g->ci = UINT32_MAX;
    if (nv->gpu_instance && nv->gpu_instance(mig, &id) == BJ_NVML_OK)
        g->gi = id;
    if (nv->compute_instance && nv->compute_instance(mig, &id) == BJ_NVML_OK)
        g->ci = id;
    v->gpu = g;
    if (nv->attributes &&
        nvml_succeeded(v, nv->attributes(mig, &a), "attributes")) {
        g->use.multiprocessors = a.sms;
        g->use.slices = a.gpu_slices;
    }
    nvml_memory_values(v, mig);
    nvml_profile(v);
    v->gpu = device;
}

static void read_instances(struct bj_nvml_visit *v)
{
    const struct bj_nvml *nv = &v->r->nv;
    unsigned mode = 0, pending = 0, max = 0;
    if (!nv->mig_mode || !nv->mig_by_index ||
        !nvml_succeeded(v, nv->mig_mode(v->dev->handle, &mode, &pending),
                        "MIG mode") ||
        mode != 1)
        return;
    v->gpu->split = true;
    if (!nv->mig_max || nv->mig_max(v->dev->handle, &max) != BJ_NVML_OK)
        max = BJ_NVML_INSTANCES;
    for (unsigned i = 0; i < max && !v->lost; i++) {
        struct bj_nvml_device *mig = NULL;
        int code = nv->mig_by_index(v->dev->handle, i, &mig);
        if (nvml_succeeded(v, code, "MIG instance") && mig)
            read_instance(v, mig);
    }
}

/* --- devices --------------------------------------------------------------*/

static int read_device(struct bj_nvml_reader *r, unsigned i,
                       struct bj_gpu_set *out, struct bj_err *err)
{
    struct bj_nvml_dev *dev = &r->dev[i];
    if (!dev->handle || !*dev->uuid) {
        out->faults++;
        return bj_err_set(err, -ENXIO, "GPU %u cannot be opened", i);
    }
    struct bj_gpu *g = bj_gpu_add(out);
    if (!g)
        return bj_err_set(err, -E2BIG, "more than %d GPUs", BJ_GPUS_MAX);
    memcpy(g->uuid, dev->uuid, sizeof(g->uuid));
    memcpy(g->model, dev->model, sizeof(g->model));
    memcpy(g->pci, dev->pci, sizeof(g->pci));
    g->index = i;
    g->use.minor = dev->minor;
    g->use.multiprocessors = dev->multiprocessors;
    if (dev->xid) {
        g->use.xids = dev->xid->count;
        g->use.last_xid = dev->xid->last;
        memcpy(g->xid, dev->xid->recent, sizeof(g->xid));
    }
    struct bj_nvml_visit v = {
        .r = r, .dev = dev, .set = out, .gpu = g, .err = err};
    read_instances(&v);
    nvml_device_values(&v);
    nvml_profile(&v);
    nvml_processes(&v);
    return v.worst;
}

/* Whether the library must be opened again: a lost GPU may return after a
 * reset, which an open library does not notice. */
static bool stale(const struct bj_nvml_reader *r, int worst)
{
    return worst == -ENODEV ||
           (worst == -ENXIO &&
            bj_clock_boot_usec() >= r->opened_usec + REOPEN_USEC);
}

static int nvml_read_read_all(void *m, struct bj_gpu_set *out,
                              struct bj_err *err)
{
    struct bj_nvml_reader *r = m;
    unsigned n = 0;
    int worst = 0;
    bool again = false;
    int code = r->nv.count(&n);
    if (code != BJ_NVML_OK || (n != r->n && n <= BJ_NVML_DEVICES))
        return -ENODEV;
    nvml_events_take(r);
    r->reading++;
    memcpy(out->driver, r->driver, sizeof(out->driver));
    for (unsigned i = 0; i < r->n; i++) {
        int f = read_device(r, i, out, err);
        again |= stale(r, f);
        worst = f < 0 ? f : worst;
    }
    nvml_gpm_prune(r, false);
    return again ? -ENODEV : worst;
}

const struct bj_gpu_kind bj_gpu_nvml = {"nvml", nvml_read_present, open_reader,
                                        nvml_read_read_all, close_reader};
