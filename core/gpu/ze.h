/* Level Zero's system management (Sysman), loaded at run time: our own
 * prototypes and layouts, so that no file of Intel is needed to build.
 *
 * Source: zes_api.h of Level Zero 1.8, with which the unit tests compare if it
 * is installed (libze-dev); zesInit, zesDriverGet and zesDeviceGet exist since
 * 1.10. */
#ifndef BJ_CORE_GPU_ZE_H
#define BJ_CORE_GPU_ZE_H

#include <stddef.h>
#include <stdint.h>

/* The values of ze_result_t that we use. */
#define BJ_ZE_OK 0u
#define BJ_ZE_LOST 0x70000001u
#define BJ_ZE_NEEDS_RESET 0x70000006u
#define BJ_ZE_PERMISSION 0x70010000u
#define BJ_ZE_NOT_AVAILABLE 0x70010001u
#define BJ_ZE_UNSUPPORTED_VERSION 0x78000002u
#define BJ_ZE_UNSUPPORTED 0x78000003u

/* zes_structure_type_t */
enum {
    BJ_ZE_PCI_PROPERTIES = 0x2,
    BJ_ZE_ENGINE_PROPERTIES = 0x5,
    BJ_ZE_MEMORY_PROPERTIES = 0xb,
    BJ_ZE_POWER_PROPERTIES = 0xd,
    BJ_ZE_TEMPERATURE_PROPERTIES = 0x14,
    BJ_ZE_PROCESS_STATE = 0x16,
    BJ_ZE_MEMORY_STATE = 0x1e
};

/* zes_engine_group_t, zes_mem_loc_t, zes_temp_sensors_t */
enum { BJ_ZE_ENGINES_ALL = 0 };
enum { BJ_ZE_ON_DEVICE = 1 };
enum { BJ_ZE_SENSOR_GLOBAL = 0, BJ_ZE_SENSOR_GPU = 1, BJ_ZE_SENSOR_MEMORY = 2 };

struct bj_ze_pci { /* zes_pci_properties_t */
    uint32_t stype;
    void *next;
    uint32_t domain, bus, device, function;
    uint64_t speed[2];
    uint8_t counters[3];
};

struct bj_ze_power { /* zes_power_properties_t */
    uint32_t stype;
    void *next;
    uint8_t on_subdevice;
    uint32_t subdevice;
    uint8_t can_control, threshold;
    int32_t limit[3];
};

struct bj_ze_energy { /* zes_power_energy_counter_t */
    uint64_t energy_uj, stamp_usec;
};

struct bj_ze_engine { /* zes_engine_properties_t */
    uint32_t stype;
    void *next;
    uint32_t type;
    uint8_t on_subdevice;
    uint32_t subdevice;
};

struct bj_ze_activity { /* zes_engine_stats_t */
    uint64_t active_usec, stamp_usec;
};

struct bj_ze_memory { /* zes_mem_properties_t */
    uint32_t stype;
    void *next;
    uint32_t type;
    uint8_t on_subdevice;
    uint32_t subdevice, location;
    uint64_t size;
    int32_t width, channels;
};

struct bj_ze_memory_state { /* zes_mem_state_t */
    uint32_t stype;
    const void *next;
    uint32_t health;
    uint64_t free, size;
};

struct bj_ze_sensor { /* zes_temp_properties_t */
    uint32_t stype;
    void *next;
    uint32_t type;
    uint8_t on_subdevice;
    uint32_t subdevice;
    double max;
    uint8_t flags[3];
};

struct bj_ze_process { /* zes_process_state_t */
    uint32_t stype;
    const void *next;
    uint32_t pid;
    uint64_t memory_bytes, shared_bytes;
    uint32_t engines;
};

#define BJ_ZE_AT(type, member, at)                                             \
    _Static_assert(offsetof(struct type, member) == (at), #type "." #member)
#define BJ_ZE_SIZE(type, n)                                                    \
    _Static_assert(sizeof(struct type) == (n), #type " has another size")
BJ_ZE_SIZE(bj_ze_pci, 56);
BJ_ZE_AT(bj_ze_pci, domain, 16);
BJ_ZE_AT(bj_ze_pci, function, 28);
BJ_ZE_SIZE(bj_ze_power, 40);
BJ_ZE_AT(bj_ze_power, on_subdevice, 16);
BJ_ZE_SIZE(bj_ze_energy, 16);
BJ_ZE_SIZE(bj_ze_engine, 32);
BJ_ZE_AT(bj_ze_engine, type, 16);
BJ_ZE_AT(bj_ze_engine, on_subdevice, 20);
BJ_ZE_SIZE(bj_ze_activity, 16);
BJ_ZE_SIZE(bj_ze_memory, 48);
BJ_ZE_AT(bj_ze_memory, location, 28);
BJ_ZE_AT(bj_ze_memory, size, 32);
BJ_ZE_SIZE(bj_ze_memory_state, 40);
BJ_ZE_AT(bj_ze_memory_state, free, 24);
BJ_ZE_AT(bj_ze_memory_state, size, 32);
BJ_ZE_SIZE(bj_ze_sensor, 48);
BJ_ZE_AT(bj_ze_sensor, type, 16);
BJ_ZE_SIZE(bj_ze_process, 48);
BJ_ZE_AT(bj_ze_process, pid, 16);
BJ_ZE_AT(bj_ze_process, memory_bytes, 24);

struct bj_ze_handle; /* opaque */

/* All calls: our name, symbol, whether it is required, arguments.  Calls for
 * lists get the size of the array and return the length of the list. */
#define BJ_ZE_CALLS(X)                                                         \
    X(init, zesInit, true, (uint32_t))                                         \
    X(drivers, zesDriverGet, true, (uint32_t *, struct bj_ze_handle **))       \
    X(devices, zesDeviceGet, true,                                             \
      (struct bj_ze_handle *, uint32_t *, struct bj_ze_handle **))             \
    X(pci, zesDevicePciGetProperties, true,                                    \
      (struct bj_ze_handle *, struct bj_ze_pci *))                             \
    X(powers, zesDeviceEnumPowerDomains, false,                                \
      (struct bj_ze_handle *, uint32_t *, struct bj_ze_handle **))             \
    X(card_power, zesDeviceGetCardPowerDomain, false,                          \
      (struct bj_ze_handle *, struct bj_ze_handle **))                         \
    X(power, zesPowerGetProperties, false,                                     \
      (struct bj_ze_handle *, struct bj_ze_power *))                           \
    X(energy, zesPowerGetEnergyCounter, false,                                 \
      (struct bj_ze_handle *, struct bj_ze_energy *))                          \
    X(engines, zesDeviceEnumEngineGroups, false,                               \
      (struct bj_ze_handle *, uint32_t *, struct bj_ze_handle **))             \
    X(engine, zesEngineGetProperties, false,                                   \
      (struct bj_ze_handle *, struct bj_ze_engine *))                          \
    X(activity, zesEngineGetActivity, false,                                   \
      (struct bj_ze_handle *, struct bj_ze_activity *))                        \
    X(memories, zesDeviceEnumMemoryModules, false,                             \
      (struct bj_ze_handle *, uint32_t *, struct bj_ze_handle **))             \
    X(memory, zesMemoryGetProperties, false,                                   \
      (struct bj_ze_handle *, struct bj_ze_memory *))                          \
    X(memory_state, zesMemoryGetState, false,                                  \
      (struct bj_ze_handle *, struct bj_ze_memory_state *))                    \
    X(sensors, zesDeviceEnumTemperatureSensors, false,                         \
      (struct bj_ze_handle *, uint32_t *, struct bj_ze_handle **))             \
    X(sensor, zesTemperatureGetProperties, false,                              \
      (struct bj_ze_handle *, struct bj_ze_sensor *))                          \
    X(temperature, zesTemperatureGetState, false,                              \
      (struct bj_ze_handle *, double *))                                       \
    X(processes, zesDeviceProcessesGetState, false,                            \
      (struct bj_ze_handle *, uint32_t *, struct bj_ze_process *))

/* The loaded library.  Missing calls are NULL. */
struct bj_ze {
    void *lib;
#define BJ_ZE_MEMBER(name, symbol, must, args) unsigned(*name) args;
    BJ_ZE_CALLS(BJ_ZE_MEMBER)
#undef BJ_ZE_MEMBER
};

#endif
