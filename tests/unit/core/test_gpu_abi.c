/* Compares, when compiled, the layouts, numbers and prototypes of AMD's and
 * Intel's libraries in core/gpu with the vendors' headers, if those are
 * installed (librocm-smi-dev, libze-dev). */
#include "core/gpu/rsmi.h"
#include "core/gpu/ze.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define SAME(a, b) _Static_assert((a) == (b), #a)
#define SIZE(ours, theirs) SAME(sizeof(struct ours), sizeof(theirs))
#define MEMBER(ours, member, theirs, name)                                     \
    SAME(offsetof(struct ours, member), offsetof(theirs, name));               \
    SAME(sizeof(((struct ours *)0)->member), sizeof(((theirs *)0)->name))
#define IS(function, ...)                                                      \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&(function)),       \
                                                unsigned (*)(__VA_ARGS__)),    \
                   #function)

#if __has_include(<rocm_smi/rocm_smi.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <rocm_smi/rocm_smi.h>
#pragma GCC diagnostic pop
static const bool rocm = true;
SIZE(bj_rsmi_errors, rsmi_error_count_t);
MEMBER(bj_rsmi_errors, corrected, rsmi_error_count_t, correctable_err);
MEMBER(bj_rsmi_errors, uncorrected, rsmi_error_count_t, uncorrectable_err);
SIZE(bj_rsmi_process, rsmi_process_info_t);
MEMBER(bj_rsmi_process, pid, rsmi_process_info_t, process_id);
MEMBER(bj_rsmi_process, vram_bytes, rsmi_process_info_t, vram_usage);
MEMBER(bj_rsmi_process, sdma_usec, rsmi_process_info_t, sdma_usage);
MEMBER(bj_rsmi_process, occupancy, rsmi_process_info_t, cu_occupancy);
SAME((unsigned)BJ_RSMI_OK, (unsigned)RSMI_STATUS_SUCCESS);
SAME((unsigned)BJ_RSMI_NOT_SUPPORTED, (unsigned)RSMI_STATUS_NOT_SUPPORTED);
SAME((unsigned)BJ_RSMI_FILE_ERROR, (unsigned)RSMI_STATUS_FILE_ERROR);
SAME((unsigned)BJ_RSMI_PERMISSION, (unsigned)RSMI_STATUS_PERMISSION);
SAME((unsigned)BJ_RSMI_INIT_ERROR, (unsigned)RSMI_STATUS_INIT_ERROR);
SAME((unsigned)BJ_RSMI_NOT_IMPLEMENTED,
     (unsigned)RSMI_STATUS_NOT_YET_IMPLEMENTED);
SAME((unsigned)BJ_RSMI_NOT_FOUND, (unsigned)RSMI_STATUS_NOT_FOUND);
SAME((unsigned)BJ_RSMI_TOO_SMALL, (unsigned)RSMI_STATUS_INSUFFICIENT_SIZE);
SAME((unsigned)BJ_RSMI_NO_DATA, (unsigned)RSMI_STATUS_NO_DATA);
SAME((unsigned)BJ_RSMI_BUSY, (unsigned)RSMI_STATUS_BUSY);
SAME((uint64_t)BJ_RSMI_BLOCK_PCIE, (uint64_t)RSMI_GPU_BLOCK_PCIE_BIF);
SAME((uint64_t)BJ_RSMI_BLOCK_XGMI, (uint64_t)RSMI_GPU_BLOCK_XGMI_WAFL);
SAME(sizeof(rsmi_gpu_block_t), sizeof(uint64_t));
SAME(sizeof(rsmi_status_t), sizeof(unsigned));
IS(rsmi_init, uint64_t);
IS(rsmi_shut_down, void);
IS(rsmi_num_monitor_devices, uint32_t *);
IS(rsmi_dev_pci_id_get, uint32_t, uint64_t *);
IS(rsmi_dev_energy_count_get, uint32_t, uint64_t *, float *, uint64_t *);
IS(rsmi_dev_ecc_count_get, uint32_t, rsmi_gpu_block_t, rsmi_error_count_t *);
IS(rsmi_dev_pci_replay_counter_get, uint32_t, uint64_t *);
IS(rsmi_compute_process_info_get, rsmi_process_info_t *, uint32_t *);
IS(rsmi_compute_process_gpus_get, uint32_t, uint32_t *, uint32_t *);
#else
static const bool rocm = false;
#endif

#if __has_include(<level_zero/zes_api.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <level_zero/zes_api.h>
#pragma GCC diagnostic pop
static const bool level_zero = true;
SIZE(bj_ze_pci, zes_pci_properties_t);
MEMBER(bj_ze_pci, stype, zes_pci_properties_t, stype);
MEMBER(bj_ze_pci, next, zes_pci_properties_t, pNext);
MEMBER(bj_ze_pci, domain, zes_pci_properties_t, address.domain);
MEMBER(bj_ze_pci, bus, zes_pci_properties_t, address.bus);
MEMBER(bj_ze_pci, device, zes_pci_properties_t, address.device);
MEMBER(bj_ze_pci, function, zes_pci_properties_t, address.function);
SIZE(bj_ze_power, zes_power_properties_t);
MEMBER(bj_ze_power, on_subdevice, zes_power_properties_t, onSubdevice);
SIZE(bj_ze_energy, zes_power_energy_counter_t);
MEMBER(bj_ze_energy, energy_uj, zes_power_energy_counter_t, energy);
MEMBER(bj_ze_energy, stamp_usec, zes_power_energy_counter_t, timestamp);
SIZE(bj_ze_engine, zes_engine_properties_t);
MEMBER(bj_ze_engine, type, zes_engine_properties_t, type);
MEMBER(bj_ze_engine, on_subdevice, zes_engine_properties_t, onSubdevice);
SIZE(bj_ze_activity, zes_engine_stats_t);
MEMBER(bj_ze_activity, active_usec, zes_engine_stats_t, activeTime);
MEMBER(bj_ze_activity, stamp_usec, zes_engine_stats_t, timestamp);
SIZE(bj_ze_memory, zes_mem_properties_t);
MEMBER(bj_ze_memory, location, zes_mem_properties_t, location);
SIZE(bj_ze_memory_state, zes_mem_state_t);
MEMBER(bj_ze_memory_state, free, zes_mem_state_t, free);
MEMBER(bj_ze_memory_state, size, zes_mem_state_t, size);
SIZE(bj_ze_sensor, zes_temp_properties_t);
MEMBER(bj_ze_sensor, type, zes_temp_properties_t, type);
SIZE(bj_ze_process, zes_process_state_t);
MEMBER(bj_ze_process, pid, zes_process_state_t, processId);
MEMBER(bj_ze_process, memory_bytes, zes_process_state_t, memSize);
SAME(BJ_ZE_OK, (unsigned)ZE_RESULT_SUCCESS);
SAME(BJ_ZE_LOST, (unsigned)ZE_RESULT_ERROR_DEVICE_LOST);
SAME(BJ_ZE_NEEDS_RESET, (unsigned)ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET);
SAME(BJ_ZE_PERMISSION, (unsigned)ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS);
SAME(BJ_ZE_NOT_AVAILABLE, (unsigned)ZE_RESULT_ERROR_NOT_AVAILABLE);
SAME(BJ_ZE_UNSUPPORTED_VERSION, (unsigned)ZE_RESULT_ERROR_UNSUPPORTED_VERSION);
SAME(BJ_ZE_UNSUPPORTED, (unsigned)ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
#define STYPE(ours, theirs)                                                    \
    SAME((unsigned)(ours), (unsigned)ZES_STRUCTURE_TYPE_##theirs)
STYPE(BJ_ZE_PCI_PROPERTIES, PCI_PROPERTIES);
STYPE(BJ_ZE_ENGINE_PROPERTIES, ENGINE_PROPERTIES);
STYPE(BJ_ZE_MEMORY_PROPERTIES, MEM_PROPERTIES);
STYPE(BJ_ZE_POWER_PROPERTIES, POWER_PROPERTIES);
STYPE(BJ_ZE_TEMPERATURE_PROPERTIES, TEMP_PROPERTIES);
STYPE(BJ_ZE_PROCESS_STATE, PROCESS_STATE);
STYPE(BJ_ZE_MEMORY_STATE, MEM_STATE);
SAME((unsigned)BJ_ZE_ENGINES_ALL, (unsigned)ZES_ENGINE_GROUP_ALL);
SAME((unsigned)BJ_ZE_ON_DEVICE, (unsigned)ZES_MEM_LOC_DEVICE);
SAME((unsigned)BJ_ZE_SENSOR_GLOBAL, (unsigned)ZES_TEMP_SENSORS_GLOBAL);
SAME((unsigned)BJ_ZE_SENSOR_GPU, (unsigned)ZES_TEMP_SENSORS_GPU);
SAME((unsigned)BJ_ZE_SENSOR_MEMORY, (unsigned)ZES_TEMP_SENSORS_MEMORY);
IS(zesDevicePciGetProperties, zes_device_handle_t, zes_pci_properties_t *);
IS(zesDeviceEnumPowerDomains, zes_device_handle_t, uint32_t *,
   zes_pwr_handle_t *);
IS(zesDeviceGetCardPowerDomain, zes_device_handle_t, zes_pwr_handle_t *);
IS(zesPowerGetProperties, zes_pwr_handle_t, zes_power_properties_t *);
IS(zesPowerGetEnergyCounter, zes_pwr_handle_t, zes_power_energy_counter_t *);
IS(zesDeviceEnumEngineGroups, zes_device_handle_t, uint32_t *,
   zes_engine_handle_t *);
IS(zesEngineGetProperties, zes_engine_handle_t, zes_engine_properties_t *);
IS(zesEngineGetActivity, zes_engine_handle_t, zes_engine_stats_t *);
IS(zesDeviceEnumMemoryModules, zes_device_handle_t, uint32_t *,
   zes_mem_handle_t *);
IS(zesMemoryGetProperties, zes_mem_handle_t, zes_mem_properties_t *);
IS(zesMemoryGetState, zes_mem_handle_t, zes_mem_state_t *);
IS(zesDeviceEnumTemperatureSensors, zes_device_handle_t, uint32_t *,
   zes_temp_handle_t *);
IS(zesTemperatureGetProperties, zes_temp_handle_t, zes_temp_properties_t *);
IS(zesTemperatureGetState, zes_temp_handle_t, double *);
IS(zesDeviceProcessesGetState, zes_device_handle_t, uint32_t *,
   zes_process_state_t *);
#else
static const bool level_zero = false;
#endif

static void test_headers(void **state)
{
    (void)state;
    printf("# librocm-smi-dev: %s, libze-dev: %s\n",
           rocm ? "compared" : "not installed",
           level_zero ? "compared" : "not installed");
    if (!rocm && !level_zero)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_headers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
