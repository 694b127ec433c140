/* When a metric is absent: the last column of docs/metrics.md. */
#include "docs/gen.h"

#include <stdio.h>
#include <string.h>

/* Reasons that several rows have.  Which cgroups Slurm makes: for v1 cpuset
 * (ConstrainCores), memory (a limit of memory, or jobacct_gather/cgroup) and
 * cpuacct (jobacct_gather/cgroup); for v2 it enables cpu, cpuset and memory. */
#define NO_CPUACCT                                                             \
    "no cgroup of cpuacct (v1: Slurm without `jobacct_gather/cgroup`)"
#define NO_CPU                                                                 \
    "no cgroup of cpu (v1: Slurm makes none, unless cpu and cpuacct share a "  \
    "hierarchy; v2: the controller is not enabled for jobs), or "              \
    "`collector.basic` on v1"
#define NO_MEMORY                                                              \
    "no cgroup of memory (v1: Slurm with neither `jobacct_gather/cgroup` nor " \
    "`ConstrainRAMSpace` or `ConstrainSwapSpace`; v2: the controller is not "  \
    "enabled for jobs)"
#define NO_SWAP                                                                \
    "no swap accounting (on some kernels it needs `swapaccount=1` on the "     \
    "command line)"
#define NO_PIDS                                                                \
    "no cgroup of pids (v1: Slurm makes none; v2: Slurm does not enable the "  \
    "controller), `collector.basic`"
#define NO_PRESSURE                                                            \
    "`collector.pressure` is off (the default), cgroup v1, "                   \
    "`collector.basic`, "                                                      \
    "no PSI in the kernel (`CONFIG_PSI`, in some distributions also `psi=1` "  \
    "on its command line)"
#define NO_PROCESS "`collector.process` is off (the default)"
#define NO_HUGETLB                                                             \
    "`collector.hugetlb` is off (the default), `collector.basic`, the "        \
    "hugetlb controller is not enabled for jobs"

#define NO_DMEM                                                                \
    "`collector.dmem` is off, `collector.basic`, cgroup v1, Linux before "     \
    "6.14, "                                                                   \
    "a driver other than amdgpu and xe, or the controller is not enabled for " \
    "jobs (Slurm: `EnableExtraControllers`)"

#define NO_ANSWER "or the driver does not answer"
#define ONLY_NVIDIA "not NVIDIA's driver, a MIG instance, "
#define NO_NODE "`collector.node` is off, or "
/* Sums over jobs and nodes. */
#define NO_JOB                                                                 \
    "no such job, or the source reports it of none (jobs without it are left " \
    "out of the sum)"
#define NO_NODES                                                               \
    "no such node, or the source reports it of none (nodes without it are "    \
    "left out of the sum)"
#define NO_DIAG "`cluster.source` lacks `diag`, or not Slurm"

/* The first row that fits "TABLE.NAME" counts; '*' at the end: any rest.  Steps
 * and tasks have the names of jobs. */
static const struct {
    const char *name, *when;
} rows[] = {
    {"job.info", "never"},
    {"job.start_time", "neither the prolog's file nor a process shows it"},
    {"job.latest_end_time", "the prolog's file lacks it"},
    {"job.restarts", "the prolog's file lacks it"},
    {"job.end_time", "the job runs"},
    {"job.cpu_throttled*", NO_CPU},
    {"job.cpu_periods", NO_CPU},
    {"job.cpu_held_back", "cgroup v1, `collector.basic`, or Linux before 6.8"},
    {"job.suspended",
     "cgroup v1, `collector.basic`, or a kernel without `cgroup.stat.local` "
     "(before about Linux 6.17)"},
    {"job.cpus", "no cgroup of cpuset (v1: Slurm with `ConstrainCores=no`; "
                 "v2: the controller is not enabled for jobs)"},
    {"job.cpu", NO_CPUACCT},
    {"job.cpu*", NO_CPUACCT ", or `collector.basic` on v1"},
    {"job.memory_held_peak_sampled", "the kernel keeps the charged peak"},
    {"job.memory_held_peak_charged",
     "the time before the first sample is known, or more was held since"},
    {"job.memory_held_peak",
     NO_MEMORY ", or the kernel does not report shared memory by cgroup"},
    {"job.memory_charged_peak", NO_MEMORY ", or cgroup v2 before Linux 5.19"},
    {"job.memory_shmem",
     NO_MEMORY ", or the kernel does not report it by cgroup"},
    {"job.memory_huge",
     NO_MEMORY ", or the kernel has no transparent huge pages"},
    {"job.memory_charged_recent_peak",
     "cgroup v1, Linux before 6.12, the program may not write to "
     "`memory.peak`, or no whole minute has passed"},
    {"job.memory_remote*",
     NO_MEMORY ", `collector.basic`, a machine with one NUMA node, or the CPUs "
               "of the job are not known"},
    {"job.memory_kernel",
     NO_MEMORY ", cgroup v2 before Linux 5.18, `collector.basic` on v1, or on "
               "v1 `cgroup.memory=nokmem` on the kernel command line"},
    {"job.memory_limit_hits", NO_MEMORY ", or `collector.basic` on v2"},
    {"job.memory_limit",
     NO_MEMORY ", or neither the cgroup nor a parent has a limit"},
    {"job.memory_swap_peak",
     "cgroup v1, Linux before 6.5, " NO_SWAP ", or `collector.basic`"},
    {"job.memory_swap_limit",
     "cgroup v1, no limit of swap, " NO_SWAP ", or `collector.basic`"},
    {"job.memory_swap", NO_MEMORY ", " NO_SWAP ", or `collector.basic` on v2"},
    {"job.memory_and_swap_limit",
     "cgroup v2, no limit, " NO_SWAP ", or `collector.basic`"},
    {"job.memory_and_swap*", "cgroup v2, or " NO_SWAP},
    {"job.memory*", NO_MEMORY},
    {"job.oom_kills", "a kill may have been missed (cgroup v1), cgroup v1 "
                      "before Linux 4.13, `collector.basic` on v2, "
                      "or " NO_MEMORY},
    {"job.oom_events", "cgroup v1, or `collector.basic`"},
    {"job.unread_files", "all files were read"},
    {"job.processes*", NO_PROCESS},
    {"job.threads", NO_PROCESS},
    {"job.pids_peak", NO_PIDS ", or Linux before 6.1"},
    {"job.pids", NO_PIDS},
    {"job.pressure_cpu_full", NO_PRESSURE ", or Linux before 5.13"},
    {"job.pressure*", NO_PRESSURE},
    {"job.io*", NO_PROCESS ", the exporter may not read `/proc/PID/io` of jobs "
                           "(`CAP_SYS_PTRACE`), or the kernel has none "
                           "(`CONFIG_TASK_IO_ACCOUNTING`)"},
    {"job.open_fds",
     NO_PROCESS ", `collector.process.fds` is off, or the exporter may not "
                "read `/proc/PID/fd` of jobs (`CAP_SYS_PTRACE`)"},
    {"job_core.cpu_estimated", "`collector.percore` is off, or the kernel "
                               "counts the time of each CPU (cgroup v1)"},
    {"job_core.*", "`collector.percore` is off, or cgroup v2"},
    {"job_device.*", "no cgroup of io (v1: blkio; Slurm makes none), "
                     "`collector.basic`, or the job has not used a block "
                     "device"},
    {"job_device_memory.limit", NO_DMEM ", or no limit"},
    {"job_device_memory.*", NO_DMEM},
    {"job_hugetlb.peak", NO_HUGETLB ", or cgroup v2"},
    {"job_hugetlb.limit_hits", NO_HUGETLB ", or cgroup v1"},
    {"job_hugetlb.limit", NO_HUGETLB ", or no limit"},
    {"job_hugetlb.*", NO_HUGETLB},
    {"job_state.*", NO_PROCESS},
    {"job_exe.*", NO_PROCESS},
    {"job_place.*", "`collector.process.place` is not set"},
    {"job_energy.*", "no meter measures the component, or the job is younger "
                     "than `energy.interval`"},
    {"job_gpu_conflict.*", "there was no such conflict about the job"},
    {"job_gpu.info", "the job holds no GPU"},
    {"job_gpu.share", "the job holds no GPU"},
    {"job_gpu.held", "the job holds no GPU"},
    {"job_gpu.idle", "nothing shows whether the GPU is in use"},
    {"job_gpu.estimated", "the job holds no GPU"},
    {"job_gpu.busy", "the driver does not answer, or the GPU is shared and its "
                     "driver does not report processes"},
    {"job_gpu.memory_used", "the job has ended, the driver does not answer, or "
                            "the GPU is shared and its driver does not report "
                            "processes"},
    {"job_gpu.power", "the job has ended, or the driver reports no power (MIG: "
                      "of the whole GPU)"},
    {"job_gpu.processes", "the job has ended, or the driver does not report "
                          "processes"},
    {"job_gpu.energy", "the driver reports neither energy nor power"},
    {"job_gpu_engine*", "not AMD or Intel, or no process of the job has used "
                        "the class of engines"},
    {"job_gpu*", "the driver does not report it, or not by job"},
    {"node.power", "no meter measures the node's power"},
    {"node.idle_power", "`energy.idle-watts` is not set, and none was learned"},
    {"node.memory_available", NO_NODE "Linux before 3.14"},
    {"node.memory*", NO_NODE "`/proc/meminfo` cannot be read"},
    {"node.cpus", NO_NODE "`/sys/devices/system/cpu/online` cannot be read"},
    {"node.cores", NO_NODE "the kernel reports no topology of an online CPU "
                           "(some virtual machines)"},
    {"node.sockets", NO_NODE "the kernel reports no topology of an online CPU "
                             "(some virtual machines)"},
    {"node.boot_time", NO_NODE "`/proc/stat` has no `btime`"},
    {"node.cpu", NO_NODE "the kernel does not know the mode"},
    {"node_energy.info", "`collector.energy` is off"},
    {"node_energy.deficit", "no meter measures the whole node"},
    {"node_energy.*", "no meter measures the component"},
    {"meter.*", "`collector.energy` is off"},
    {"meter_zone.power_limit", "the zone has no limit"},
    {"meter_zone.power", "the meter reports only energy, before its second "
                         "reading"},
    {"meter_zone.energy", "the meter reports only power, before its second "
                          "reading"},
    {"meter*", "`collector.energy` is off"},
    {"gpu_instance.*", "the GPU is not an instance"},
    {"gpu_address.*", "the driver does not report it"},
    {"gpu.info", "`collector.gpu` is off"},
    {"gpu.success", "`collector.gpu` is off"},
    {"gpu.errors", "`collector.gpu` is off"},
    {"gpu.slices", "the GPU is not a MIG instance"},
    {"gpu.last_error", "not NVIDIA's driver, or no call failed"},
    {"gpu.health", "a MIG instance, or errors before the start of this program "
                   "are not known, " NO_ANSWER},
    {"gpu.recovery", "not NVIDIA's driver, or it does not report it"},
    {"gpu.throttled*", "not NVIDIA's driver, or it does not report it"},
    {"gpu.incidents", "a MIG instance, or no events of NVIDIA's driver and no "
                      "`gpu.kernel-log`"},
    {"gpu.last_xid", "not NVIDIA's driver, or no events of it"},
    {"gpu.xid*", "not NVIDIA's driver, or no events of it"},
    {"gpu.nvlink*", "the GPU has no NVLink, or does not report it"},
    {"gpu.xgmi*", "not an AMD GPU, or the driver does not report it"},
    {"gpu.energy*", "a MIG instance, or the driver reports neither energy nor "
                    "power"},
    {"gpu.power*", "a MIG instance, or the driver does not report it or does "
                   "not answer"},
    {"gpu.busy", "the driver does not report it (of a GPU divided by MIG and "
                 "of its instances never) or does not answer"},
    {"gpu.memory_busy", "the driver does not report it (of a GPU divided by "
                        "MIG and of its instances never) or does not answer"},
    {"gpu.ecc*", "a GPU without ECC or with ECC off, a MIG instance, or the "
                 "driver does not report it"},
    {"gpu.rema*", ONLY_NVIDIA "a GPU before Ampere, " NO_ANSWER},
    {"gpu.minor_number", "not NVIDIA's driver"},
    {"gpu.multiprocessors", "not NVIDIA's driver, or a generation that the "
                            "exporter does not know"},
    {"gpu.memory_reserved", "not NVIDIA's driver, one before 510 (it counts "
                            "that memory as used), " NO_ANSWER},
    {"gpu.memory_free", "not NVIDIA's driver, " NO_ANSWER},
    {"gpu.memory_temperature", "a MIG instance, a GPU without a sensor of its "
                               "memory (such as GDDR), " NO_ANSWER},
    {"gpu.memory_clock", "a MIG instance, an Intel GPU, " NO_ANSWER},
    {"gpu.memory*", "an Intel GPU without Level Zero, " NO_ANSWER},
    {"gpu.temperature", "a MIG instance, " NO_ANSWER},
    {"gpu.sm_clock", ONLY_NVIDIA NO_ANSWER},
    {"gpu.video_clock", ONLY_NVIDIA NO_ANSWER},
    {"gpu.graphics_clock", "a MIG instance, an Intel GPU, " NO_ANSWER},
    {"gpu.pcie_replays", "a MIG instance, an Intel GPU, " NO_ANSWER},
    {"gpu.processes",
     "the driver does not report processes (AMD without ROCm, Intel without "
     "Level Zero), " NO_ANSWER},
    {"gpu.fan_speed", ONLY_NVIDIA "a GPU without fans of its own (most in "
                                  "servers), " NO_ANSWER},
    {"gpu.sm_occ*", "neither GPM (NVIDIA Hopper and later) nor DCGM"},
    {"gpu.sm_active*", "neither GPM (NVIDIA Hopper and later) nor DCGM"},
    {"gpu.engine_active*", "neither GPM (NVIDIA Hopper and later) nor DCGM"},
    {"gpu.tensor*", "neither GPM (NVIDIA Hopper and later) nor DCGM"},
    {"gpu.dram*", "neither GPM (NVIDIA Hopper and later) nor DCGM"},
    {"gpu.fp*", "neither GPM (NVIDIA Hopper and later) nor DCGM"},
    {"gpu.integer*", "no GPM (NVIDIA Hopper and later)"},
    {"gpu.pcie_transmit*", "neither GPM (NVIDIA Hopper and later) nor DCGM"},
    {"gpu.pcie_receive*", "neither GPM (NVIDIA Hopper and later) nor DCGM"},
    {"gpu.*", "the driver does not report it for this GPU, or does not "
              "answer"},
    {"gpu_throttle.*", ONLY_NVIDIA NO_ANSWER},
    {"gpu_conflicts.*", "`collector.gpu` is off"},
    {"gpu_source.age", "no read has succeeded"},
    {"gpu_source*", "`collector.gpu` is off"},
    {"emission_factor.start_time", "the factor has no such time"},
    {"emission_factor.*", "the provider has no valid value"},
    {"emission_provider.age", "no request has succeeded"},
    {"emission_provider*", "`collector.emissions` is off"},
    {"cluster_source.age", "no request has succeeded"},
    {"cluster_source*", "the source is not requested"},
    {"cluster_controller.schedule*",
     NO_DIAG ", or no cycle since the counters began"},
    {"cluster_controller.backfill*",
     NO_DIAG ", or no cycle of backfill since the counters began"},
    {"cluster_controller.*", NO_DIAG},
    {"cluster_rpc.*", "the controller has answered no such request"},
    {"cluster_user_rpc.*", "the controller has answered no such request"},
    {"cluster_limit.*", "there is no such limit"},
    {"partition.enabled", "not PBS"},
    {"partition.started", "not PBS"},
    {"cluster_shares.fairshare*", "an account, an infinite value, or several "
                                  "associations of a user with different "
                                  "values"},
    {"cluster_shares.*", "the parent's shares are used, or sshare does not "
                         "report it"},
    {"cluster_constant.*", "`cluster.constants` does not name it"},
    {"cluster_licenses.*", "Slurm does not report it"},
    {"reservation.start_time", "Slurm does not report it"},
    {"reservation.end_time", "the reservation does not end"},
    {"reservation.reserved*", "Slurm does not report it"},
    {"reservation.active", "there is no such reservation"},
    {"sampler.records_sent", "`record.url` is not set"},
    {"sampler.records_refused", "`record.url` is not set"},
    {"sampler.records_send*", "`record.url` is not set"},
    {"sampler.records_age", "no record waits"},
    {"sampler.records_waiting",
     "`record.url` is not set, and no record waits in memory"},
    {"sampler.records_write_success", "final records are off"},
    {"sampler.records*", "final records are off"},
    {"sampler.*", "the sampler does not run"},
    /* by ending */
    {"*wait_max", "no pending job, or the time of its submission is unknown"},
    {"*wait", "no pending job, or the time of its submission is unknown"},
    {"*jobs.", "no such job"},
    {"*jobs.gpus", "no such job, or jobs from a command of the site (0 where "
                   "gres/gpu is not a tracked resource of Slurm)"},
    {"*jobs.*", NO_JOB},
    {"*pending.", "no such job"},
    {"*pending.*", NO_JOB},
    {"*jobs*", "no such job"},
    {"*pending*", "no such job"},
    {"*memory_free", "no such node, or the kernels of none report it, as of "
                     "nodes that are down"},
    {"*gpus*", "no such GPU"},
    {"*nodes", "no such node"},
    {"cluster_node_state*", "no such node"},
    {"cluster_reason_node*", "it lacks `reason`, or the state of the node has "
                             "none"},
    {"cluster*", NO_NODES},
    {"partition*", NO_NODES},
    {"reservation*", NO_NODES},
    {"collector.age", "the collector has not run"},
    {"collector.*", "the collector is off"},
    {"process.*", "the kernel does not report it"},
    {"build.*", "never"},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Tables that exist only where an option names them; the first that begins so
 * counts. */
static const struct {
    const char *table, *option, *word;
} chosen[] = {
    {"partition_jobs", "by", "partition"},
    {"partition_pending", "by", "partition"},
    {"partition", "by", "partition"},
    {"cluster_user_rpc", "by", "user"},
    {"cluster_user", "by", "user"},
    {"cluster_account", "by", "account"},
    {"cluster_qos", "by", "qos"},
    {"cluster_host", "by", "host"},
    {"cluster_feature", "by", "feature"},
    {"cluster_reason_node", "by", "node"},
    {"cluster_reason", "by", "reason"},
    {"cluster_node", "by", "node"},
    {"reservation_jobs", "by", "reservation"},
    {"cluster_licenses", "source", "licenses"},
    {"cluster_shares", "source", "shares"},
    {"cluster_limit", "source", "limits"},
};

/* Whether a pattern with '*' at either end fits s. */
static bool fits(const char *pattern, const char *s)
{
    size_t n = strlen(pattern), have = strlen(s);
    const bool head = pattern[0] == '*', tail = n > 1 && pattern[n - 1] == '*';
    const char *word = pattern + head;
    n -= head + tail;
    if (have < n)
        return false;
    if (head && tail)
        return memmem(s, have, word, n);
    return head ? memcmp(s + have - n, word, n) == 0
                : memcmp(s, word, n) == 0 && (tail || have == n);
}

static const char *with_option(const char *table, const char *when)
{
    static char text[600];
    for (size_t i = 0; i < sizeof(chosen) / sizeof(chosen[0]); i++) {
        if (strncmp(table, chosen[i].table, strlen(chosen[i].table)) != 0)
            continue;
        snprintf(text, sizeof(text), "`cluster.%s` lacks `%s`, or %s",
                 chosen[i].option, chosen[i].word, when);
        return text;
    }
    return when;
}

const char *bj_gen_absent(const struct bj_metric_table *t,
                          const struct bj_metric *m)
{
    const bool usage =
        strcmp(t->name, "step") == 0 || strcmp(t->name, "task") == 0;
    char name[160];
    snprintf(name, sizeof(name), "%s.%s", usage ? "job" : t->name, m->name);
    for (size_t i = 0; i < ROWS; i++)
        if (fits(rows[i].name, name))
            return with_option(t->name, rows[i].when);
    fprintf(stderr, "docs/gen_absent.c: %s has no row\n", name);
    return NULL;
}
