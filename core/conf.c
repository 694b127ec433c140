#include "core/conf.h"

#include "base/fetch.h"
#include "core/energy/meter_list.h"

#define AT(member) offsetof(struct bj_conf, member)
#define COLLECTOR(id, text_name, on, text, when)                               \
    {.name = "collector." #text_name,                                          \
     .kind = BJ_OPT_BOOL,                                                      \
     .off = AT(collect) + BJ_COLLECT_##id * sizeof(bool),                      \
     .preset = on,                                                             \
     .help = text,                                                             \
     .more = when,                                                             \
     .set_off = AT(collect_set) + BJ_COLLECT_##id * sizeof(bool)},

#define SECOND 1000000u
#define METER_CHOICE(name) "|" #name

const struct bj_opt bj_conf_opts[] = {
    {.name = "path.procfs",
     .kind = BJ_OPT_STR,
     .off = AT(procfs),
     .preset = "/proc",
     .help = "Mount point of procfs.",
     .more =
         "Change it in a container that mounts the host's procfs elsewhere.",
     .rare = true},
    {.name = "path.sysfs",
     .kind = BJ_OPT_STR,
     .off = AT(sysfs),
     .preset = "/sys",
     .help = "Mount point of sysfs.",
     .more = "Change it in a container that mounts the host's sysfs elsewhere.",
     .rare = true},
    {.name = "path.cgroupfs",
     .kind = BJ_OPT_STR,
     .off = AT(cgroupfs),
     .preset = "/sys/fs/cgroup",
     .help = "Directory where the cgroup hierarchies are mounted.",
     .more =
         "Change it in a container that mounts the host's cgroups elsewhere."},
    /* clang-format off */
    BJ_COLLECTOR_LIST(COLLECTOR)
    /* clang-format on */
    {.name = "collector.disable-defaults",
     .kind = BJ_OPT_BOOL,
     .off = AT(disable_defaults),
     .help = "Run only the collectors that the configuration names.",
     .more =
         "Set it, and the collectors you need, for a minimal configuration."},
    {.name = "collector.basic",
     .kind = BJ_OPT_BOOL,
     .off = AT(basic),
     .help = "Read only CPU time, CPUs, memory use, peak and limit, and "
             "memory.stat of jobs. Reduces the cost of a pass.",
     .more = "Set it on nodes with thousands of jobs.",
     .rare = true},
    {.name = "collector.steps",
     .kind = BJ_OPT_STR,
     .off = AT(steps),
     .preset = "off",
     .choices = "off|steps|tasks",
     .help = "Report steps, or steps and tasks, in addition to jobs.",
     .more = "Enable it to compare the steps of a job; each step adds as many "
             "series as a job."},
    {.name = "collector.process.exe-top",
     .kind = BJ_OPT_U64,
     .off = AT(exe_top),
     .lo = 0,
     .hi = 64,
     .preset = "10",
     .help = "Number of executables of a job with a series of their own; the "
             "others are summed up as (other).",
     .more = "Lower it to reduce the number of series; 0: none.",
     .rare = true},
    {.name = "collector.process.fds",
     .kind = BJ_OPT_BOOL,
     .off = AT(open_fds),
     .preset = "true",
     .help = "Count open file descriptors of jobs.",
     .more = "Disable it where jobs open many thousands of files.",
     .rare = true},
    {.name = "collector.process.place",
     .kind = BJ_OPT_LIST,
     .off = AT(places),
     .arg = "NAME=PATH",
     .help = "Count the files that jobs have open below a path, such as "
             "scratch=/scratch.",
     .more = "Set it to see which jobs use a file system. Needs "
             "collector.process."},
    {.name = "cluster",
     .kind = BJ_OPT_STR,
     .off = AT(cluster),
     .arg = "NAME",
     .help = "Cluster name, added as a label to every series.",
     .more = "Set it when one Prometheus server collects several clusters."},
    {.name = "label.user",
     .kind = BJ_OPT_BOOL,
     .off = AT(label_user),
     .preset = "true",
     .help = "Add the job's user as a label to every series of the job.",
     .more = "Disable it where user names must not be stored."},
    {.name = "label.account",
     .kind = BJ_OPT_BOOL,
     .off = AT(label_account),
     .preset = "true",
     .help = "Add the job's account as a label to every series of the job.",
     .more = "Disable it to hide accounts."},
    {.name = "job.file-dir",
     .kind = BJ_OPT_LIST,
     .off = AT(job_files),
     .preset = "/run/batchjob/jobs,/run/slurmjobstat,/run/slurmjobprops",
     .arg = "DIR",
     .help = "Directory in which the prolog writes a file for each job.",
     .more = "Set it when your prolog writes to another directory; "
             "docs/layouts.md describes the files."},
    {.name = "job.system",
     .kind = BJ_OPT_LIST,
     .off = AT(systems),
     .choices = "slurm|pbs|lsf|oar|htcondor|kubernetes|libvirt|none",
     .arg = "SYSTEM",
     .help = "Batch system whose jobs are searched for. Default: all.",
     .more = "Set it when cgroups of another batch system, such as Kubernetes, "
             "must not be reported."},
    {.name = "job.pattern",
     .kind = BJ_OPT_LIST,
     .off = AT(patterns),
     .arg = "NAME=REGEX",
     .help = "Regular expression for cgroup paths of another kind of job. It "
             "has a group (?<jobid>...) and optionally node, uid and user.",
     .more = "Set it for a batch system that is not supported; docs/layouts.md "
             "has examples."},
    {.name = "job.grace",
     .kind = BJ_OPT_DURATION,
     .off = AT(grace_usec),
     .lo = 0,
     .hi = 86400ull * SECOND,
     .preset = "2m",
     .help =
         "Grace period: how long to report the final values of an ended job.",
     .more = "Must exceed the scrape interval, or the final values of a job "
             "are lost."},
    {.name = "sample.slow",
     .kind = BJ_OPT_DURATION,
     .off = AT(slow_usec),
     .lo = SECOND / 10,
     .hi = 3600ull * SECOND,
     .preset = "10s",
     .help = "Slow interval: how often to read values that change rarely or "
             "are expensive to read.",
     .more = "Lower it for more recent values of block I/O and limits."},
    {.name = "sample.watch",
     .kind = BJ_OPT_BOOL,
     .off = AT(watch),
     .preset = "true",
     .help = "Watch the directories of jobs, and sample a job as soon as its "
             "first process begins and its last process ends.",
     .more = "Final records need it to be complete, and to exist for jobs "
             "shorter than the interval. It runs only with final records or "
             "energy."},
    {.name = "sample.request-dir",
     .kind = BJ_OPT_STR,
     .off = AT(request_dir),
     .preset = "/run/batchjob_sample/requests",
     .arg = "DIR",
     .help = "Directory in which an epilog requests a sample of a job, with "
             "an empty file named after its id.",
     .more = "The file is removed when the job is sampled (docs/records.md)."},
    {.name = "identity.wait",
     .kind = BJ_OPT_DURATION,
     .off = AT(ident_wait_usec),
     .lo = 0,
     .hi = 10ull * SECOND,
     .preset = "250ms",
     .help = "Longest time a scrape waits for the identity of new jobs.",
     .more = "Raise it when the user database is slow and new jobs appear "
             "without names. 0: do not wait.",
     .rare = true},
    {.name = "limit.jobs",
     .kind = BJ_OPT_U64,
     .off = AT(max_jobs),
     .lo = 1,
     .hi = 65536,
     .preset = "4096",
     .help = "Maximum number of jobs followed at a time.",
     .more =
         "Bounds memory and the size of a page. Further jobs are counted "
         "in batchjob_sampler_jobs_refused_total. Eight times as many steps "
         "and tasks are followed."},
    {.name = "limit.processes",
     .kind = BJ_OPT_U64,
     .off = AT(max_processes),
     .lo = 1,
     .hi = 4194304,
     .preset = "65536",
     .help = "Maximum number of processes read in one pass.",
     .more = "Bounds the duration of a pass. Raise it when "
             "batchjob_sampler_processes_refused_total grows.",
     .rare = true},
    {.name = "limit.files",
     .kind = BJ_OPT_U64,
     .off = AT(max_files),
     .lo = 0,
     .hi = 1048576,
     .preset = "16384",
     .help = "Maximum number of files kept open. Each uses up to 4.6 KiB of "
             "kernel memory and makes reading eight times faster.",
     .more = "Lower it to save kernel memory. The process limit of open files "
             "applies too.",
     .rare = true},
    {.name = "gpu.interval",
     .kind = BJ_OPT_DURATION,
     .off = AT(gpu_usec),
     .lo = SECOND,
     .hi = 60ull * SECOND,
     .preset = "5s",
     .help = "How often to query the GPU drivers, independent of scrapes.",
     .more = "Raise it to reduce the load on the drivers."},
    {.name = "gpu.nvml",
     .kind = BJ_OPT_STR,
     .off = AT(gpu_nvml),
     .preset = "",
     .arg = "FILE",
     .help = "Path of NVIDIA's management library (libnvidia-ml.so.1). "
             "Default: the system's, if the driver is loaded.",
     .more = "Set it when the library is not in the linker's path.",
     .rare = true},
    {.name = "gpu.rocm",
     .kind = BJ_OPT_STR,
     .off = AT(gpu_rocm),
     .preset = "",
     .arg = "FILE",
     .help = "Path of AMD's management library (librocm_smi64.so). Default: "
             "the system's, if an AMD GPU is present; none: use sysfs only.",
     .more = "Set it when the library is not in the linker's path.",
     .rare = true},
    {.name = "gpu.level-zero",
     .kind = BJ_OPT_STR,
     .off = AT(gpu_level_zero),
     .preset = "",
     .arg = "FILE",
     .help = "Path of the Level Zero loader (libze_loader.so.1) for Intel "
             "GPUs. Default: the system's, if an Intel GPU is present; none: "
             "use sysfs only.",
     .more = "Set it when the library is not in the linker's path.",
     .rare = true},
    {.name = "gpu.dcgm",
     .kind = BJ_OPT_STR,
     .off = AT(gpu_dcgm),
     .preset = "",
     .arg = "URL",
     .help = "URL of a dcgm-exporter (http://localhost:9400/metrics), for "
             "profiling metrics of NVIDIA GPUs older than Hopper.",
     .more = "Leave it empty for Hopper and newer GPUs, which the driver "
             "profiles itself."},
    {.name = "gpu.order",
     .kind = BJ_OPT_STR,
     .off = AT(gpu_order),
     .preset = "bus",
     .choices = "bus|minor|mig",
     .help = "Meaning of the batch system's GPU number: bus order "
             "(AutoDetect=nvml), N of /dev/nvidiaN (File= in gres.conf), or "
             "bus order counting MIG instances.",
     .more = "Change it when GPUs are assigned to the wrong jobs; docs/gpu.md "
             "explains how to check."},
    {.name = "gpu.map-dir",
     .kind = BJ_OPT_LIST,
     .off = AT(gpu_map_dirs),
     .preset = "/run/gpustat",
     .arg = "DIR",
     .help = "Directory in which the prolog writes a file for each GPU, in the "
             "format of jobstats or dcgm-exporter.",
     .more = "Set it when your prolog writes to another directory.",
     .rare = true},
    {.name = "gpu.ask-scheduler",
     .kind = BJ_OPT_BOOL,
     .off = AT(gpu_ask_scheduler),
     .help = "Query Slurm once for each job for its GPUs (scontrol -d show "
             "job). Every node sends these requests to the controller.",
     .more = "Enable it where neither cgroup devices nor a prolog show which "
             "job has which GPU."},
    {.name = "gpu.xid-file",
     .kind = BJ_OPT_STR,
     .off = AT(gpu_xid_file),
     .preset = "",
     .arg = "FILE",
     .help = "File with the states that Xid errors of NVIDIA GPUs mean, a line "
             "\"XID STATE\" each, instead of the built-in ones.",
     .more = "Set it where your rules for draining differ, or for an Xid that "
             "is too new (docs/gpu.md).",
     .rare = true},
    {.name = "gpu.kernel-log",
     .kind = BJ_OPT_STR,
     .off = AT(gpu_kernel_log),
     .preset = "",
     .arg = "FILE",
     .help = "The kernel's log, /dev/kmsg: its lines about Xid errors name the "
             "process, and so the job. Empty: the jobs that hold the GPU.",
     .more = "Set it where several jobs share a GPU. It needs CAP_SYSLOG; "
             "docs/gpu.md has the lines for the service.",
     .rare = true},
    {.name = "gpu.health-file",
     .kind = BJ_OPT_STR,
     .off = AT(gpu_health_file),
     .preset = "",
     .arg = "FILE",
     .help = "File to write the state of each GPU to, for Slurm's "
             "HealthCheckProgram. Empty: none.",
     .more = "Set it to drain nodes with broken GPUs (docs/gpu.md).",
     .rare = true},
    {.name = "gpu.job-map-dir",
     .kind = BJ_OPT_STR,
     .off = AT(gpu_job_map_dir),
     .preset = "",
     .arg = "DIR",
     .help = "Directory to write the jobs on each GPU to, for dcgm-exporter "
             "(--hpc-job-mapping-dir). Only this program may write there. "
             "Empty: off.",
     .more = "Set it to the same directory as in dcgm-exporter.",
     .rare = true},
    {.name = "energy.meter",
     .kind = BJ_OPT_LIST,
     .off = AT(energy.meters),
     .choices = &(BJ_METERS(METER_CHOICE, ))[1],
     .arg = "METER",
     .help = "Power meter to read. Default: all that are found.",
     .more = "Set it to exclude a meter that reports wrong values. "
             "docs/energy.md lists the meters in order of preference."},
    {.name = "energy.interval",
     .kind = BJ_OPT_DURATION,
     .off = AT(energy.period_usec),
     .lo = SECOND,
     .hi = 30ull * SECOND,
     .preset = "5s",
     .help = "How often to read the power meters and attribute energy to jobs, "
             "independent of scrapes.",
     .more = "Raise it to reduce overhead; shorter jobs are then attributed "
             "less precisely."},
    {.name = "energy.slow-interval",
     .kind = BJ_OPT_DURATION,
     .off = AT(energy.slow_usec),
     .lo = SECOND,
     .hi = 600ull * SECOND,
     .preset = "10s",
     .help = "How often to read power meters behind a management controller "
             "(BMC).",
     .more = "Raise it when the controller replies slowly.",
     .rare = true},
    {.name = "energy.timeout",
     .kind = BJ_OPT_DURATION,
     .off = AT(energy.timeout_usec),
     .lo = SECOND / 10,
     .hi = 120ull * SECOND,
     .preset = "5s",
     .help = "Longest time a power meter behind a management controller (BMC) "
             "may take to reply.",
     .more = "Raise it when the controller replies slowly.",
     .rare = true},
    {.name = "energy.policy",
     .kind = BJ_OPT_STR,
     .off = AT(energy.policy),
     .preset = "hybrid",
     .choices = "hybrid|usage|reservation",
     .help =
         "How to attribute energy to jobs: idle power by reservation and the "
         "rest by use (hybrid), all by use, or all by reservation.",
     .more =
         "Set it to usage to charge only what jobs use, or to reservation to "
         "charge what they block. docs/energy.md compares the policies."},
    {.name = "energy.idle-watts",
     .kind = BJ_OPT_U64,
     .off = AT(energy.idle_watts),
     .lo = 0,
     .hi = 100000,
     .preset = "0",
     .help = "Power of the node without jobs, excluding accelerators, in "
             "watts. 0: estimate it while the node has no jobs.",
     .more =
         "Set it where nodes are never idle, so that it cannot be estimated."},
    {.name = "energy.state-file",
     .kind = BJ_OPT_STR,
     .off = AT(energy.state_file),
     .preset = "/var/lib/batchjob/energy.state",
     .arg = "FILE",
     .help = "File that keeps energy totals across restarts; the one with "
             ".memory appended keeps the peaks of memory. Empty: none.",
     .more = "Without it, counters start at 0 after a restart, and the peak of "
             "memory held may contain page cache."},
    {.name = "energy.ipmi-inactive",
     .kind = BJ_OPT_BOOL,
     .off = AT(energy.ipmi_inactive),
     .help = "Accept DCMI power readings that the BMC marks as deactivated.",
     .more = "Set it for BMCs that report the right watts so, for example "
             "OpenBMC; compare with another meter first.",
     .rare = true},
    {.name = "energy.ipmi-device",
     .kind = BJ_OPT_STR,
     .off = AT(energy.ipmi_device),
     .preset = "",
     .arg = "FILE",
     .help = "Device of the management controller (BMC). Default: /dev/ipmi0 "
             "and the other usual names.",
     .more = "Set it when the node has more than one controller.",
     .rare = true},
    {.name = "energy.command",
     .kind = BJ_OPT_STR,
     .off = AT(energy.command),
     .preset = "",
     .arg = "COMMAND",
     .help = "Command that prints the power of the node, with arguments "
             "separated by blanks. Runs without a shell.",
     .more = "Set it for a power meter that is not supported; docs/energy.md "
             "describes the output."},
    {.name = "energy.redfish-url",
     .kind = BJ_OPT_STR,
     .off = AT(energy.redfish_url),
     .preset = "",
     .arg = "URL",
     .help = "URL of the Redfish service of this node's management controller "
             "(BMC).",
     .more = "Set it where IPMI is not available."},
    {.name = "energy.redfish-user",
     .kind = BJ_OPT_STR,
     .off = AT(energy.redfish_user),
     .preset = "",
     .arg = "USER",
     .help = "User name for Redfish.",
     .more = "Needed together with energy.redfish-url."},
    {.name = "energy.redfish-password-file",
     .kind = BJ_OPT_STR,
     .off = AT(energy.redfish_password_file),
     .preset = "",
     .arg = "FILE",
     .help = "File with the Redfish password, readable only by the user of "
             "this program.",
     .more = "Needed together with energy.redfish-url."},
    {.name = "energy.redfish-ca-file",
     .kind = BJ_OPT_STR,
     .off = AT(energy.redfish_ca_file),
     .preset = "",
     .arg = "FILE",
     .help = "CA certificates to verify the Redfish server with. Default: the "
             "system's.",
     .more =
         "Set it when the controller's certificate is signed by your own CA.",
     .rare = true},
    {.name = "energy.redfish-insecure",
     .kind = BJ_OPT_BOOL,
     .off = AT(energy.redfish_insecure),
     .help = "Do not verify the certificate of the Redfish server.",
     .more = "Set it only on a management network that you trust.",
     .rare = true},
    {.name = "energy.redfish-chassis",
     .kind = BJ_OPT_LIST,
     .off = AT(energy.redfish_chassis),
     .arg = "ID",
     .help = "Redfish chassis that contains this node. Default: all.",
     .more = "Set it when one controller serves several nodes.",
     .rare = true},
    {.name = "record.dir",
     .kind = BJ_OPT_STR,
     .off = AT(energy.spool_dir),
     .preset = "",
     .arg = "DIR",
     .help = "Spool directory for final records: one file for each ended job.",
     .more = "Set it to collect final records with batchjob_stats_db. Empty: "
             "none are written."},
    {.name = "record.max-bytes",
     .kind = BJ_OPT_SIZE,
     .off = AT(energy.spool_bytes),
     .lo = 4096,
     .preset = "256M",
     .help = "Maximum size of all final records in the spool directory; a "
             "record counts as at least 2.5 KiB.",
     .more = "Raise it when records wait longer before they are imported. "
             "Further records are lost and counted.",
     .rare = true},
    {.name = "record.url",
     .kind = BJ_OPT_STR,
     .off = AT(sender.url),
     .preset = "",
     .check = bj_fetch_check,
     .arg = "URL",
     .help = "Send the records of record.dir to batchjob_stats_db "
             "(its record.listen-address): https://HOST:9022. A file is "
             "removed once its record is committed there.",
     .more = "Set it when the nodes share no file system with "
             "batchjob_stats_db. Empty: records stay in record.dir."},
    {.name = "record.ca-file",
     .kind = BJ_OPT_STR,
     .off = AT(sender.ca_file),
     .preset = "",
     .arg = "FILE",
     .help = "CA certificates to verify batchjob_stats_db with. Default: the "
             "system's.",
     .more = "Set it for an internal CA."},
    {.name = "record.cert-file",
     .kind = BJ_OPT_STR,
     .off = AT(sender.cert_file),
     .preset = "",
     .arg = "FILE",
     .help = "Client certificate of this node for record.url.",
     .more = "Set it when batchjob_stats_db verifies client certificates."},
    {.name = "record.key-file",
     .kind = BJ_OPT_STR,
     .off = AT(sender.key_file),
     .preset = "",
     .arg = "FILE",
     .help = "Key of record.cert-file. Default: in record.cert-file.",
     .more = "Needed when certificate and key are in separate files."},
    {.name = "record.token-file",
     .kind = BJ_OPT_STR,
     .off = AT(sender.token_file),
     .preset = "",
     .arg = "FILE",
     .help = "File with the token of this node for record.url, read for each "
             "request.",
     .more = "Set it when the node has no certificate. record.url must be "
             "https then, or on this host."},
    {.name = "record.allow-http",
     .kind = BJ_OPT_BOOL,
     .off = AT(sender.allow_http),
     .help = "Send the token of record.token-file also over http to another "
             "host, where the network can read it.",
     .more = "Set it only when something else encrypts that network.",
     .rare = true},
    {.name = "record.send-interval",
     .kind = BJ_OPT_DURATION,
     .off = AT(sender.interval_usec),
     .lo = 1000,
     .hi = UINT64_C(3600) * SECOND,
     .preset = "10s",
     .help = "A record is sent at a random moment within this time, so that "
             "nodes do not send all at once.",
     .more = "Raise it when many nodes end jobs at the same time.",
     .rare = true},
    {0},
};

void bj_conf_sets(struct bj_conf *conf, struct bj_optset ret[BJ_CONF_SETS])
{
    ret[0] = (struct bj_optset){bj_conf_opts, conf};
    ret[1] = (struct bj_optset){bj_carbon_opts, &conf->carbon};
    ret[2] = (struct bj_optset){bj_cluster_opts, &conf->scheduler};
}

bool bj_conf_collects(const struct bj_conf *conf, enum bj_collector_id id)
{
    return conf->collect[id] &&
           (conf->collect_set[id] || !conf->disable_defaults);
}
