/* A libze_loader.so.1 that plays a script (FAKE_ZE), for machines without an
 * Intel GPU.  The layouts are those of core/gpu/ze.h.
 *
 *   gpu N pci DOMAIN BUS DEVICE FUNCTION
 *   power N K ON_SUBDEVICE MICROJOULES STAMP     K "card": of the whole card
 *   engine N K TYPE ON_SUBDEVICE ACTIVE STAMP
 *   memory N K LOCATION FREE SIZE
 *   sensor N K TYPE CELSIUS
 *   proc N PID BYTES
 *   fail SYMBOL CODE, hang SYMBOL MSEC
 *
 * K counts from 0.  Values that the script lacks are not supported. */
#include "core/gpu/ze.h"
#include "tests/gpu/fake_script.h"

#define EXPORT __attribute__((visibility("default")))

enum { GPUS = 8, PARTS = 16 };

/* A device (part "gpu") or a part of one. */
struct bj_ze_handle {
    unsigned gpu;
    const char *part;
    char k[8];
};

static struct bj_ze_handle driver, devices[GPUS];
static struct bj_ze_handle powers[GPUS][PARTS], engines[GPUS][PARTS],
    memories[GPUS][PARTS], sensors[GPUS][PARTS], cards[GPUS];

static unsigned begin(const char *symbol)
{
    pthread_mutex_lock(&script.lock);
    script_refresh("FAKE_ZE");
    return script_apply(symbol);
}

static unsigned end(unsigned code)
{
    pthread_mutex_unlock(&script.lock);
    return code;
}

static char (*of(const char *what, unsigned n, const char *k))[SCRIPT_WORD]
{
    char number[16];
    snprintf(number, sizeof(number), "%u", n);
    return script_find(what, number, k);
}

static char (*line_of(const struct bj_ze_handle *h))[SCRIPT_WORD]
{
    return of(h->part, h->gpu, h->k);
}

/* Handles of a device's parts that the script lists. */
static unsigned list(const struct bj_ze_handle *dev, const char *part,
                     struct bj_ze_handle v[PARTS], uint32_t *n,
                     struct bj_ze_handle **ret)
{
    uint32_t have = 0;
    for (unsigned k = 0; k < PARTS; k++) {
        v[k].gpu = dev->gpu;
        v[k].part = part;
        snprintf(v[k].k, sizeof(v[k].k), "%u", k);
        if (!line_of(&v[k]))
            break;
        if (have < *n)
            ret[have] = &v[k];
        have++;
    }
    *n = have < *n || *n == 0 ? have : *n;
    return BJ_ZE_OK;
}

#define CALL(name, ...)                                                        \
    EXPORT unsigned name(__VA_ARGS__);                                         \
    EXPORT unsigned name(__VA_ARGS__)
#define H struct bj_ze_handle

CALL(zesInit, uint32_t flags)
{
    return end(begin(flags ? "?" : __func__));
}

CALL(zesDriverGet, uint32_t *n, H **ret)
{
    unsigned code = begin(__func__);
    ret[0] = &driver;
    *n = 1;
    return end(code);
}

CALL(zesDeviceGet, H *d, uint32_t *n, H **ret)
{
    unsigned code = begin(d == &driver ? __func__ : "?");
    uint32_t have = 0;
    while (have < GPUS && have < *n && of("gpu", have, "pci")) {
        devices[have].gpu = have;
        ret[have] = &devices[have];
        have++;
    }
    *n = have;
    return end(code);
}

CALL(zesDevicePciGetProperties, H *d, struct bj_ze_pci *p)
{
    unsigned code = begin(__func__);
    char(*l)[SCRIPT_WORD] = of("gpu", d->gpu, "pci");
    if (p->stype != BJ_ZE_PCI_PROPERTIES || !l)
        return end(BJ_ZE_UNSUPPORTED);
    p->domain = (uint32_t)script_number(l[3]);
    p->bus = (uint32_t)script_number(l[4]);
    p->device = (uint32_t)script_number(l[5]);
    p->function = (uint32_t)script_number(l[6]);
    return end(code);
}

CALL(zesDeviceEnumPowerDomains, H *d, uint32_t *n, H **ret)
{
    unsigned code = begin(__func__);
    return end(code ? code : list(d, "power", powers[d->gpu], n, ret));
}

CALL(zesDeviceEnumEngineGroups, H *d, uint32_t *n, H **ret)
{
    unsigned code = begin(__func__);
    return end(code ? code : list(d, "engine", engines[d->gpu], n, ret));
}

CALL(zesDeviceEnumMemoryModules, H *d, uint32_t *n, H **ret)
{
    unsigned code = begin(__func__);
    return end(code ? code : list(d, "memory", memories[d->gpu], n, ret));
}

CALL(zesDeviceEnumTemperatureSensors, H *d, uint32_t *n, H **ret)
{
    unsigned code = begin(__func__);
    return end(code ? code : list(d, "sensor", sensors[d->gpu], n, ret));
}

CALL(zesDeviceGetCardPowerDomain, H *d, H **ret)
{
    unsigned code = begin(__func__);
    cards[d->gpu] = (H){d->gpu, "power", "card"};
    *ret = line_of(&cards[d->gpu]) ? &cards[d->gpu] : NULL;
    return end(code ? code : *ret ? BJ_ZE_OK : BJ_ZE_UNSUPPORTED);
}

/* The line of a part; NULL if the structure has another type. */
static char (*part(const H *h, uint32_t stype, uint32_t want))[SCRIPT_WORD]
{
    return stype == want ? line_of(h) : NULL;
}

CALL(zesPowerGetProperties, H *h, struct bj_ze_power *p)
{
    unsigned code = begin(__func__);
    char(*l)[SCRIPT_WORD] = part(h, p->stype, BJ_ZE_POWER_PROPERTIES);
    if (l)
        p->on_subdevice = l[3][0] == '1';
    return end(code ? code : l ? BJ_ZE_OK : BJ_ZE_UNSUPPORTED);
}

CALL(zesPowerGetEnergyCounter, H *h, struct bj_ze_energy *e)
{
    unsigned code = begin(__func__);
    char(*l)[SCRIPT_WORD] = line_of(h);
    if (l) {
        e->energy_uj = script_number(l[4]);
        e->stamp_usec = script_number(l[5]);
    }
    return end(code ? code : l ? BJ_ZE_OK : BJ_ZE_UNSUPPORTED);
}

CALL(zesEngineGetProperties, H *h, struct bj_ze_engine *e)
{
    unsigned code = begin(__func__);
    char(*l)[SCRIPT_WORD] = part(h, e->stype, BJ_ZE_ENGINE_PROPERTIES);
    if (l) {
        e->type = (uint32_t)script_number(l[3]);
        e->on_subdevice = l[4][0] == '1';
    }
    return end(code ? code : l ? BJ_ZE_OK : BJ_ZE_UNSUPPORTED);
}

CALL(zesEngineGetActivity, H *h, struct bj_ze_activity *a)
{
    unsigned code = begin(__func__);
    char(*l)[SCRIPT_WORD] = line_of(h);
    if (l) {
        a->active_usec = script_number(l[5]);
        a->stamp_usec = script_number(l[6]);
    }
    return end(code ? code : l ? BJ_ZE_OK : BJ_ZE_UNSUPPORTED);
}

CALL(zesMemoryGetProperties, H *h, struct bj_ze_memory *m)
{
    unsigned code = begin(__func__);
    char(*l)[SCRIPT_WORD] = part(h, m->stype, BJ_ZE_MEMORY_PROPERTIES);
    if (l)
        m->location = (uint32_t)script_number(l[3]);
    return end(code ? code : l ? BJ_ZE_OK : BJ_ZE_UNSUPPORTED);
}

CALL(zesMemoryGetState, H *h, struct bj_ze_memory_state *s)
{
    unsigned code = begin(__func__);
    char(*l)[SCRIPT_WORD] = part(h, s->stype, BJ_ZE_MEMORY_STATE);
    if (l) {
        s->free = script_number(l[4]);
        s->size = script_number(l[5]);
    }
    return end(code ? code : l ? BJ_ZE_OK : BJ_ZE_UNSUPPORTED);
}

CALL(zesTemperatureGetProperties, H *h, struct bj_ze_sensor *s)
{
    unsigned code = begin(__func__);
    char(*l)[SCRIPT_WORD] = part(h, s->stype, BJ_ZE_TEMPERATURE_PROPERTIES);
    if (l)
        s->type = (uint32_t)script_number(l[3]);
    return end(code ? code : l ? BJ_ZE_OK : BJ_ZE_UNSUPPORTED);
}

CALL(zesTemperatureGetState, H *h, double *celsius)
{
    unsigned code = begin(__func__);
    char(*l)[SCRIPT_WORD] = line_of(h);
    if (l)
        *celsius = strtod(l[4], NULL);
    return end(code ? code : l ? BJ_ZE_OK : BJ_ZE_UNSUPPORTED);
}

CALL(zesDeviceProcessesGetState, H *d, uint32_t *n, struct bj_ze_process *p)
{
    unsigned code = begin(__func__);
    char number[16];
    char(*l)[SCRIPT_WORD];
    uint32_t have = 0;
    size_t at = 0;
    snprintf(number, sizeof(number), "%u", d->gpu);
    while ((l = script_next(&at, "proc", number, NULL)) && have < *n) {
        if (p[have].stype != BJ_ZE_PROCESS_STATE)
            return end(BJ_ZE_UNSUPPORTED);
        p[have].pid = (uint32_t)script_number(l[2]);
        p[have++].memory_bytes = script_number(l[3]);
    }
    *n = have;
    return end(code);
}
