/* Records: the state of a node, a job or a step at one moment. Integers in the
 * smallest natural unit; BJ_ABSENT where unknown. Text and lists are in the
 * arena of the snapshot (or in something it references) and must not be
 * changed. */
#ifndef BJ_CORE_MODEL_RECORD_H
#define BJ_CORE_MODEL_RECORD_H

#include "base/absent.h"
#include "base/slice.h"

#include <stdint.h>

/* n records of one type. */
struct bj_list {
    void *v;
    size_t n;
};

/* A record in a list begins with its keys: the values of its table's labels. */
enum { BJ_SUB_KEYS = 3 };
struct bj_sub {
    struct bj_slice key[BJ_SUB_KEYS]; /* clean (base/text.h), not escaped */
};

/* Resource use of a cgroup, for a job, a step or a task. The kernel's files are
 * hierarchical: the values of a job include those of its steps. Sources: kernel
 * admin-guide/cgroup-v2.rst and cgroup-v1/ *.rst. */
struct bj_usage {
    /* cpu.stat | cpuacct.usage, cpuacct.stat, cpu.stat */
    uint64_t cpu_usec, cpu_user_usec, cpu_system_usec;
    uint64_t cpu_throttled_usec, cpu_periods, cpu_throttled_periods;
    /* v2, Linux 6.8: it could run, and a quota of it or of a cgroup above held
     * it back */
    uint64_t cpu_held_back_usec;
    uint64_t frozen_usec; /* suspended by the freezer; see collect/freezer.c */
    uint64_t cpus;        /* CPUs the job may run on (cpuset, effective) */
    /* memory.* */
    uint64_t mem_used_bytes, mem_rss_bytes, mem_cache_bytes;
    uint64_t mem_mapped_bytes, mem_shmem_bytes;
    uint64_t mem_active_file_bytes, mem_inactive_file_bytes;
    uint64_t mem_unevictable_bytes, mem_huge_bytes, mem_kernel_bytes;
    uint64_t mem_peak_bytes; /* of the memory charged, page cache included */
    uint64_t mem_recent_peak_bytes; /* of the memory charged, in the last whole
                                       minute (v2, Linux 6.12) */
    uint64_t mem_held_peak_bytes;   /* of rss + shmem, see collect/memory.c */
    uint64_t mem_held_sampled;      /* 1: that is only the largest sample */
    uint64_t mem_held_charged;      /* 1: it may contain page cache */
    /* anonymous memory on NUMA nodes without a CPU of it: now; and its share of
     * all anonymous memory, mean of the samples */
    uint64_t mem_remote_bytes, mem_remote_ppm;
    uint64_t mem_limit_bytes, mem_swap_bytes;
    uint64_t mem_limit_hits, mem_oom_kills;
    uint64_t mem_ooms;             /* v2: memory.events, oom */
    uint64_t mem_swap_limit_bytes; /* v2: swap only */
    uint64_t mem_swap_peak_bytes;  /* v2, Linux 6.5 */
    /* v1: memory plus swap */
    uint64_t memsw_limit_bytes, memsw_limit_hits;
    /* pids.current, pids.peak (Linux 6.1), which count threads */
    uint64_t pids, pids_peak;
    /* *.pressure, total= */
    uint64_t psi_cpu_some_usec, psi_cpu_full_usec;
    uint64_t psi_mem_some_usec, psi_mem_full_usec;
    uint64_t psi_io_some_usec, psi_io_full_usec;
    uint64_t unread_files; /* files that could not be read; absent: none */
};

/* Sums over the processes of a job, from /proc. Counters include exited
 * processes. */
struct bj_procsum {
    uint64_t processes, threads; /* now, without those of the batch system */
    uint64_t processes_seen;     /* at least this many started */
    uint64_t open_fds;           /* now */
    /* /proc/PID/io: by system calls, on any file system, */
    uint64_t io_read_bytes, io_write_bytes, io_read_ops, io_write_ops;
    /* and at the block layer */
    uint64_t io_storage_read_bytes, io_storage_write_bytes;
    uint64_t io_cancelled_write_bytes;
};

struct bj_core_use {             /* CPU time of a job on one CPU */
    struct bj_sub sub;           /* cpu number */
    uint64_t cpu_usec;           /* exact (cgroup v1) */
    uint64_t cpu_estimated_usec; /* from samples of threads (cgroup v2) */
};

struct bj_device_use { /* block I/O of a job on one device */
    struct bj_sub sub; /* kernel name of the device, or "major:minor" */
    uint64_t read_bytes, write_bytes, read_ops, write_ops;
};

struct bj_hugetlb_use { /* huge pages of a job of one size */
    struct bj_sub sub;  /* size, as the kernel writes it: "2MB" */
    uint64_t used_bytes, limit_bytes;
    uint64_t peak_bytes; /* cgroup v1 */
    uint64_t limit_hits; /* cgroup v2 */
};

struct bj_dmem_use {   /* memory of a job on a device */
    struct bj_sub sub; /* region, as the kernel writes it */
    uint64_t used_bytes, limit_bytes;
};

struct bj_state_use {  /* threads of a job in one state */
    struct bj_sub sub; /* name of the state */
    uint64_t threads;
};

struct bj_exe_use {    /* CPU time of a job by executable */
    struct bj_sub sub; /* path of the executable; "(other)" for the rest */
    uint64_t cpu_usec;
};

/* Values for dialects only (conf->extras): in no table of native metrics,
 * absent if not requested. */

struct bj_exe_count {   /* processes of a job by executable */
    struct bj_sub sub;  /* path of the executable; "(other)" for the rest */
    uint64_t processes; /* alive now */
    uint64_t cpu_usec;  /* of these, including children they have waited for;
                           with BJ_EXTRA_USERS without those of root */
};

struct bj_name_use {   /* threads of a job by name */
    struct bj_sub sub; /* name; "(other)" for the rest */
    uint64_t threads;
};

enum { BJ_CPUS_EFFECTIVE, BJ_CPUS_CONFIGURED, BJ_CPU_LISTS };
struct bj_extra_use {  /* of a job, one record */
    struct bj_sub sub; /* numbers of its CPUs, separated by commas: effective
                          ones; those in its own cpuset (v2) */
    uint64_t cpus[BJ_CPU_LISTS];    /* number of CPUs in each */
    uint64_t listed[BJ_CPU_LISTS];  /* 1: the list is known */
    uint64_t cpu_ppm, cpu_each_ppm; /* CPU time divided by time: total, and for
                                       each CPU it may use */
    /* sums over live processes */
    uint64_t alive_rss_bytes; /* as in /proc/PID/statm */
    uint64_t alive_read_ops, alive_write_ops;
    uint64_t alive_storage_read_bytes, alive_storage_write_bytes;
    /* Live processes of users other than root, without the shell of the batch
     * script. */
    uint64_t user_processes;
};

struct bj_place_use {  /* open files of a job below a configured path */
    struct bj_sub sub; /* name of the place */
    uint64_t files;
};

struct bj_energy_use { /* energy attributed to a job */
    struct bj_sub sub; /* component: cpu, dram, gpu, other */
    uint64_t energy_uj;
};

struct bj_step_use {   /* a step, or a task of one */
    struct bj_sub sub; /* step; task (of tasks only) */
    struct bj_usage use;
};

/* A job on this node. */
struct bj_job {
    const struct bj_ident *ident; /* core/find/ident.h; never NULL */
    struct bj_usage use;
    struct bj_procsum proc;
    uint64_t start_sec;  /* since 1970; of the oldest process seen */
    uint64_t end_sec;    /* when the end was noticed; absent while it runs */
    uint64_t latest_sec; /* when its time limit ends it, as of its start */
    uint64_t restarts;   /* runs before this one */
    uint64_t ident_info; /* 1: the row with the labels of the job */
    /* Lists only from here on (bj_job_clear). */
    struct bj_list cores, devices, hugetlb, dmem, states, exes, places, steps,
        tasks, energy;
    struct bj_list gpus, gpu_claims, gpu_engines, gpu_conflicts;
    /* extras */
    struct bj_list exe_counts, names, extras, even_cores;
    struct bj_list user_states; /* threads of user_processes by state */
};

struct bj_mode_use {   /* CPU time of the node in one mode */
    struct bj_sub sub; /* user, nice, system, ... */
    uint64_t cpu_usec;
};

struct bj_energy_split { /* energy of the node by component, and the part
                            attributed to no job (core/energy/ledger.h) */
    struct bj_sub sub;
    uint64_t energy_uj, system_uj, unallocated_uj, missed_uj;
    uint64_t deficit_uj; /* component other only */
};

/* Labels of an info metric; the record of one row. */
enum { BJ_INFO_MAX = 8 };
struct bj_info {
    uint64_t one; /* 1, or absent */
    struct bj_slice v[BJ_INFO_MAX];
};

/* The node. */
struct bj_node {
    uint64_t mem_total_bytes, mem_available_bytes, mem_free_bytes;
    uint64_t cpus, cores, sockets; /* online */
    uint64_t boot_sec;             /* since 1970 */
    uint64_t power_uw;             /* newest, of the meter in use */
    uint64_t idle_uw;              /* without jobs, as used by the split */
    struct bj_info energy_info;    /* source, quality, policy, static */
    /* Lists only from here on (bj_node_clear). */
    struct bj_list modes, energy;
};

/* Emission factors (carbon/factor.h) and the state of their providers. */
struct bj_factor_stat {
    struct bj_sub sub; /* provider, kind, country or zone */
    uint64_t ug_per_kwh, estimated, start_sec;
};
struct bj_provider_stat {
    struct bj_sub sub; /* provider */
    uint64_t success, age_usec;
};
struct bj_provider_errors {
    struct bj_sub sub; /* provider, kind of error */
    uint64_t errors;
};

/* A GPU, or an instance of a partitioned one. Levels are absent while its
 * driver does not respond. Sources: core/gpu/gpu.h. */
struct bj_gpu_use {
    struct bj_sub sub; /* UUID, index */
    uint64_t success;  /* 1: its last read succeeded */
    uint64_t errors;   /* errors since the start */
    uint64_t minor, slices, multiprocessors;
    uint64_t instance; /* number of a GPU instance on its GPU */
    uint64_t memory_total_bytes, memory_used_bytes, memory_reserved_bytes;
    uint64_t memory_free_bytes;
    uint64_t busy_ppm, memory_busy_ppm, processes;
    uint64_t power_uw, power_limit_uw, energy_uj, energy_resets;
    uint64_t temperature_uc, memory_temperature_uc;
    uint64_t sm_clock_hz, graphics_clock_hz, memory_clock_hz, video_clock_hz;
    uint64_t fan_ppm;        /* share of its highest speed; may exceed 1 */
    uint64_t xids, last_xid; /* since the start; last_xid 0: none */
    uint64_t last_error;     /* NVML's code of the last call that failed in the
                                newest reading; absent: none failed */
    uint64_t health;         /* enum bj_gpu_state (core/gpu/health.h) */
    uint64_t incidents;      /* since the start */
    uint64_t recovery;       /* what the driver asks for: NVML's
                                GET_GPU_RECOVERY_ACTION; 0: nothing */
    uint64_t throttled_sw_usec, throttled_hw_usec; /* heat; by the driver, by */
    uint64_t throttled_brake_usec; /* the board; by the power supply */
    uint64_t ecc_corrected, ecc_uncorrected; /* since the driver was loaded */
    uint64_t ecc_corrected_ever, ecc_uncorrected_ever;
    uint64_t rows_corrected, rows_uncorrected, rows_pending, rows_failed;
    uint64_t pcie_replays, nvlink_tx_bytes, nvlink_rx_bytes;
    uint64_t xgmi_corrected, xgmi_uncorrected; /* since the driver was loaded */
    /* profiling, between the last two reads */
    uint64_t graphics_ppm, sm_ppm, occupancy_ppm, tensor_ppm, dram_ppm;
    uint64_t dfma_ppm, hmma_ppm, dmma_ppm, imma_ppm;
    uint64_t fp64_ppm, fp32_ppm, fp16_ppm, integer_ppm;
    uint64_t pcie_tx_rate, pcie_rx_rate, nvlink_tx_rate, nvlink_rx_rate;
};

struct bj_gpu_part {   /* a GPU, or a share of it, that a job holds */
    struct bj_sub sub; /* UUID, index */
    uint64_t share_ppm, estimated;
    uint64_t busy_ppm, memory_used_bytes, power_uw, processes;
    uint64_t held_usec, idle_usec, energy_uj;
};

struct bj_gpu_engine_use { /* time of a job on the engines of a GPU */
    struct bj_sub sub;     /* UUID, engine class as the driver names it */
    uint64_t busy_usec;
};

struct bj_gpu_label {  /* a label of a GPU */
    struct bj_sub sub; /* UUID; index (of a job: source); model, address,
                          device or reason */
    uint64_t value;    /* 1; of a reason: 1 while it applies, else 0 */
};

/* A source of GPUs. */
struct bj_gpu_source {
    struct bj_sub sub; /* nvml, amd, intel, fdinfo, ... */
    uint64_t success, errors, age_usec, duration_usec, devices;
};

/* A power meter, its zones, its errors. */
struct bj_meter_stat {
    struct bj_sub sub; /* meter */
    uint64_t success, age_usec, duration_usec;
};
struct bj_zone_stat {
    struct bj_sub sub; /* meter, zone, id in its source */
    uint64_t energy_uj, power_uw, limit_uw, resets, gaps, doubts;
};
struct bj_meter_errors {
    struct bj_sub sub; /* meter, kind of error */
    uint64_t errors;
};

/* State of a collector. */
struct bj_collector_stat {
    struct bj_sub sub; /* name of the collector */
    uint64_t success;  /* 1: the last run succeeded */
    uint64_t duration_usec;
    uint64_t errors;   /* errors since the start */
    uint64_t age_usec; /* of the newest value */
};

/* This program. */
struct bj_self {
    uint64_t jobs, jobs_refused, steps_refused, processes_refused;
    uint64_t passes, pass_usec;
    uint64_t fds_kept, fds_refused;
    uint64_t cpu_usec, rss_bytes, open_fds, max_fds, start_sec;
    uint64_t vm_bytes, vm_max_bytes; /* absent: unlimited */
    uint64_t records, records_lost;  /* final records written, lost */
    uint64_t records_write_success;
    /* those of the spool that are sent; absent: none are */
    uint64_t records_sent, records_refused, records_send_errors;
    uint64_t records_send_success;
    /* in memory, and in the spool if records are sent */
    uint64_t records_waiting, records_age_usec;
    struct bj_info build_info; /* bj_build_info_keys */
    /* Lists only from here on (bj_self_clear). */
    struct bj_list collectors;
};

/* Nothing is known: all numbers absent, all lists empty, no ident. */
void bj_job_clear(struct bj_job *job);
void bj_node_clear(struct bj_node *node);
void bj_self_clear(struct bj_self *self);

#endif
