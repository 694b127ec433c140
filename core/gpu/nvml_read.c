/* NVIDIA's GPUs and their MIG instances. */
#include "core/gpu/nvml_read.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECOND = 1000000, REOPEN_USEC = 60 * SECOND };

/* --- the library ----------------------------------------------------------*/

static bool present(const struct bj_gpu_env *env)
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
    bj_nvml_gpm_prune(r, true);
    bj_nvml_events_close(r);
    bj_nvml_close(&r->nv);
    free(r->procs);
    free(r->uses);
    free(r);
}

static void text(int (*call)(struct bj_nvml_device *, char *, unsigned),
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
    text(nv->uuid, dev->handle, dev->uuid);
    text(nv->name, dev->handle, dev->model);
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
    bj_nvml_events_open(r, env->xids);
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
    text(nv->uuid, mig, g->uuid);
    if (!*g->uuid) { /* the instance has gone meanwhile */
        v->set->n--;
        return;
    }
    text(nv->name, mig, g->model);
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
        bj_nvml_succeeded(v, nv->attributes(mig, &a), "attributes")) {
        g->use.multiprocessors = a.sms;
        g->use.slices = a.gpu_slices;
    }
    bj_nvml_memory_values(v, mig);
    bj_nvml_profile(v);
    v->gpu = device;
}

static void read_instances(struct bj_nvml_visit *v)
{
    const struct bj_nvml *nv = &v->r->nv;
    unsigned mode = 0, pending = 0, max = 0;
    if (!nv->mig_mode || !nv->mig_by_index ||
        !bj_nvml_succeeded(v, nv->mig_mode(v->dev->handle, &mode, &pending),
                           "MIG mode") ||
        mode != 1)
        return;
    v->gpu->split = true;
    if (!nv->mig_max || nv->mig_max(v->dev->handle, &max) != BJ_NVML_OK)
        max = BJ_NVML_INSTANCES;
    for (unsigned i = 0; i < max && !v->lost; i++) {
        struct bj_nvml_device *mig = NULL;
        int code = nv->mig_by_index(v->dev->handle, i, &mig);
        if (bj_nvml_succeeded(v, code, "MIG instance") && mig)
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
    }
    struct bj_nvml_visit v = {
        .r = r, .dev = dev, .set = out, .gpu = g, .err = err};
    read_instances(&v);
    bj_nvml_device_values(&v);
    bj_nvml_profile(&v);
    bj_nvml_processes(&v);
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

static int read_all(void *m, struct bj_gpu_set *out, struct bj_err *err)
{
    struct bj_nvml_reader *r = m;
    unsigned n = 0;
    int worst = 0;
    bool again = false;
    int code = r->nv.count(&n);
    if (code != BJ_NVML_OK || (n != r->n && n <= BJ_NVML_DEVICES))
        return -ENODEV;
    bj_nvml_events_take(r);
    r->reading++;
    memcpy(out->driver, r->driver, sizeof(out->driver));
    for (unsigned i = 0; i < r->n; i++) {
        int f = read_device(r, i, out, err);
        again |= stale(r, f);
        worst = f < 0 ? f : worst;
    }
    bj_nvml_gpm_prune(r, false);
    return again ? -ENODEV : worst;
}

const struct bj_gpu_kind bj_gpu_nvml = {"nvml", present, open_reader, read_all,
                                        close_reader};
