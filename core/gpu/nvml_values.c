/* Values of a device: one table for each type of call. */
#include "core/gpu/nvml_read.h"

#define AT(member) offsetof(struct bj_gpu_use, member)
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Make a call, unless the device is lost or the library lacks the call. */
#define CALL(v, call, ...)                                                     \
    (!(v)->lost && (v)->r->nv.call &&                                          \
     bj_nvml_succeeded(v, (v)->r->nv.call(__VA_ARGS__), #call))

enum {
    TEMPERATURE_GPU = 0, /* nvmlTemperatureSensors_t */
    FIELD_MEMORY_TEMPERATURE = 82,
    FIELD_PCIE_REPLAYS = 94,
    FIELD_NVLINK_TX = 138,
    FIELD_NVLINK_RX = 139
};

static void put(struct bj_gpu *g, size_t off, uint64_t value)
{
    *(uint64_t *)(void *)((char *)&g->use + off) = value;
}

void bj_nvml_memory_values(struct bj_nvml_visit *v,
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
            put(v->gpu, clocks[i], mhz * UINT64_C(1000000));
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
            put(v->gpu, errors[i].off, n);
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
        return bj_nvml_succeeded(v, code, "fields");
    bool any = false;
    for (size_t i = 0; i < n && !v->lost; i++) {
        int each = v->r->nv.fields(v->dev->handle, 1, &f[i]);
        /* This is how a driver says that it does not know the field. */
        if (each == BJ_NVML_BAD_ARGUMENT)
            each = BJ_NVML_NOT_SUPPORTED;
        if (bj_nvml_succeeded(v, each, "field"))
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
        uint64_t mul;
    } fields[] = {
        {FIELD_MEMORY_TEMPERATURE, 0, AT(memory_temperature_uc), 1000000},
        {FIELD_PCIE_REPLAYS, 0, AT(pcie_replays), 1},
        {FIELD_NVLINK_TX, UINT32_MAX, AT(nvlink_tx_bytes), 1024},
        {FIELD_NVLINK_RX, UINT32_MAX, AT(nvlink_rx_bytes), 1024},
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
            put(v->gpu, fields[i].off, value * fields[i].mul);
    }
}

void bj_nvml_device_values(struct bj_nvml_visit *v)
{
    bj_nvml_memory_values(v, v->dev->handle);
    power_values(v);
    state_values(v);
    clock_values(v);
    health_values(v);
    field_values(v);
}
