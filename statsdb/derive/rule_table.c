#include "statsdb/derive/rule_impl.h"

#include <stddef.h>

/* The built-in rules, in the format of a rule file.  Findings are listed in
 * this order; "unless" refers to earlier rules.
 *
 * Thresholds are those of petricore (Calcul Quebec): scratch, small I/O, CPU,
 * evenness, memory, cores, threads; and of jobstats (Princeton): all others
 * except GPUs that failed, the last four, uneven work, leaks, and times without
 * use.
 *
 * critical: the job lost its result, or a whole GPU or node did nothing.
 * warning: another request would save much.  info: everything else. */
#define RULE "rules:\n- name: "

const char *const bj_rules_builtin[] = {
    RULE "gpu_hardware\n"
         "  severity: critical\n"
         "  when: [hardware_failed = 1, gpu_fault >= $fault]\n"
         "  set: {fault: 3}\n"
         "  text: 'The hardware of a GPU failed while the job used it{names}. "
         "This is not the fault of the job: submit it again.'\n",
    RULE "gpu_suspect\n"
         "  severity: warning\n"
         "  when: [hardware_failed != 1, gpu_fault >= $fault]\n"
         "  set: {fault: 4}\n"
         "  text: 'The hardware of a GPU failed while the job used it{names}. "
         "Check the results.'\n",
    RULE "gpus_unused\n"
         "  severity: critical\n"
         "  when: [runtime > $runtime, gpus > 0, gpus_unused > 0]\n"
         "  set: {runtime: 5m}\n"
         "  text: 'The job never used {value} of its GPUs{names}.'\n",
    RULE "nodes_unused\n"
         "  severity: critical\n"
         "  when: [runtime > $runtime, nodes_unused > 0]\n"
         "  set: {runtime: 5m}\n"
         "  text: 'The job used no CPU time on {value} of its nodes{names}.'\n",
    RULE "gpu_slice\n"
         "  severity: info\n"
         "  enabled: false\n"
         "  when: [gpus = 1, cpus <= 1, mem_peak < $memory,\n"
         "         gpu_mem_peak < $gpu_memory, gpu_efficiency < $percent]\n"
         "  set: {percent: 15, memory: 32G, gpu_memory: 10G}\n"
         "  text: 'Only {value} % of one GPU was used.'\n",
    RULE "gpu_low_interactive\n"
         "  severity: warning\n"
         "  when: [gpus > 0, interactive = 1, runtime > $runtime,\n"
         "         gpu_efficiency <= $percent]\n"
         "  unless: gpus_unused\n"
         "  set: {percent: 15, runtime: 8h}\n"
         "  text: 'This session held GPUs for hours and used {value} % of "
         "them.'\n",
    RULE
    "gpu_very_low\n"
    "  severity: warning\n"
    "  when: [runtime > $runtime, gpus > 0, interactive != 1,\n"
    "         gpu_efficiency <= $percent]\n"
    "  unless: gpus_unused\n"
    "  set: {percent: 15, runtime: 5m}\n"
    "  text: 'GPU use was {value} %; {threshold} % or less is very low.'\n",
    RULE "gpu_low\n"
         "  severity: info\n"
         "  when: [runtime > $runtime, gpus > 0, interactive != 1,\n"
         "         gpu_efficiency > $very_low, gpu_efficiency < $percent]\n"
         "  unless: gpus_unused\n"
         "  set: {very_low: 15, percent: 25, runtime: 5m}\n"
         "  text: 'GPU use was {value} %.'\n",
    RULE "serial_many_cpus\n"
         "  severity: warning\n"
         "  when: [runtime > $runtime, nodes = 1, gpus = 0, cpus > 1,\n"
         "         cpus_busy < $most, cpus_busy > $least]\n"
         "  set: {runtime: 5m, least: 0.85, most: 1.01}\n"
         "  text: 'Only {value} of the CPUs was busy.'\n",
    RULE "cpu_very_low\n"
         "  severity: warning\n"
         "  when: [runtime > $runtime, gpus = 0, cpu_efficiency < $percent]\n"
         "  unless: [nodes_unused, serial_many_cpus]\n"
         "  set: {runtime: 5m, percent: 65}\n"
         "  text: 'CPU efficiency was {value} %.'\n",
    RULE "cpu_low\n"
         "  severity: info\n"
         "  when: [runtime > $runtime, gpus = 0, cpu_efficiency >= $very_low,\n"
         "         cpu_efficiency <= $percent]\n"
         "  unless: [nodes_unused, serial_many_cpus]\n"
         "  set: {runtime: 5m, very_low: 65, percent: 80}\n"
         "  text: 'CPU efficiency was {value} %.'\n",
    RULE "cpu_uneven\n"
         "  severity: info\n"
         "  when: [runtime > $runtime, gpus = 0, cpu_evenness < $percent]\n"
         "  set: {runtime: 15m, percent: 75}\n"
         "  text: 'On average {value} % of the CPUs that were busy at peak "
         "time were in use. Parts of the job may need fewer CPUs.'\n",
    RULE "core_imbalance\n"
         "  severity: info\n"
         "  when: [runtime > $runtime, cpus > 1, core_min < $percent]\n"
         "  set: {runtime: 5m, percent: 90}\n"
         "  text: 'The least used core did {value} % of the average work of a "
         "core.'\n",
    RULE
    "nodes_uneven\n"
    "  severity: warning\n"
    "  when: [runtime > $runtime, gpus = 0, nodes_uneven > 0,\n"
    "         node_deviation > $percent]\n"
    "  unless: nodes_unused\n"
    "  set: {runtime: 10m, percent: 20}\n"
    "  text: 'The work was uneven: CPU use of some nodes differed from the "
    "others by up to {value} %{names}.'\n",
    RULE "gpus_uneven\n"
         "  severity: warning\n"
         "  when: [runtime > $runtime, gpus_uneven > 0,\n"
         "         gpu_deviation > $percent]\n"
         "  unless: [gpus_unused, gpu_very_low, gpu_low_interactive]\n"
         "  set: {runtime: 10m, percent: 20}\n"
         "  text: 'The work was uneven: use of some GPUs differed from the "
         "others by up to {value} %{names}.'\n",
    RULE "threads\n"
         "  severity: warning\n"
         "  when: [threads > $times * cpus]\n"
         "  set: {times: 2}\n"
         "  text: 'The job had {value} threads, more than its CPUs can run.'\n",
    RULE
    "small_io\n"
    "  severity: warning\n"
    "  when: [open_files >= $files, io_bytes / open_files < $bytes]\n"
    "  set: {files: 1000, bytes: 5000000}\n"
    "  text: 'Many files with little data in each ({value} bytes per file). "
    "This is slow on parallel file systems and slows other users down.'\n",
    RULE "scratch_unused\n"
         "  severity: info\n"
         "  when: [runtime > $runtime, scratch_files = 0]\n"
         "  set: {runtime: 15m}\n"
         "  text: 'The job never had a file open in scratch.'\n",
    RULE "memory_remote\n"
         "  severity: info\n"
         "  when: [runtime > $runtime, mem_remote > $percent]\n"
         "  set: {runtime: 10m, percent: 30}\n"
         "  text: '{value} % of the memory was on other NUMA nodes than the "
         "CPUs of the job, where access is slower.'\n",
    RULE "oom\n"
         "  severity: critical\n"
         "  when: [out_of_memory = 1]\n"
         "  text: 'The job ran out of memory.'\n",
    RULE "oom_kills\n"
         "  severity: warning\n"
         "  when: [out_of_memory != 1, oom_kills > 0]\n"
         "  text: '{value} process(es) were killed because the memory limit "
         "was reached; the job continued.'\n",
    RULE "oom_steps\n"
         "  severity: warning\n"
         "  when: [out_of_memory != 1, oom_steps > 0]\n"
         "  unless: oom_kills\n"
         "  text: 'Steps out of memory: {value}; the job continued.'\n",
    RULE "oom_leak\n"
         "  severity: critical\n"
         "  when: [out_of_memory = 1, runtime > $runtime, mem_steady > $steady,"
         "\n"
         "         mem_growth > $growth, mem_rise > 0]\n"
         "  set: {runtime: 10m, steady: 80, growth: 30}\n"
         "  text: 'Memory rose steadily, by {gib} GiB an hour, until it "
         "reached the limit: this may be a memory leak.'\n",
    RULE "leak\n"
         "  severity: warning\n"
         "  when: [out_of_memory != 1, runtime > $runtime,\n"
         "         mem_steady > $steady, mem_growth > $growth,\n"
         "         mem_forecast > $limit, mem_rise > 0]\n"
         "  set: {runtime: 30m, steady: 80, growth: 10, limit: 100}\n"
         "  text: 'Memory rose steadily, by {gib} GiB an hour, and would "
         "have reached its limit before the time limit: this may be a memory "
         "leak.'\n",
    RULE "hang\n"
         "  severity: warning\n"
         "  when: [state != completed, out_of_memory != 1, interactive != 1,\n"
         "         runtime > $runtime, idle_end / runtime > $part,\n"
         "         idle_end > $time]\n"
         "  set: {runtime: 20m, part: 0.1, time: 10m}\n"
         "  text: 'The job used no CPU, GPU or I/O in its last {minutes} min: "
         "it may have hung.'\n",
    RULE "idle_end\n"
         "  severity: warning\n"
         "  when: [state = completed, interactive != 1, runtime > $runtime,\n"
         "         idle_end / runtime > $part, idle_end > $time]\n"
         "  set: {runtime: 20m, part: 0.1, time: 10m}\n"
         "  text: 'The job used no CPU, GPU or I/O in its last {minutes} min.'"
         "\n",
    RULE "idle_start\n"
         "  severity: info\n"
         "  when: [interactive != 1, runtime > $runtime,\n"
         "         idle_start / runtime > $part, idle_start > $time]\n"
         "  set: {runtime: 20m, part: 0.1, time: 10m}\n"
         "  text: 'The job used no CPU, GPU or I/O in its first {minutes} "
         "min.'\n",
    RULE "timeout\n"
         "  severity: warning\n"
         "  when: [state = timeout]\n"
         "  unless: [gpu_hardware, gpus_unused, nodes_unused]\n"
         "  text: 'The job reached its time limit.'\n",
    RULE "time_limit_far_too_long\n"
         "  severity: info\n"
         "  when: [state = completed, runtime > $runtime,\n"
         "         time_efficiency <= $percent]\n"
         "  set: {runtime: 15m, percent: 10}\n"
         "  text: 'The job used {value} % of its time limit.'\n",
    RULE "time_limit_too_long\n"
         "  severity: info\n"
         "  when: [state = completed, runtime > $runtime,\n"
         "         time_efficiency > $very_low, time_efficiency < $percent]\n"
         "  set: {runtime: 15m, very_low: 10, percent: 60}\n"
         "  text: 'The job used {value} % of its time limit.'\n",
    RULE "too_many_nodes\n"
         "  severity: warning\n"
         "  when: [nodes > 1, gpus = 0, cpus < $node_cpus,\n"
         "         mem_peak < $node_memory, nodes > 1]\n"
         "  set: {node_cpus: 16, node_memory: 54G}\n"
         "  text: 'The job used {value} nodes but would fit on one.'\n",
    RULE "gpu_spread\n"
         "  severity: info\n"
         "  when: [nodes > 1, gpus > 1, gpus / nodes < $per_node]\n"
         "  set: {per_node: 2}\n"
         "  text: 'GPUs on each node: {value}. GPUs on the same "
         "node communicate faster.'\n",
    RULE "cpus_per_gpu\n"
         "  severity: info\n"
         "  when: [gpus > 0, cpus / gpus > $cpus]\n"
         "  set: {cpus: 12}\n"
         "  text: 'The job had {value} CPUs for each GPU. Other jobs cannot "
         "use the remaining GPUs without CPUs.'\n",
    RULE "memory_per_gpu\n"
         "  severity: info\n"
         "  when: [gpus > 0, mem_allocated / gpus > $memory,\n"
         "         mem_efficiency < $percent]\n"
         "  set: {memory: 115G, percent: 85}\n"
         "  text: 'The job used {value} % of its memory, and had much memory "
         "for each GPU.'\n",
    RULE
    "memory_low\n"
    "  severity: warning\n"
    "  when: [runtime > $runtime, gpus = 0, mem_allocated / cpus > $per_cpu,\n"
    "         mem_efficiency < $percent]\n"
    "  set: {runtime: 5m, per_cpu: 4G, percent: 70}\n"
    "  text: 'The job used {value} % of its memory.'\n",
    RULE "memory_low_gpu\n"
         "  severity: warning\n"
         "  when: [runtime > $runtime, mem_allocated / gpus >= $per_gpu,\n"
         "         mem_efficiency < $percent]\n"
         "  unless: memory_per_gpu\n"
         "  set: {runtime: 5m, per_gpu: 50G, percent: 70}\n"
         "  text: 'The job used {value} % of its memory.'\n",
    RULE
    "cpu_over_100\n"
    "  severity: info\n"
    "  when: [cpu_efficiency > $percent]\n"
    "  set: {percent: 101}\n"
    "  text: 'CPU time is {value} % of the allocated time: hardware threads, "
    "processes outside the allocated CPUs, or late accounting.'\n",
    RULE "memory_over_100\n"
         "  severity: info\n"
         "  when: [mem_efficiency > $percent]\n"
         "  set: {percent: 101}\n"
         "  text: 'Memory is {value} % of the allocated memory: memory was not "
         "limited, or shared memory was counted for each process.'\n",
    RULE "energy_reserved\n"
         "  severity: info\n"
         "  when: [energy > $joules, energy_used > 0,\n"
         "         energy_reserved > $times * energy_used]\n"
         "  set: {times: 3, joules: 1000000}\n"
         "  text: 'The reserved resources cost {energy}, several times the "
         "energy of what was used.'\n",
    /* Of running jobs: {time} is the time of "running". */
    RULE "running_no_progress\n"
         "  severity: warning\n"
         "  running: 30m\n"
         "  when: [interactive != 1, io_bytes < $bytes, gpus_unused >= gpus,\n"
         "         cpus_busy < $cpus]\n"
         "  set: {bytes: 1000000, cpus: 0.001}\n"
         "  text: 'The job has used almost no CPU time and no I/O for {time}.'"
         "\n"
         "  advice: 'See what it waits for; cancel it if it hangs.'\n",
    RULE "running_gpus_unused\n"
         "  severity: warning\n"
         "  running: 1h\n"
         "  when: [interactive != 1, gpus > 0, gpus_unused > 0]\n"
         "  text: 'The job has not used {value} of its GPUs for {time}{names}.'"
         "\n"
         "  advice: 'Check that the program uses its GPUs; if it needs fewer, "
         "cancel the job and request fewer.'\n",
    RULE "running_nodes_unused\n"
         "  severity: warning\n"
         "  running: 30m\n"
         "  when: [interactive != 1, nodes > 1, nodes_unused > 0]\n"
         "  unless: running_no_progress\n"
         "  text: 'The job has used no CPU time on {value} of its nodes for "
         "{time}{names}.'\n"
         "  advice: 'Check that the program starts processes on all nodes "
         "(srun or mpirun).'\n",
    RULE "running_nodes_uneven\n"
         "  severity: warning\n"
         "  running: 30m\n"
         "  when: [interactive != 1, gpus = 0, nodes_uneven > 0,\n"
         "         node_deviation > $percent]\n"
         "  unless: [running_no_progress, running_nodes_unused]\n"
         "  set: {percent: 20}\n"
         "  text: 'The work is uneven: CPU use of some nodes differed from the "
         "others by up to {value} % in the last {time}{names}.'\n",
    RULE "running_gpus_uneven\n"
         "  severity: warning\n"
         "  running: 1h\n"
         "  when: [interactive != 1, gpus_uneven > 0, gpu_deviation > $percent]"
         "\n"
         "  unless: [running_no_progress, running_gpus_unused]\n"
         "  set: {percent: 20}\n"
         "  text: 'The work is uneven: use of some GPUs differed from the "
         "others by up to {value} % in the last {time}{names}.'\n",
    RULE "running_leak\n"
         "  severity: warning\n"
         "  running: 1h\n"
         "  when: [interactive != 1, mem_steady > $steady,\n"
         "         mem_growth > $growth, mem_forecast > $limit, mem_rise > 0]\n"
         "  set: {steady: 80, growth: 10, limit: 100}\n"
         "  text: 'Memory has risen steadily for {time}, by {gib} GiB an hour, "
         "and will reach its limit before the time limit.'\n"
         "  advice: 'Check whether the program needs this memory or leaks it.'"
         "\n",
    RULE "running_serial\n"
         "  severity: warning\n"
         "  running: 30m\n"
         "  when: [interactive != 1, nodes = 1, gpus = 0, cpus > 1,\n"
         "         cpus_busy < $most, cpus_busy > $least]\n"
         "  set: {least: 0.85, most: 1.01}\n"
         "  text: 'Only {value} of the CPUs of the job was busy in the last "
         "{time}.'\n"
         "  advice: 'If the program is serial, request one CPU.'\n",
    RULE "running_cpu_very_low\n"
         "  severity: info\n"
         "  running: 1h\n"
         "  when: [interactive != 1, gpus = 0, cpu_efficiency < $percent]\n"
         "  set: {percent: 20}\n"
         "  unless: [running_no_progress, running_nodes_unused, "
         "running_serial]\n"
         "  text: 'CPU efficiency was {value} % in the last {time}.'\n",
    RULE "running_memory_limit\n"
         "  severity: warning\n"
         "  running: 5m\n"
         "  when: [mem_efficiency > $percent]\n"
         "  set: {percent: 95}\n"
         "  text: 'The job has held {value} % of its memory limit on a node "
         "for {time}; the kernel kills processes that need more.'\n",
    NULL};
