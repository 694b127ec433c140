/* Values of Level Zero for Intel GPUs that sysfs lacks: energy, memory, use of
 * the engines, temperatures, processes.  Devices are matched by PCI address.
 *
 * Counters of energy and activity are only usable as differences, each with its
 * own clock.  Level Zero cannot be unloaded, so it stays loaded. */
#include "core/gpu/ze.h"

#include "core/gpu/gpu.h"
#include "core/gpu/lib.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRIVERS = 8, DEVICES = 64, PARTS = 32, PROCESSES = 1024 };

static const struct bj_gpu_symbol symbols[] = {
#define SYMBOL(name, symbol, must, args)                                       \
    {#symbol, offsetof(struct bj_ze, name), must},
    BJ_ZE_CALLS(SYMBOL)
#undef SYMBOL
};

static const char *const names[] = {"libze_loader.so.1", NULL};

struct device {
    struct bj_ze_handle *handle;
    char pci[32];
    struct bj_ze_handle *power; /* of the whole card; NULL: none */
    /* engines: of the whole card, else of its tiles */
    uint32_t nengines, nmemories, nsensors;
    struct bj_ze_handle *engine[PARTS], *memory[PARTS], *sensor[PARTS];
    struct bj_ze_activity activity[PARTS];
    bool sensor_of_memory[PARTS];
};

struct ze {
    struct bj_ze lib;
    uint32_t n;
    struct device dev[DEVICES];
    struct bj_ze_process proc[PROCESSES];
};

/* A reading. */
struct visit {
    struct ze *z;
    struct bj_gpu_set *set;
    struct device *dev;
    struct bj_gpu *gpu;
    struct bj_err *err;
    int worst;
};

/* Whether a call returned a value; records faults. */
static bool succeeded(struct visit *v, unsigned code, const char *what)
{
    switch (code) {
    case BJ_ZE_OK:
        return true;
    case BJ_ZE_PERMISSION:
    case BJ_ZE_NOT_AVAILABLE:
    case BJ_ZE_UNSUPPORTED_VERSION:
    case BJ_ZE_UNSUPPORTED:
        return false;
    default:
        v->set->faults++;
        v->worst =
            bj_err_set(v->err, -EIO, "GPU %s: %s: %s (Level Zero error 0x%x)",
                       v->dev->pci, what,
                       code == BJ_ZE_LOST          ? "the GPU is lost"
                       : code == BJ_ZE_NEEDS_RESET ? "the GPU needs a reset"
                                                   : "failed",
                       code);
        return false;
    }
}

/* --- values ---------------------------------------------------------------*/

static void read_energy(struct visit *v)
{
    struct bj_ze_energy now = {0, 0};
    if (v->dev->power &&
        succeeded(v, v->z->lib.energy(v->dev->power, &now), "energy"))
        v->gpu->energy_raw_uj = now.energy_uj;
}

/* The mean over the tiles, if the card does not report the whole. */
static void read_engines(struct visit *v)
{
    struct device *d = v->dev;
    double sum = 0;
    uint32_t known = 0;
    for (uint32_t i = 0; i < d->nengines; i++) {
        struct bj_ze_activity now = {0, 0}, before = d->activity[i];
        bool good = succeeded(v, v->z->lib.activity(d->engine[i], &now),
                              "engine activity");
        d->activity[i] = now;
        if (!good || before.stamp_usec == 0 ||
            now.stamp_usec <= before.stamp_usec ||
            now.active_usec < before.active_usec)
            continue;
        double part = (double)(now.active_usec - before.active_usec) /
                      (double)(now.stamp_usec - before.stamp_usec);
        sum += part < 1 ? part : 1;
        known++;
    }
    if (known > 0 && known == d->nengines)
        v->gpu->use.busy_ppm = (uint64_t)(sum / known * 1e6 + 0.5);
}

static void ze_read_read_memory(struct visit *v)
{
    struct device *d = v->dev;
    uint64_t total = 0, used = 0;
    for (uint32_t i = 0; i < d->nmemories; i++) {
        struct bj_ze_memory_state s = {.stype = BJ_ZE_MEMORY_STATE};
        if (!succeeded(v, v->z->lib.memory_state(d->memory[i], &s), "memory") ||
            s.free > s.size || s.size > UINT64_C(1) << 56)
            return;
        total += s.size;
        used += s.size - s.free;
    }
    if (total > 0) {
        v->gpu->use.memory_total_bytes = total;
        v->gpu->use.memory_used_bytes = used;
    }
}

/* The hottest of several sensors. */
static void read_temperatures(struct visit *v)
{
    struct device *d = v->dev;
    for (uint32_t i = 0; i < d->nsensors; i++) {
        double celsius = NAN;
        uint64_t *to = d->sensor_of_memory[i]
                           ? &v->gpu->use.memory_temperature_uc
                           : &v->gpu->use.temperature_uc;
        if (!succeeded(v, v->z->lib.temperature(d->sensor[i], &celsius),
                       "temperature") ||
            !(celsius > 0 && celsius < 1000))
            continue;
        uint64_t uc = (uint64_t)(celsius * 1e6 + 0.5);
        if (*to == BJ_ABSENT || uc > *to)
            *to = uc;
    }
}

static void read_processes(struct visit *v)
{
    struct ze *z = v->z;
    uint32_t n = PROCESSES, at = (uint32_t)(v->gpu - v->set->v);
    if (!z->lib.processes)
        return;
    memset(z->proc, 0, sizeof(z->proc));
    for (uint32_t i = 0; i < PROCESSES; i++)
        z->proc[i].stype = BJ_ZE_PROCESS_STATE;
    if (!succeeded(v, z->lib.processes(v->dev->handle, &n, z->proc),
                   "processes") ||
        n > PROCESSES)
        return;
    v->gpu->use.processes = n;
    for (uint32_t i = 0; i < n; i++) {
        struct bj_gpu_proc *p = bj_gpu_add_proc(v->set, at, z->proc[i].pid);
        if (p)
            p->memory_bytes = z->proc[i].memory_bytes;
    }
}

/* --- parts of a device ----------------------------------------------------*/

/* List parts of a device; returns their number. */
static uint32_t ze_read_list(unsigned (*call)(struct bj_ze_handle *, uint32_t *,
                                              struct bj_ze_handle **),
                             struct bj_ze_handle *dev,
                             struct bj_ze_handle *ret[PARTS])
{
    uint32_t n = PARTS;
    if (!call || call(dev, &n, ret) != BJ_ZE_OK)
        return 0;
    return n < PARTS ? n : PARTS;
}

/* Choose the power domain: that of the card, else the only one that does not
 * belong to a tile. */
static void find_power(const struct bj_ze *l, struct device *d)
{
    struct bj_ze_handle *power[PARTS], *found = NULL;
    uint32_t whole = 0;
    if (!l->energy)
        return;
    if (l->card_power && l->card_power(d->handle, &found) == BJ_ZE_OK &&
        found) {
        d->power = found;
        return;
    }
    uint32_t n = l->power ? ze_read_list(l->powers, d->handle, power) : 0;
    for (uint32_t i = 0; i < n; i++) {
        struct bj_ze_power p = {.stype = BJ_ZE_POWER_PROPERTIES};
        if (l->power(power[i], &p) != BJ_ZE_OK || p.on_subdevice)
            continue;
        found = power[i];
        whole++;
    }
    d->power = whole == 1 ? found : NULL;
}

static void find_engines(const struct bj_ze *l, struct device *d)
{
    struct bj_ze_handle *engine[PARTS];
    bool whole = false;
    uint32_t n = l->engine && l->activity
                     ? ze_read_list(l->engines, d->handle, engine)
                     : 0;
    for (uint32_t i = 0; i < n && !whole; i++) {
        struct bj_ze_engine e = {.stype = BJ_ZE_ENGINE_PROPERTIES};
        if (l->engine(engine[i], &e) != BJ_ZE_OK || e.type != BJ_ZE_ENGINES_ALL)
            continue;
        whole = !e.on_subdevice;
        if (whole)
            d->nengines = 0;
        d->engine[d->nengines++] = engine[i];
    }
}

static void find_memory(const struct bj_ze *l, struct device *d)
{
    struct bj_ze_handle *memory[PARTS];
    uint32_t n = l->memory && l->memory_state
                     ? ze_read_list(l->memories, d->handle, memory)
                     : 0;
    for (uint32_t i = 0; i < n; i++) {
        struct bj_ze_memory m = {.stype = BJ_ZE_MEMORY_PROPERTIES};
        if (l->memory(memory[i], &m) == BJ_ZE_OK &&
            m.location == BJ_ZE_ON_DEVICE)
            d->memory[d->nmemories++] = memory[i];
    }
}

static void find_sensors(const struct bj_ze *l, struct device *d)
{
    struct bj_ze_handle *sensor[PARTS];
    uint32_t n = l->sensor && l->temperature
                     ? ze_read_list(l->sensors, d->handle, sensor)
                     : 0;
    for (uint32_t i = 0; i < n; i++) {
        struct bj_ze_sensor s = {.stype = BJ_ZE_TEMPERATURE_PROPERTIES};
        if (l->sensor(sensor[i], &s) != BJ_ZE_OK ||
            (s.type != BJ_ZE_SENSOR_GPU && s.type != BJ_ZE_SENSOR_MEMORY))
            continue;
        d->sensor_of_memory[d->nsensors] = s.type == BJ_ZE_SENSOR_MEMORY;
        d->sensor[d->nsensors++] = sensor[i];
    }
}

static void add_device(struct ze *z, struct bj_ze_handle *handle)
{
    struct bj_ze_pci p = {.stype = BJ_ZE_PCI_PROPERTIES};
    if (z->n == DEVICES || z->lib.pci(handle, &p) != BJ_ZE_OK)
        return;
    struct device *d = &z->dev[z->n++];
    d->handle = handle;
    snprintf(d->pci, sizeof(d->pci), "%04x:%02x:%02x.%x", p.domain, p.bus,
             p.device, p.function);
    find_power(&z->lib, d);
    find_engines(&z->lib, d);
    find_memory(&z->lib, d);
    find_sensors(&z->lib, d);
}

/* --- the source -----------------------------------------------------------*/

static bool ze_read_present(const struct bj_gpu_env *env)
{
    return !env->level_zero || strcmp(env->level_zero, "none") != 0;
}

static void close_ze(void *m)
{
    free(m);
}

static void find_devices(struct ze *z)
{
    struct bj_ze_handle *driver[DRIVERS], *device[DEVICES];
    uint32_t drivers = DRIVERS;
    if (z->lib.drivers(&drivers, driver) != BJ_ZE_OK)
        return;
    for (uint32_t i = 0; i < drivers && i < DRIVERS; i++) {
        uint32_t n = DEVICES;
        if (z->lib.devices(driver[i], &n, device) != BJ_ZE_OK)
            continue;
        for (uint32_t k = 0; k < n && k < DEVICES; k++)
            add_device(z, device[k]);
    }
}

static int open_ze(const struct bj_gpu_env *env, void **ret, struct bj_err *err)
{
    struct ze *z = calloc(1, sizeof(*z));
    if (!z)
        return bj_err_set(err, -ENOMEM, "Level Zero");
    int r = bj_gpu_lib_open(env->level_zero, names, symbols,
                            sizeof(symbols) / sizeof(symbols[0]), &z->lib,
                            &z->lib.lib, err);
    if (r == -ELIBBAD) /* an older version without the calls that we need */
        r = -ENODEV;
    unsigned code = r < 0 ? BJ_ZE_OK : z->lib.init(0);
    if (r == 0 && code == BJ_ZE_OK)
        find_devices(z);
    else if (r == 0)
        r = bj_err_set(err, -EIO, "initialise Level Zero: error 0x%x", code);
    if (r == 0 && z->n == 0)
        r = -ENODEV;
    if (r < 0) {
        close_ze(z);
        return r;
    }
    *ret = z;
    return 0;
}

static int read_ze(void *m, struct bj_gpu_set *out, struct bj_err *err)
{
    struct ze *z = m;
    struct visit v = {.z = z, .set = out, .err = err};
    for (uint32_t i = 0; i < z->n; i++) {
        v.dev = &z->dev[i];
        size_t before = out->n;
        v.gpu = bj_gpu_get(out, v.dev->pci);
        if (!v.gpu || out->n == before)
            continue;
        read_energy(&v);
        read_engines(&v);
        ze_read_read_memory(&v);
        read_temperatures(&v);
        read_processes(&v);
    }
    return v.worst;
}

const struct bj_gpu_kind bj_gpu_level_zero = {"level_zero", ze_read_present,
                                              open_ze, read_ze, close_ze};
