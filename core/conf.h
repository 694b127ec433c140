/* Options of the collection core, the same in every host. */
#ifndef BJ_CORE_CONF_H
#define BJ_CORE_CONF_H

#include "base/opt.h"
#include "carbon/conf.h"
#include "core/cluster/conf.h"
#include "core/energy/conf.h"

#include <stdbool.h>

/* The collectors, in the order in which they run: X(ID, NAME, whether it runs
 * without options, the help of --collector.NAME, the reason to change that).
 * Those that read files of cgroups are core/collect/NAME.c, with
 * bj_NAME_collector. */
#define BJ_CGROUP_COLLECTOR_LIST(X)                                            \
    X(CPU, cpu, "true",                                                        \
      "Collect CPU time, throttling and allocated CPUs of jobs.",              \
      "Disable it to save a read for each job.")                               \
    X(MEMORY, memory, "true", "Collect memory of jobs.",                       \
      "Disable it to save reads for each job.")                                \
    X(PIDS, pids, "true",                                                      \
      "Collect the processes and threads that the pids controller "            \
      "counts.",                                                               \
      "Disable it to save a read for each job.")                               \
    X(BLOCK, block, "true",                                                    \
      "Collect block I/O of jobs by device at the slow interval. "             \
      "Needs the io or blkio controller.",                                     \
      "Disable it on diskless nodes.")                                         \
    X(PRESSURE, pressure, "false",                                             \
      "Collect pressure stall information of jobs at the slow "                \
      "interval (cgroup v2). Expensive on nodes with many CPUs.",              \
      "Enable it to see which jobs wait for CPUs, memory or I/O.")             \
    X(PERCORE, percore, "false",                                               \
      "Collect CPU time of jobs by CPU: exact on cgroup v1, estimated"         \
      " from threads on v2.",                                                  \
      "Enable it to find jobs that leave allocated CPUs idle.")                \
    X(HUGETLB, hugetlb, "false",                                               \
      "Collect huge pages (hugetlbfs) of jobs by page size at the "            \
      "slow interval. Needs the hugetlb controller.",                          \
      "Enable it where jobs reserve huge pages and the batch system "          \
      "limits them, such as PBS and Kubernetes.")                              \
    X(DMEM, dmem, "true",                                                      \
      "Collect memory that jobs hold on devices (controller dmem of "          \
      "cgroup v2, Linux 6.14 or later). Needs the controller to be "           \
      "enabled for jobs, with Slurm by EnableExtraControllers=dmem.",          \
      NULL)
#define BJ_COLLECTOR_LIST(X)                                                   \
    BJ_CGROUP_COLLECTOR_LIST(X)                                                \
    X(PROCESS, process, "false",                                               \
      "Collect processes of jobs: threads by state, CPU time by "              \
      "executable, I/O of all file systems, file descriptors.",                \
      "Enable it for I/O on network file systems and for executables."         \
      " It reads /proc for every process of a job.")                           \
    X(NODE, node, "true",                                                      \
      "Collect CPU time, memory and topology of the node.",                    \
      "Disable it when node_exporter or collectd's own plugins "               \
      "provide these values.")                                                 \
    X(ENERGY, energy, "true",                                                  \
      "Collect energy of the node and its jobs, where a power meter "          \
      "is found.",                                                             \
      "Disable it on virtual machines and where the values are not "           \
      "used.")                                                                 \
    X(EMISSIONS, emissions, "false",                                           \
      "Collect emission factors of electricity, in g CO2e/kWh.",               \
      "Enable it on one host of the site.")                                    \
    X(GPU, gpu, "true",                                                        \
      "Collect GPUs and the jobs that use them, where a driver is "            \
      "found.",                                                                \
      "Disable it where another exporter must be the only client of "          \
      "the driver.")                                                           \
    X(CLUSTER, cluster, "false",                                               \
      "Collect queue, nodes and limits of the cluster from Slurm. "            \
      "Enable on one host of the cluster only.",                               \
      "Enable it on the head node for queue and node states.")

enum bj_collector_id {
#define BJ_COLLECTOR_ID(id, ...) BJ_COLLECT_##id,
#define BJ_COLLECTOR_ONE(...) +1
    BJ_COLLECTOR_LIST(BJ_COLLECTOR_ID) BJ_COLLECTORS,
    /* the number of those that read files of cgroups */
    BJ_CGROUP_COLLECTORS = BJ_CGROUP_COLLECTOR_LIST(BJ_COLLECTOR_ONE)
#undef BJ_COLLECTOR_ID
#undef BJ_COLLECTOR_ONE
};

/* Extra values of jobs that only dialects report: collected only if a dialect
 * needs them, else at no cost. */
enum bj_extra {
    BJ_EXTRA_EXES = 1,    /* processes by executable */
    BJ_EXTRA_NAMES = 2,   /* threads by name of their process */
    BJ_EXTRA_ALIVE = 4,   /* sums over the processes that live now */
    BJ_EXTRA_RATE = 8,    /* CPU time a second */
    BJ_EXTRA_CPUS = 16,   /* numbers of the CPUs that the job may use */
    BJ_EXTRA_CPUSET = 32, /* v2: also those configured in its cpuset */
    BJ_EXTRA_EVEN = 64,   /* its CPU time, split evenly over them */
    BJ_EXTRA_STATM = 128, /* with ALIVE: memory of these processes */
    BJ_EXTRA_USERS = 256, /* processes that slurm-job-exporter counts */
    BJ_EXTRA_SLEEP = 512  /* count the sleep of Slurm's extern step, too */
};

/* Options of the sender of final records. */
struct bj_sender_conf {
    char *url; /* of batchjob_stats_db; "": records are not sent */
    char *ca_file, *cert_file, *key_file, *token_file; /* "": none */
    bool allow_http; /* send the token also without TLS */
    uint64_t interval_usec;
};

struct bj_conf {
    char *procfs, *sysfs, *cgroupfs; /* mount points */
    bool collect[BJ_COLLECTORS];     /* which collectors run */
    bool collect_set[BJ_COLLECTORS]; /* set by the configuration, not by a
                                        preset */
    bool disable_defaults;           /* only collectors that are named run */
    bool basic;       /* only the files that are read in every mode */
    char *steps;      /* "off", "steps", "tasks" */
    uint64_t exe_top; /* number of executables of a job with their own series */
    unsigned extras;  /* enum bj_extra; not an option: set by the host for its
                         dialects */
    bool open_fds;
    struct bj_strv places; /* "name=path" */
    char *cluster;
    bool label_user, label_account;
    struct bj_strv job_files; /* directories with prolog files */
    struct bj_strv patterns;  /* operator-defined layouts, "name=regex" */
    struct bj_strv systems; /* batch systems whose jobs are found; empty: all */
    uint64_t grace_usec;    /* grace period of ended jobs */
    uint64_t slow_usec; /* the slow interval, for values that change rarely or
                           are expensive */
    bool watch;         /* sample jobs when their processes begin and end */
    char *request_dir;  /* directory in which an epilog requests a sample;
                           empty: none */
    uint64_t ident_wait_usec; /* time for which a pass waits for identities */
    uint64_t max_jobs, max_processes;
    uint64_t max_files; /* kept descriptors */
    uint64_t gpu_usec;  /* interval at which the drivers of GPUs are read */
    char *gpu_nvml;     /* path of NVIDIA's library; empty: the system's */
    char *gpu_rocm, *gpu_level_zero; /* likewise AMD's, Intel's; "none" */
    char *gpu_dcgm;  /* URL of dcgm-exporter's page; empty: none */
    char *gpu_order; /* meaning of a GPU's number: "bus", "minor", "mig" */
    struct bj_strv gpu_map_dirs; /* prolog files by GPU */
    bool gpu_ask_scheduler;      /* once for each job */
    char *gpu_xid_file;          /* rules of the site; empty: none */
    char *gpu_kernel_log;        /* "/dev/kmsg"; empty: not read */
    char *gpu_health_file;       /* to write states to; empty: none */
    char *gpu_job_map_dir;       /* for files for dcgm-exporter; empty: none */
    struct bj_energy_conf energy;
    struct bj_sender_conf sender;
    struct bj_carbon_conf carbon;
    struct bj_scheduler_conf scheduler;
    /* Not an option, set by the host: kept descriptors get numbers of at least
     * this (bj_fdpool.base), so that select(2) can use the lower ones.  0:
     * any. */
    uint64_t fd_base;
};

/* The option tables: bj_conf_opts for a struct bj_conf, and those of other
 * rooms for their parts of it. */
extern const struct bj_opt bj_conf_opts[];
enum { BJ_CONF_SETS = 3 };
void bj_conf_sets(struct bj_conf *conf, struct bj_optset ret[BJ_CONF_SETS]);

/* Whether a collector runs: it is on, and named if only named ones run. */
bool bj_conf_collects(const struct bj_conf *conf, enum bj_collector_id id);

#endif
