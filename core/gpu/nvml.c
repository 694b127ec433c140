#include "core/gpu/nvml.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#define AT(member) offsetof(struct bj_nvml, member)

/* Symbols.  Of several for one call, the first existing one is used; they have
 * the same arguments and layouts. */
static const struct {
    const char *symbol;
    size_t off;
    bool must;
} symbols[] = {
    {"nvmlInit_v2", AT(init), true},
    {"nvmlShutdown", AT(shutdown), true},
    {"nvmlDeviceGetCount_v2", AT(count), true},
    {"nvmlDeviceGetHandleByIndex_v2", AT(by_index), true},
    {"nvmlSystemGetDriverVersion", AT(driver), false},
    {"nvmlDeviceGetUUID", AT(uuid), false},
    {"nvmlDeviceGetName", AT(name), false},
    {"nvmlDeviceGetMinorNumber", AT(minor), false},
    {"nvmlDeviceGetPciInfo_v3", AT(pci), false},
    {"nvmlDeviceGetMemoryInfo", AT(memory), false},
    {"nvmlDeviceGetMemoryInfo_v2", AT(memory2), false},
    {"nvmlDeviceGetUtilizationRates", AT(utilization), false},
    {"nvmlDeviceGetPowerUsage", AT(power), false},
    {"nvmlDeviceGetEnforcedPowerLimit", AT(power_limit), false},
    {"nvmlDeviceGetTotalEnergyConsumption", AT(energy), false},
    {"nvmlDeviceGetTemperature", AT(temperature), false},
    {"nvmlDeviceGetTemperatureV", AT(temperature_v), false},
    {"nvmlDeviceGetClockInfo", AT(clock), false},
    {"nvmlDeviceGetFanSpeed", AT(fan), false},
    {"nvmlDeviceGetNumGpuCores", AT(cores), false},
    {"nvmlDeviceGetCudaComputeCapability", AT(capability), false},
    {"nvmlDeviceGetSupportedEventTypes", AT(event_types), false},
    {"nvmlEventSetCreate", AT(event_set), false},
    {"nvmlDeviceRegisterEvents", AT(event_register), false},
    {"nvmlEventSetWait_v2", AT(event_wait), false},
    {"nvmlEventSetFree", AT(event_free), false},
    {"nvmlDeviceGetTotalEccErrors", AT(ecc), false},
    {"nvmlDeviceGetRemappedRows", AT(remapped), false},
    {"nvmlDeviceGetCurrentClocksEventReasons", AT(throttle), false},
    {"nvmlDeviceGetCurrentClocksThrottleReasons", AT(throttle), false},
    {"nvmlDeviceGetComputeRunningProcesses_v3", AT(compute), false},
    {"nvmlDeviceGetComputeRunningProcesses_v2", AT(compute), false},
    {"nvmlDeviceGetGraphicsRunningProcesses_v3", AT(graphics), false},
    {"nvmlDeviceGetGraphicsRunningProcesses_v2", AT(graphics), false},
    {"nvmlDeviceGetMPSComputeRunningProcesses_v3", AT(mps), false},
    {"nvmlDeviceGetMPSComputeRunningProcesses_v2", AT(mps), false},
    {"nvmlDeviceGetProcessUtilization", AT(process_use), false},
    {"nvmlDeviceGetFieldValues", AT(fields), false},
    {"nvmlDeviceGetMigMode", AT(mig_mode), false},
    {"nvmlDeviceGetMaxMigDeviceCount", AT(mig_max), false},
    {"nvmlDeviceGetMigDeviceHandleByIndex", AT(mig_by_index), false},
    {"nvmlDeviceGetGpuInstanceId", AT(gpu_instance), false},
    {"nvmlDeviceGetComputeInstanceId", AT(compute_instance), false},
    {"nvmlDeviceGetAttributes_v2", AT(attributes), false},
    {"nvmlGpmQueryDeviceSupport", AT(gpm_support), false},
    {"nvmlGpmSampleAlloc", AT(gpm_alloc), false},
    {"nvmlGpmSampleFree", AT(gpm_free), false},
    {"nvmlGpmSampleGet", AT(gpm_sample), false},
    {"nvmlGpmMigSampleGet", AT(gpm_mig_sample), false},
    {"nvmlGpmMetricsGet", AT(gpm_metrics), false},
};

static const struct {
    int code, error;
    const char *text;
} codes[] = {
    {BJ_NVML_OK, 0, "success"},
    {BJ_NVML_UNINITIALIZED, -ENODEV, "not initialised"},
    {BJ_NVML_NOT_SUPPORTED, -ENODATA, "not supported"},
    {BJ_NVML_NO_PERMISSION, -EACCES, "no permission"},
    {BJ_NVML_NOT_FOUND, -ENODATA, "not found"},
    {BJ_NVML_NO_DRIVER, -ENODEV, "the driver is not loaded"},
    {BJ_NVML_TIMEOUT, -ETIMEDOUT, "timeout"},
    {BJ_NVML_NO_FUNCTION, -ENODATA, "function not found"},
    {BJ_NVML_LOST, -ENXIO, "the GPU is lost"},
    {BJ_NVML_RESET_REQUIRED, -ENXIO, "the GPU needs a reset"},
    {BJ_NVML_BLOCKED, -EACCES, "blocked by the operating system"},
    {BJ_NVML_MISMATCH, -ENODEV, "driver and library do not match"},
    {BJ_NVML_NO_DATA, -ENODATA, "no data"},
    {BJ_NVML_VERSION, -ENODATA, "unknown version of an argument"},
    {BJ_NVML_DEPRECATED, -ENODATA, "withdrawn"},
    {BJ_NVML_NOT_READY, -ENODATA, "not ready"},
    {BJ_NVML_NO_GPU, -ENXIO, "no such GPU"},
    {BJ_NVML_UNKNOWN, -EIO, "unknown error"},
};
enum { CODES = sizeof(codes) / sizeof(codes[0]) };

int bj_nvml_errno(int code)
{
    for (size_t i = 0; i < CODES; i++)
        if (codes[i].code == code)
            return codes[i].error;
    return -EIO;
}

const char *bj_nvml_text(int code)
{
    for (size_t i = 0; i < CODES; i++)
        if (codes[i].code == code)
            return codes[i].text;
    return "error";
}

/* False, with a message, if a required symbol is missing. */
static bool resolve(struct bj_nvml *nv, struct bj_err *err)
{
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        char *member = (char *)nv + symbols[i].off;
        void *known, *found = dlsym(nv->lib, symbols[i].symbol);
        memcpy(&known, member, sizeof(known));
        if (!known && found)
            memcpy(member, &found, sizeof(found));
        if (!found && symbols[i].must) {
            bj_err_set(err, -ELIBBAD, "NVML has no %s", symbols[i].symbol);
            return false;
        }
    }
    return true;
}

int bj_nvml_open(struct bj_nvml *nv, const char *path, struct bj_err *err)
{
    *nv = (struct bj_nvml){0};
    const char *name = path && *path ? path : "libnvidia-ml.so.1";
    nv->lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!nv->lib)
        return bj_err_set(err, -ENODEV, "cannot load %s", name);
    if (!resolve(nv, err)) {
        dlclose(nv->lib);
        nv->lib = NULL;
        return -ELIBBAD;
    }
    int code = nv->init();
    if (code == BJ_NVML_OK)
        return 0;
    dlclose(nv->lib);
    nv->lib = NULL;
    /* Driver and library differ while the driver is being replaced: log this,
     * although no action is needed. */
    int r = code == BJ_NVML_MISMATCH ? -EIO : bj_nvml_errno(code);
    if (r == -ENXIO || r == -ENODATA)
        r = -ENODEV;
    return bj_err_set(err, r, "initialise NVML: %s (%d)", bj_nvml_text(code),
                      code);
}

void bj_nvml_close(struct bj_nvml *nv)
{
    if (!nv->lib)
        return;
    nv->shutdown();
    dlclose(nv->lib);
    *nv = (struct bj_nvml){0};
}
