/* Flags of CEEMS' exporter 0.10, from its documentation. */
#include "standalone/as_tables.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Indexes in the table. */
enum {
    DISABLE,
    CPU,
    MEMINFO,
    RAPL,
    SLURM,
    SWAP,
    PSI,
    GPU_TYPE,
    DCMI,
    DCMI_CMD,
    REDFISH,
    CRAY,
    EMISSIONS
};

#define NOT_EXPORTED(flag)                                                     \
    {                                                                          \
        SWITCH(flag), .only = "false", .why = "not exported"                   \
    }
#define NO_USE(flag, preset)                                                   \
    {                                                                          \
        .name = flag, .only = preset, .why = "not exported"                    \
    }

/* nogpu is stored in as->on. */
static int take_type(struct bj_as *as, const struct bj_as_flag *flag,
                     const char *value, struct bj_err *err)
{
    if (strcmp(value, "nogpu") == 0)
        as->on |= 1ull << GPU_TYPE;
    else if (*value && strcmp(value, "nvidia") != 0 &&
             strcmp(value, "amd") != 0)
        return bj_err_set(err, -EINVAL,
                          "%s: '%.40s' is not nvidia, amd or nogpu", flag->name,
                          value);
    else
        as->on &= ~(1ull << GPU_TYPE);
    return 0;
}

static int take_provider(struct bj_as *as, const struct bj_as_flag *flag,
                         const char *value, struct bj_err *err)
{
    static const char *const names[][2] = {{"owid", "table"},
                                           {"emaps", "electricitymaps"},
                                           {"rte", "rte"},
                                           {"wt", "watttime"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(value, names[i][0]) == 0)
            return bj_as_add(as, "--emissions.provider=%s", names[i][1], err);
    return bj_err_set(err, -EINVAL, "%s: '%.40s' is not owid, emaps, rte or wt",
                      flag->name, value);
}

/* Whether a collector is on; preset: its default. */
static bool is_on(const struct bj_as *as, unsigned flag, bool preset)
{
    if (as->seen & 1ull << flag)
        return as->on & 1ull << flag;
    return preset && !(as->on & 1ull << DISABLE);
}

/* Exclude families of our collectors that were not requested. */
static int set_exclude(struct bj_as *as, struct bj_err *err)
{
    char text[120] = "";
    const struct {
        const char *families;
        bool enabled;
    } v[] = {
        {"|^ceems_cpu_", is_on(as, CPU, true)},
        {"|^ceems_meminfo_", is_on(as, MEMINFO, true)},
        {"|^ceems_compute_unit", is_on(as, SLURM, false)},
        {"|_memsw_", is_on(as, SWAP, false)},
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
        if (!v[i].enabled)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s",
                                  v[i].families);
    return n > 0 ? bj_as_add(as, "--dialect.exclude=%s", text + 1, err) : 0;
}

static int set_collectors(struct bj_as *as, struct bj_err *err)
{
    const bool slurm = is_on(as, SLURM, false), rapl = is_on(as, RAPL, true),
               dcmi = is_on(as, DCMI, false),
               redfish = is_on(as, REDFISH, false),
               cray = is_on(as, CRAY, false);
    const struct {
        const char *on, *off;
        bool enabled;
    } v[] = {
        {"--collector.cpu", "--no-collector.cpu", slurm},
        {"--collector.memory", "--no-collector.memory", slurm},
        {"--collector.pressure", "--no-collector.pressure",
         slurm && is_on(as, PSI, false)},
        {"--collector.gpu", "--no-collector.gpu",
         slurm && !(as->on & 1ull << GPU_TYPE)},
        {"--collector.node", "--no-collector.node",
         is_on(as, CPU, true) || is_on(as, MEMINFO, true)},
        {"--collector.energy", "--no-collector.energy",
         rapl || dcmi || redfish || cray},
        {"--energy.meter=rapl", NULL, rapl},
        {"--energy.meter=ipmi_dcmi", NULL, dcmi},
        {"--energy.meter=command", NULL, dcmi && (as->seen & 1ull << DCMI_CMD)},
        {"--energy.meter=redfish", NULL, redfish},
        {"--energy.meter=cray", NULL, cray},
        {"--collector.emissions", "--no-collector.emissions",
         is_on(as, EMISSIONS, false)},
    };
    int r = 0;
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]) && r == 0; i++)
        if (v[i].enabled || v[i].off)
            r = bj_as_add(as, v[i].enabled ? v[i].on : v[i].off, "", err);
    return r < 0 ? r : set_exclude(as, err);
}

static const struct bj_as_flag flags[] = {
    [DISABLE] = {SWITCH("collector.disable-defaults"),
                 .why = "collectors that are not named are off"},
    [CPU] = {SWITCH("collector.cpu"), .why = "CPUs of the node"},
    [MEMINFO] = {SWITCH("collector.meminfo"), .why = "memory of the node"},
    [RAPL] = {SWITCH("collector.rapl"), .why = "energy, from meter rapl"},
    [SLURM] = {SWITCH("collector.slurm"),
               .why = "CPU, memory and GPUs of jobs"},
    [SWAP] = {SWITCH("collector.slurm.swap-memory-metrics"),
              .why = "memory and swap of jobs"},
    [PSI] = {SWITCH("collector.slurm.psi-metrics"), .why = "pressure"},
    [GPU_TYPE] = {.name = "collector.gpu.type",
                  .take = take_type,
                  .why = "nogpu: no GPUs, else all GPUs"},
    [DCMI] = {SWITCH("collector.ipmi_dcmi"),
              .why = "energy, from meters ipmi_dcmi and command"},
    [DCMI_CMD] = {COPY("collector.ipmi_dcmi.cmd", "energy.command")},
    [REDFISH] = {SWITCH("collector.redfish"),
                 .why = "energy, from meter redfish"},
    [CRAY] = {SWITCH("collector.cray_pm_counters"),
              .why = "energy, from meter cray"},
    [EMISSIONS] = {SWITCH("collector.emissions"), .why = "emissions"},
    {.name = "collector.emissions.provider",
     .take = take_provider,
     .why = "emissions.provider: owid is table, emaps electricitymaps, wt "
            "watttime"},
    {SWITCH("collector.ipmi_dcmi.force-native-mode"),
     .why = "native mode is tried first"},
    NOT_EXPORTED("collector.ipmi_dcmi.test-mode"),
    {.name = "collector.redfish.config.file",
     .env = "CEEMS_EXPORTER_REDFISH_COLL_CONFIG_FILE",
     .only = "",
     .why = "use energy.redfish-url and related options after --"},
    {SWITCH("collector.rapl.enable-zone-label"), .only = "false",
     .why = "each zone has its own metric"},
    NOT_EXPORTED("collector.meminfo.all-stats"),
    {.name = "collector.slurm.gres-config-file",
     .only = "/etc/slurm/gres.conf",
     .why = "not needed"},
    {.name = "collector.slurm.gpu-order-map",
     .only = "",
     .why = "GPUs are assigned from cgroups and processes; use gpu.order after "
            "--"},
    NOT_EXPORTED("collector.libvirt"),
    NOT_EXPORTED("collector.k8s"),
    NOT_EXPORTED("collector.hwmon"),
    NOT_EXPORTED("collector.netdev"),
    NOT_EXPORTED("collector.infiniband"),
    NOT_EXPORTED("collector.perf.hardware-events"),
    NOT_EXPORTED("collector.perf.software-events"),
    NOT_EXPORTED("collector.perf.hardware-cache-events"),
    NOT_EXPORTED("collector.ebpf.io-metrics"),
    NOT_EXPORTED("collector.ebpf.network-metrics"),
    NOT_EXPORTED("collector.rdma.stats"),
    NOT_EXPORTED("discoverer.alloy-targets"),
    NOT_EXPORTED("profiling.ebpf"),
    NO_USE("collector.netdev.device-include", ""),
    NO_USE("collector.netdev.device-exclude", ""),
    NO_USE("web.targets-path", "/alloy-targets"),
    {SWITCH("web.debug-server"), .only = "false", .why = "not supported"},
    {.name = "security.run-as-user",
     .only = "",
     .why = "the exporter does not change its user; use User= in the unit"},
    {.name = "collector.cgroups.active-subsystem",
     .only = "cpuacct",
     .why = "controllers are found automatically"},
    {.name = "collector.cgroups.force-version",
     .only = "",
     .why = "the version is found automatically"},
    {COPY("web.listen-address", "web.listen-address")},
    {COPY("web.telemetry-path", "web.telemetry-path")},
    {.name = "web.max-requests",
     .take = bj_as_take_requests,
     .why = "web.max-requests; 0 is 5000"},
    TLS,
    NO_SOCKET,
    OWN_METRICS,
    {COPY("path.sysfs", "path.sysfs")},
    {COPY("path.procfs", "path.procfs")},
    {COPY("path.cgroupfs", "path.cgroupfs")},
    ONE_THREAD,
    LOGGING,
    VERSION,
    {.name = NULL},
};

const struct bj_as_program bj_as_ceems = {
    .names = NAMES("ceems", "ceems_exporter"),
    .syntax = BJ_AS_KINGPIN,
    .first = "--web.dialect=ceems",
    .flags = flags,
    .end = set_collectors,
};
