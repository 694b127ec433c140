/* Flags of other exporters. Sources: their main programs, in the versions of
 * docs/dialects.md. */
#include "standalone/as_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- vpenso -------------------------------------------------------------- */

static const struct bj_as_flag vpenso_flags[] = {
    {COPY("listen-address", "web.listen-address")},
    {SWITCH("gpus-acct"), .off = "--dialect.exclude=^slurm_gpus_"},
    {.name = NULL},
};

static const struct bj_as_program vpenso = {
    .names = NAMES("vpenso"),
    .syntax = BJ_AS_GO,
    .first = "--web.dialect=vpenso",
    .flags = vpenso_flags,
};

/* --- slurm-job-exporter -------------------------------------------------- */

static int take_monitor(struct bj_as *as, const struct bj_as_flag *flag,
                        const char *value, struct bj_err *err)
{
    (void)as;
    return strcmp(value, "dcgm") == 0 || strcmp(value, "nvml") == 0
               ? 0
               : bj_err_set(err, -EINVAL, "%s: '%.40s' is not dcgm or nvml",
                            flag->name, value);
}

static const struct bj_as_flag sje_flags[] = {
    {.name = "port", .to = "--web.listen-address=:%s"},
    {.name = "monitor",
     .take = take_monitor,
     .why = "NVML in both cases, with GPM profiling"},
    {COPY("dcgm-update-interval", "gpu.interval")},
    {.name = NULL},
};

static const struct bj_as_program slurm_job_exporter = {
    .names = NAMES("slurm-job-exporter"),
    .syntax = BJ_AS_ARGPARSE,
    .first = "--web.dialect=slurm-job-exporter --gpu.interval=10",
    .flags = sje_flags,
};

/* --- petricore ----------------------------------------------------------- */

static const struct bj_as_flag jobs_flags[] = {
    {COPY("timer", "push.interval"), .letter = 't'},
    {COPY("blacklist", "dialect.skip-uids"), .letter = 'b'},
    {.name = NULL},
};

static const struct bj_as_program jobs_exporter = {
    .names = NAMES("jobs_exporter"),
    .syntax = BJ_AS_ARGPARSE,
    .first = "--web.dialect=jobs_exporter --push.interval=15 "
             "--push.url=http://localhost:9091 "
             "--collector.process.place=files=/ "
             "--collector.process.place=scratch=/scratch",
    .flags = jobs_flags,
};

/* --- both cgroup_exporters ----------------------------------------------- */

/* Only jobs of Slurm are exported; their slice is found automatically. */
static int take_paths(struct bj_as *as, const struct bj_as_flag *flag,
                      const char *value, struct bj_err *err)
{
    struct bj_slice rest = bj_slice_str(value), path;
    (void)as;
    while (bj_slice_field(&rest, ',', &path))
        if (!bj_slice_eq(path, BJ_SLICE("/slurm")) &&
            !bj_slice_eq(path, BJ_SLICE("/system.slice/slurmstepd.scope")))
            return bj_err_set(
                err, -EINVAL,
                "%s: '%.*s': only /slurm, jobs of Slurm, is supported",
                flag->name, (int)(path.n < 80 ? path.n : 80), path.p);
    return 0;
}

static int need_paths(struct bj_as *as, struct bj_err *err)
{
    return as->seen & 1 ? 0
                        : bj_err_set(err, -EINVAL, "%s is required",
                                     as->program->flags[0].name);
}

static int take_scope(struct bj_as *as, const struct bj_as_flag *flag,
                      const char *value, struct bj_err *err)
{
    struct bj_slice scope = bj_slice_str(value);
    const struct bj_slice end = BJ_SLICE("slurmstepd.scope");
    (void)as;
    if (scope.n < end.n || memcmp(scope.p + scope.n - end.n, end.p, end.n) != 0)
        return bj_err_set(err, -EINVAL, "%s: '%.80s' is not a slurmstepd.scope",
                          flag->name, value);
    return 0;
}

static const struct bj_as_flag cgroup_flags[] = {
    {.name = "config.paths",
     .take = take_paths,
     .why = "/slurm; the slice is found automatically"},
    {SWITCH("collect.proc"), .to = "--collector.process --dialect.exe-count"},
    {.name = "collect.proc.max-exec",
     .only = "100",
     .why = "paths are cut at 128 bytes"},
    {COPY("path.cgroup.root", "path.cgroupfs")},
    {COPY("path.proc.root", "path.procfs")},
    {COPY("web.listen-address", "web.listen-address")},
    OWN_METRICS,
    TLS,
    NO_SOCKET,
    LOGGING,
    VERSION,
    {.name = NULL},
};

static const struct bj_as_program cgroup_exporter = {
    .names = NAMES("cgroup_exporter"),
    .syntax = BJ_AS_KINGPIN,
    .first = "--web.dialect=cgroup_exporter",
    .flags = cgroup_flags,
    .end = need_paths,
};

static const struct bj_as_flag jobstats_flags[] = {
    {.name = "path.slurmstepd.scope",
     .take = take_scope,
     .why = "found automatically"},
    {SWITCH("collect.fullslurm"), .to = "--collector.steps=tasks"},
    {SWITCH("collect.username"),
     .off = "--no-label.user --dialect.exclude=^cgroup_info$"},
    {COPY("path.cgroup.root", "path.cgroupfs")},
    {COPY("web.listen-address", "web.listen-address")},
    OWN_METRICS,
    TLS,
    NO_SOCKET,
    LOGGING,
    VERSION,
    {.name = NULL},
};

static const struct bj_as_program jobstats = {
    .names = NAMES("jobstats"),
    .syntax = BJ_AS_KINGPIN,
    .first = "--web.dialect=jobstats",
    .flags = jobstats_flags,
};

static const struct bj_as_flag nvidia_flags[] = {
    {COPY("web.listen-address", "web.listen-address")},
    OWN_METRICS,
    /* Metrics from GPM. */
    {SWITCH("disable.gpm"),
     .to = "--dialect.exclude=_util_percent$|_occupancy_percent$|_per_sec$"},
    {.name = NULL},
};

static const struct bj_as_program nvidia_gpu = {
    .names = NAMES("nvidia_gpu_prometheus_exporter"),
    .syntax = BJ_AS_GO,
    .first = "--web.dialect=nvidia_gpu_prometheus_exporter",
    .flags = nvidia_flags,
};

/* --- the first batchjob_monitoring --------------------------------------- */

/* Indexes in its table. */
enum { DISABLE, JOBS, RAPL, DCMI, EMISSIONS, GPU };

static int take_dcmi(struct bj_as *as, const struct bj_as_flag *flag,
                     const char *value, struct bj_err *err)
{
    (void)flag;
    return bj_as_add(as, "--energy.command=%s --get-system-power-statistics",
                     value, err);
}

/* Whether a collector is on; preset: its default. */
static bool is_on(const struct bj_as *as, unsigned flag, bool preset)
{
    if (as->seen & 1u << flag)
        return as->on & 1u << flag;
    return preset && !(as->on & 1u << DISABLE);
}

static int set_collectors(struct bj_as *as, struct bj_err *err)
{
    const bool jobs = is_on(as, JOBS, true), rapl = is_on(as, RAPL, true),
               dcmi = is_on(as, DCMI, true);
    const struct {
        const char *on, *off;
        bool enabled;
    } v[] = {
        {"--collector.cpu", "--no-collector.cpu", jobs},
        {"--collector.memory", "--no-collector.memory", jobs},
        {"--collector.energy", "--no-collector.energy", rapl || dcmi},
        {"--collector.emissions", "--no-collector.emissions",
         is_on(as, EMISSIONS, false)},
        {"--collector.gpu", "--no-collector.gpu", is_on(as, GPU, false)},
        {"--energy.meter=rapl", NULL, rapl},
        {"--energy.meter=ipmi_dcmi", NULL, dcmi},
        {"--energy.meter=command", NULL, dcmi},
    };
    int r = 0;
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]) && r == 0; i++)
        if (v[i].enabled || v[i].off)
            r = bj_as_add(as, v[i].enabled ? v[i].on : v[i].off, "", err);
    return r;
}

static const struct bj_as_flag batchjob_flags[] = {
    [DISABLE] = {SWITCH("collector.disable-defaults"),
                 .why = "collectors that are not named are off"},
    [JOBS] = {SWITCH("collector.slurm_job"), .why = "CPU and memory"},
    [RAPL] = {SWITCH("collector.rapl"), .why = "energy, from meter rapl"},
    [DCMI] = {SWITCH("collector.ipmi_dcmi"),
              .why = "energy, from meters ipmi_dcmi and command"},
    [EMISSIONS] = {SWITCH("collector.emissions"), .why = "emissions"},
    [GPU] = {SWITCH("collector.nvidia_gpu"), .why = "GPUs"},
    {COPY("web.listen-address", "web.listen-address")},
    {COPY("web.telemetry-path", "web.telemetry-path")},
    {.name = "web.max-requests",
     .take = bj_as_take_requests,
     .why = "web.max-requests; 0 is 5000"},
    TLS,
    NO_SOCKET,
    OWN_METRICS,
    {SWITCH("collector.slurm.jobsteps.metrics"),
     .to = "--collector.steps=tasks"},
    {COPY("collector.slurm.job.stat.path", "job.file-dir")},
    {.name = "collector.ipmi.dcmi.exec.path",
     .take = take_dcmi,
     .why = "energy.command, with --get-system-power-statistics"},
    {SWITCH("collector.ipmi.dcmi.exec.run.as.root"), .only = "false",
     .why = "the exporter does not change its user"},
    {COPY("collector.emissions.country.code", "emissions.country")},
    {COPY("collector.nvidia.gpu.stat.path", "gpu.map-dir")},
    {SWITCH("collector.rapl.enable-zone-label"), .only = "false",
     .why = "each zone has its own metric"},
    {COPY("path.sysfs", "path.sysfs")},
    {COPY("path.cgroupfs", "path.cgroupfs")},
    ONE_THREAD,
    LOGGING,
    VERSION,
    {.name = NULL},
};

static const struct bj_as_program batchjob_monitoring = {
    .names = NAMES("batchjob_monitoring"),
    .syntax = BJ_AS_KINGPIN,
    .first = "--web.dialect=batchjob_monitoring --emissions.country=FRA",
    .flags = batchjob_flags,
    .end = set_collectors,
};

/* --- Mila ---------------------------------------------------------------- */

static const struct bj_as_flag mila_flags[] = {
    {.name = "port", .to = "--web.listen-address=:%s"},
    {COPY("cluster_name", "cluster")},
    {COPY("endpoint_prefix", "dialect.prefix")},
    {COPY("refresh_interval", "cluster.interval")},
    {.name = "mock_data_dir",
     .only = "",
     .why = "mock data are not supported; set cluster.path to a directory with "
            "mock commands"},
    {.name = NULL},
};

static const struct bj_as_program mila = {
    .names = NAMES("mila", "sinfo", "mini_sinfo_01"),
    .syntax = BJ_AS_ARGPARSE,
    .first = "--web.dialect=mila",
    .flags = mila_flags,
};

const struct bj_as_program *const bj_as_programs[] = {
    &batchjob_monitoring,
    &bj_as_ceems,
    &cgroup_exporter,
    &jobs_exporter,
    &jobstats,
    &mila,
    &nvidia_gpu,
    &bj_as_prometheus_slurm_exporter,
    &slurm_job_exporter,
    &vpenso,
    NULL,
};
