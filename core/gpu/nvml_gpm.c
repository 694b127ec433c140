/* Profiling of Hopper and later without DCGM: two samples of each device and
 * instance, swapped at each reading, so that values cover the whole time
 * between two readings.  NVML compares only samples that are at least 100 ms
 * apart: a reading that comes sooner repeats the values of the one before.
 *
 * Source: nvml.h, "GPM"; ids of nvmlGpmMetricId_t. */
#include "core/gpu/nvml_read.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static void forget(struct bj_nvml_gpm *p)
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

void bj_nvml_gpm_prune(struct bj_nvml_reader *r, bool all)
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
    forget(p);
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

static void take(struct bj_nvml_gpm *p, size_t i, double value)
{
    double most = metrics[i].mul == PPM_PERCENT ? 101 : 1e12;
    if (!isfinite(value) || value < 0 || value > most)
        return;
    if (metrics[i].mul == PPM_PERCENT && value > 100)
        value = 100; /* values above are due to rounding */
    p->value[i] = (uint64_t)(value * metrics[i].mul + 0.5);
}

/* Get n metrics from that one on; returns NVML's code. */
static int get(struct bj_nvml_visit *v, struct bj_nvml_gpm *p, uint32_t from,
               uint32_t n)
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
            take(p, from + i, q->metric[i].value);
    return code;
}

static void compare(struct bj_nvml_visit *v, struct bj_nvml_gpm *p)
{
    struct bj_nvml_reader *r = v->r;
    if (!r->get)
        r->get = malloc(sizeof(*r->get));
    if (!r->get)
        return;
    int code = get(v, p, 0, METRICS);
    int e = bj_nvml_errno(code);
    if (e == 0 || e == -ENODATA || e == -ENXIO || e == -ENODEV) {
        bj_nvml_succeeded(v, code, "GPM metrics");
        return;
    }
    /* One of them may be refused. */
    for (uint32_t i = 0; i < METRICS && !v->lost; i++) {
        code = get(v, p, i, 1);
        bj_nvml_succeeded(
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

void bj_nvml_profile(struct bj_nvml_visit *v)
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
    forget(p);
    if (!bj_nvml_succeeded(v, code, "GPM sample"))
        return;
    p->newest = 1 - p->newest;
    p->stamp_usec = now;
    if (!p->first)
        compare(v, p);
    publish(v->gpu, p);
}
