/* Facts: numbers about a job that rules can use by name. Unknown facts are NAN,
 * which compares as false. */
#ifndef BJ_STATSDB_DERIVE_FACT_H
#define BJ_STATSDB_DERIVE_FACT_H

/* Percentages may exceed 100. A value measured on only some of a job's nodes is
 * unknown. */
#define BJ_FACTS(X)                                                            \
    X(STATE, state)     /* a number of sched/job.h; rules use its name */      \
    X(RUNTIME, runtime) /* seconds, without suspension */                      \
    X(TIME_LIMIT, time_limit) /* seconds; unknown without a limit */           \
    X(WAIT, wait)             /* seconds from eligible to start */             \
    X(NODES, nodes)                                                            \
    X(CPUS, cpus)                                                              \
    X(GPUS, gpus)               /* allocated; 0: none */                       \
    X(INTERACTIVE, interactive) /* 1: the job has an interactive step */       \
    X(RESTARTS, restarts)                                                      \
    X(EXIT_CODE, exit_code)                                                    \
    X(TIME_EFFICIENCY, time_efficiency) /* % of the limit */                   \
    X(CPU_EFFICIENCY, cpu_efficiency)   /* % of its CPUs' time */              \
    X(CPUS_BUSY, cpus_busy)             /* CPU time / run time */              \
    X(CPU_EVENNESS, cpu_evenness)   /* %: mean of CPUs at work, of the peak */ \
    X(MEM_ALLOCATED, mem_allocated) /* bytes; else requested */                \
    X(MEM_PEAK, mem_peak)           /* bytes */                                \
    X(MEM_EFFICIENCY, mem_efficiency)   /* % of the allocated memory */        \
    X(MEM_RECENT_PEAK, mem_recent_peak) /* bytes charged; of running jobs */   \
    X(MEM_REMOTE, mem_remote) /* % on other NUMA nodes than its CPUs */        \
    X(SUSPENDED, suspended)   /* seconds, by the freezer */                    \
    X(GPU_EFFICIENCY, gpu_efficiency) /* % of the time in use */               \
    X(GPUS_UNUSED, gpus_unused)                                                \
    X(GPU_MEM_PEAK, gpu_mem_peak)       /* bytes, of all its GPUs */           \
    X(GPU_FAULT, gpu_fault)             /* worst error of its GPUs: 1 to 6 */  \
    X(HARDWARE_FAILED, hardware_failed) /* 1: its node or GPU ended it */      \
    X(GPU_IDLE, gpu_idle)               /* seconds, of all its GPUs */         \
    X(NODES_UNUSED, nodes_unused)       /* less than a second of CPU time */   \
    X(NODES_UNEVEN, nodes_uneven)       /* whose CPU use differs */            \
    X(NODE_DEVIATION, node_deviation)   /* %: largest difference of those */   \
    X(GPUS_UNEVEN, gpus_uneven)         /* whose use differs */                \
    X(GPU_DEVIATION, gpu_deviation)     /* %: largest difference of those */   \
    X(IDLE_START, idle_start) /* seconds without any use after the start */    \
    X(IDLE_END, idle_end)     /* seconds without any use before the end */     \
    X(MEM_RISE, mem_rise)     /* bytes per hour, of a line through the curve   \
                               */                                              \
    X(MEM_STEADY, mem_steady) /* %: how well that line fits */                 \
    X(MEM_GROWTH, mem_growth) /* %: of the allocated memory, in that time */   \
    X(MEM_FORECAST, mem_forecast) /* %: of the allocated memory, at the limit  \
                                     of time */                                \
    X(IO_BYTES, io_bytes)         /* read and written by system calls */       \
    X(OPEN_FILES, open_files)     /* most open descriptors */                  \
    X(THREADS, threads)           /* most threads */                           \
    X(SCRATCH_FILES, scratch_files) /* most files open in the place "scratch"  \
                                     */                                        \
    X(CORE_MIN, core_min)           /* %: idlest core's time, of the mean */   \
    X(CORES_USED, cores_used)       /* with 80 % of the mean or more */        \
    X(OOM_KILLS, oom_kills)                                                    \
    X(OOM_STEPS, oom_steps)             /* steps that ended OUT_OF_MEMORY */   \
    X(OUT_OF_MEMORY, out_of_memory)     /* 1: the job ended so, or failed with \
                                           such     a step */                  \
    X(ENERGY, energy)                   /* joules */                           \
    X(ENERGY_USED, energy_used)         /* attributed by use */                \
    X(ENERGY_RESERVED, energy_reserved) /* attributed by reservation */        \
    X(COVERAGE, coverage) /* % of the expected Prometheus samples */

enum bj_fact {
#define BJ_FACT_ENUM(upper, lower) BJ_FACT_##upper,
    BJ_FACTS(BJ_FACT_ENUM)
#undef BJ_FACT_ENUM
        BJ_FACT_COUNT
};

#endif
