/* When a metric is absent: the last column of docs/metrics.md. */
#include "docs/gen.h"

#include <stdio.h>
#include <string.h>

/* The first row that fits "TABLE.NAME" counts; '*' at the end: any rest.  Steps
 * and tasks have the names of jobs. */
static const struct {
    const char *name, *when;
} rows[] = {
    {"job.info", "never"},
    {"job.start_time", "neither the prolog's file nor a process shows it"},
    {"job.end_time", "the job runs"},
    {"job.cpu_throttled*", "the cpu controller is not enabled for jobs"},
    {"job.cpu_periods", "the cpu controller is not enabled for jobs"},
    {"job.cpus", "the cpuset controller is not enabled for jobs"},
    {"job.cpu*", "cgroup v1 without the controller cpuacct"},
    {"job.memory_held_peak_sampled", "the kernel keeps the peak"},
    {"job.memory_held_peak", "no pass has read the job's memory"},
    {"job.memory_charged_peak", "cgroup v2 before Linux 5.19"},
    {"job.memory_limit_hits", "the memory controller is not enabled for jobs"},
    {"job.memory_limit", "neither the job nor a parent has a limit"},
    {"job.memory_swap_peak", "cgroup v1, Linux before 6.5, or no swap "
                             "accounting"},
    {"job.memory_swap_limit", "cgroup v1, or no limit"},
    {"job.memory_swap", "no swap accounting"},
    {"job.memory_and_swap_limit", "cgroup v2, no swap accounting, or no limit"},
    {"job.memory_and_swap*", "cgroup v2, or no swap accounting"},
    {"job.memory_kernel", "the kernel does not report it"},
    {"job.memory*", "the memory controller is not enabled for jobs"},
    {"job.oom_kills", "a kill may have been missed (cgroup v1)"},
    {"job.oom_events", "cgroup v1"},
    {"job.unread_files", "all files were read"},
    {"job.pids_peak", "Linux before 6.1, or no pids controller"},
    {"job.pids", "the pids controller is not enabled for jobs"},
    {"job.pressure_cpu_full", "cgroup v1, no PSI in the kernel, or Linux "
                              "before 5.13"},
    {"job.pressure*", "cgroup v1, or no PSI in the kernel"},
    {"job.io*",
     "`collector.process` is off, or `/proc/PID/io` is not readable"},
    {"job.open_fds",
     "`collector.process` is off, or open files are not counted"},
    {"job.*", "`collector.process` is off"},
    {"job_core.cpu_estimated", "`collector.percore` is off, or the kernel "
                               "counts the time of each CPU (cgroup v1)"},
    {"job_core.*", "`collector.percore` is off, or cgroup v2"},
    {"job_device.*", "the io (v1: blkio) controller is not enabled for jobs"},
    {"job_hugetlb.limit", "no limit, or no hugetlb controller"},
    {"job_hugetlb.*", "the hugetlb controller is not enabled for jobs"},
    {"job_state.*", "`collector.process` is off"},
    {"job_exe.*", "`collector.process` is off"},
    {"job_place.*", "`collector.process.place` is not set"},
    {"job_energy.*", "no meter measures the component"},
    {"job_gpu.info", "the job holds no GPU"},
    {"job_gpu.share", "the job holds no GPU"},
    {"job_gpu.held", "the job holds no GPU"},
    {"job_gpu.idle", "nothing shows whether the GPU is in use"},
    {"job_gpu*", "the driver does not report it, or not by job"},
    {"node.power", "no meter measures the node's power"},
    {"node.idle_power", "`energy.idle-watts` is not set, and none was learned"},
    {"node.*", "the kernel does not report it"},
    {"node_energy.info", "`collector.energy` is off"},
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
    {"gpu.last_xid", "not NVIDIA's driver, or no events of it"},
    {"gpu.xid*", "not NVIDIA's driver, or no events of it"},
    {"gpu.nvlink*", "the GPU has no NVLink, or does not report it"},
    {"gpu.xgmi*", "not an AMD GPU, or the driver does not report it"},
    {"gpu.*", "the driver does not report it for this GPU"},
    {"gpu_throttle.*", "the driver does not report reasons"},
    {"gpu_conflicts.*", "`collector.gpu` is off"},
    {"gpu_source.age", "no read has succeeded"},
    {"gpu_source*", "`collector.gpu` is off"},
    {"emission_factor.start_time", "the factor has no such time"},
    {"emission_factor.*", "the provider has no valid value"},
    {"emission_provider.age", "no request has succeeded"},
    {"emission_provider*", "`collector.emissions` is off"},
    {"cluster_source.age", "no request has succeeded"},
    {"cluster_source*", "the source is not requested"},
    {"cluster_controller.*",
     "sdiag does not report it, or nothing was counted"},
    {"cluster_rpc.*", "the controller has answered no such request"},
    {"cluster_user_rpc.*", "the controller has answered no such request"},
    {"cluster_limit.*", "there is no such limit"},
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
    /* by ending */
    {"*wait_max", "no pending job, or the time of its submission is unknown"},
    {"*wait", "no pending job, or the time of its submission is unknown"},
    {"*jobs.nodes", "no such job, or a command of the site does not report it"},
    {"*jobs.gpus", "no such job, or a command of the site does not report it"},
    {"*jobs.cpus", "no such job, or a command of the site does not report it"},
    {"*jobs.memory",
     "no such job, or a command of the site does not report it"},
    {"*pending.nodes",
     "no such job, or a command of the site does not report it"},
    {"*jobs*", "no such job"},
    {"*pending*", "no such job"},
    {"*memory_free", "no node reports it"},
    {"*gpus*", "no such GPU"},
    {"*gpu_type*", "no such GPU"},
    {"cluster*", "no such node"},
    {"partition*", "no such node"},
    {"reservation*", "no such node"},
    {"collector.age", "the collector has not run"},
    {"collector.*", "the collector is off"},
    {"sampler.records_sent", "`record.url` is not set"},
    {"sampler.records_refused", "`record.url` is not set"},
    {"sampler.records_send*", "`record.url` is not set"},
    {"sampler.records_age", "no record waits"},
    {"sampler.records*", "final records are off"},
    {"sampler.*", "the sampler does not run"},
    {"process.*", "the kernel does not report it"},
    {"build.*", "never"},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

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

const char *bj_gen_absent(const struct bj_metric_table *t,
                          const struct bj_metric *m)
{
    const bool usage =
        strcmp(t->name, "step") == 0 || strcmp(t->name, "task") == 0;
    char name[160];
    snprintf(name, sizeof(name), "%s.%s", usage ? "job" : t->name, m->name);
    for (size_t i = 0; i < ROWS; i++)
        if (fits(rows[i].name, name))
            return rows[i].when;
    fprintf(stderr, "docs/gen_absent.c: %s has no row\n", name);
    return NULL;
}
