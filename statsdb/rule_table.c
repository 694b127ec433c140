#include "statsdb/rule_impl.h"

#include <stddef.h>

/* The rules that are there without a file, written as in one.  Their order is
 * that of what is told; "unless" looks at those before.
 *
 * Where the numbers come from: the checks that sites have used for years -
 * of petricore (Calcul Quebec): scratch, small I/O, CPU, evenness, memory,
 * cores, threads; and of jobstats (Princeton): all of the rest but the last
 * four. */
#define RULE "rules:\n- name: "

const char *const bj_rules_builtin[] = {
    RULE
    "gpus_unused\n"
    "  severity: critical\n"
    "  when: [runtime > $runtime, gpus > 0, gpus_unused > 0]\n"
    "  set: {runtime: 5m}\n"
    "  text: '{value} GPU(s) of this job did nothing at all. Does the program "
    "use GPUs, and as many?'\n",
    RULE
    "nodes_unused\n"
    "  severity: critical\n"
    "  when: [runtime > $runtime, nodes_unused > 0]\n"
    "  set: {runtime: 5m}\n"
    "  text: '{value} node(s) of this job used no CPU time. Is it started on "
    "all of its nodes?'\n",
    RULE "gpu_slice\n"
         "  severity: info\n"
         "  enabled: false\n"
         "  when: [gpus = 1, cpus <= 1, mem_peak < $memory,\n"
         "         gpu_mem_peak < $gpu_memory, gpu_efficiency < $percent]\n"
         "  set: {percent: 15, memory: 32G, gpu_memory: 10G}\n"
         "  text: 'A slice of a GPU would do: {value} % of one was used.'\n",
    RULE "gpu_low_interactive\n"
         "  severity: critical\n"
         "  when: [gpus > 0, interactive = 1, runtime > $runtime,\n"
         "         gpu_efficiency <= $percent]\n"
         "  unless: gpus_unused\n"
         "  set: {percent: 15, runtime: 8h}\n"
         "  text: 'This session held its GPUs for hours and used {value} % of "
         "them.'\n",
    RULE
    "gpu_very_low\n"
    "  severity: critical\n"
    "  when: [runtime > $runtime, gpus > 0, interactive != 1,\n"
    "         gpu_efficiency <= $percent]\n"
    "  unless: gpus_unused\n"
    "  set: {percent: 15, runtime: 5m}\n"
    "  text: 'Its GPUs worked {value} % of the time; {threshold} % or less is "
    "very little.'\n",
    RULE "gpu_low\n"
         "  severity: warning\n"
         "  when: [runtime > $runtime, gpus > 0, interactive != 1,\n"
         "         gpu_efficiency > $very_low, gpu_efficiency < $percent]\n"
         "  unless: gpus_unused\n"
         "  set: {very_low: 15, percent: 25, runtime: 5m}\n"
         "  text: 'Its GPUs worked {value} % of the time.'\n",
    RULE
    "serial_many_cpus\n"
    "  severity: warning\n"
    "  when: [runtime > $runtime, nodes = 1, gpus = 0, cpus > 1,\n"
    "         cpus_busy < $most, cpus_busy > $least]\n"
    "  set: {runtime: 5m, least: 0.85, most: 1.01}\n"
    "  text: 'It kept {value} CPU(s) busy: a serial program needs one only.'\n",
    RULE "cpu_very_low\n"
         "  severity: critical\n"
         "  when: [runtime > $runtime, gpus = 0, cpu_efficiency < $percent]\n"
         "  unless: [nodes_unused, serial_many_cpus]\n"
         "  set: {runtime: 5m, percent: 65}\n"
         "  text: 'It used {value} % of the time of its CPUs.'\n",
    RULE "cpu_low\n"
         "  severity: warning\n"
         "  when: [runtime > $runtime, gpus = 0, cpu_efficiency >= $very_low,\n"
         "         cpu_efficiency <= $percent]\n"
         "  unless: [nodes_unused, serial_many_cpus]\n"
         "  set: {runtime: 5m, very_low: 65, percent: 80}\n"
         "  text: 'It used {value} % of the time of its CPUs.'\n",
    RULE
    "cpu_uneven\n"
    "  severity: info\n"
    "  when: [runtime > $runtime, gpus = 0, cpu_evenness < $percent]\n"
    "  set: {runtime: 15m, percent: 75}\n"
    "  text: 'On average {value} % of the CPUs of its busiest moments were at "
    "work: parts of it may fit fewer CPUs.'\n",
    RULE
    "core_imbalance\n"
    "  severity: info\n"
    "  when: [runtime > $runtime, cpus > 1, core_min < $percent]\n"
    "  set: {runtime: 5m, percent: 90}\n"
    "  text: 'Its idlest core did {value} % of the mean work of its cores.'\n",
    RULE
    "threads\n"
    "  severity: warning\n"
    "  when: [threads > $times * cpus]\n"
    "  set: {times: 2}\n"
    "  text: 'It had {value} threads, for which it would need more CPUs than "
    "it had.'\n",
    RULE
    "small_io\n"
    "  severity: warning\n"
    "  when: [open_files >= $files, io_bytes / open_files < $bytes]\n"
    "  set: {files: 1000, bytes: 5000000}\n"
    "  text: 'Many files and little in each ({value} bytes a file): this is "
    "slow on parallel file systems, and for others too.'\n",
    RULE "scratch_unused\n"
         "  severity: info\n"
         "  when: [runtime > $runtime, scratch_files = 0]\n"
         "  set: {runtime: 15m}\n"
         "  text: 'It never had a file open in scratch.'\n",
    RULE "oom\n"
         "  severity: critical\n"
         "  when: [state = oom]\n"
         "  text: 'It ran out of memory: ask for more, or use less.'\n",
    RULE
    "oom_kills\n"
    "  severity: warning\n"
    "  when: [state != oom, oom_kills > 0]\n"
    "  text: '{value} process(es) of it were killed for want of memory, though "
    "the job went on.'\n",
    RULE "timeout\n"
         "  severity: critical\n"
         "  when: [state = timeout]\n"
         "  unless: [gpus_unused, nodes_unused]\n"
         "  text: 'It reached its time limit.'\n",
    RULE
    "time_limit_far_too_long\n"
    "  severity: critical\n"
    "  when: [state = completed, runtime > $runtime,\n"
    "         time_efficiency <= $percent]\n"
    "  set: {runtime: 15m, percent: 10}\n"
    "  text: 'It needed {value} % of its time limit; jobs with shorter limits "
    "start earlier.'\n",
    RULE
    "time_limit_too_long\n"
    "  severity: warning\n"
    "  when: [state = completed, runtime > $runtime,\n"
    "         time_efficiency > $very_low, time_efficiency < $percent]\n"
    "  set: {runtime: 15m, very_low: 10, percent: 60}\n"
    "  text: 'It needed {value} % of its time limit; jobs with shorter limits "
    "start earlier.'\n",
    RULE
    "too_many_nodes\n"
    "  severity: warning\n"
    "  when: [nodes > 1, gpus = 0, cpus < $node_cpus,\n"
    "         mem_peak < $node_memory, nodes > 1]\n"
    "  set: {node_cpus: 16, node_memory: 54G}\n"
    "  text: 'It was spread over {value} nodes, and would have had room on "
    "one.'\n",
    RULE
    "gpu_spread\n"
    "  severity: warning\n"
    "  when: [nodes > 1, gpus > 1, gpus / nodes < $per_node]\n"
    "  set: {per_node: 2}\n"
    "  text: 'It had {value} GPU(s) on each of its nodes; together they talk "
    "faster.'\n",
    RULE
    "cpus_per_gpu\n"
    "  severity: info\n"
    "  when: [gpus > 0, cpus / gpus > $cpus]\n"
    "  set: {cpus: 12}\n"
    "  text: 'It had {value} CPUs for each GPU, which others could not use "
    "with theirs.'\n",
    RULE "memory_per_gpu\n"
         "  severity: info\n"
         "  when: [gpus > 0, mem_allocated / gpus > $memory,\n"
         "         mem_efficiency < $percent]\n"
         "  set: {memory: 115G, percent: 85}\n"
         "  text: 'It used {value} % of a lot of memory for each GPU.'\n",
    RULE
    "memory_low\n"
    "  severity: warning\n"
    "  when: [runtime > $runtime, gpus = 0, mem_allocated / cpus > $per_cpu,\n"
    "         mem_efficiency < $percent]\n"
    "  set: {runtime: 5m, per_cpu: 4G, percent: 70}\n"
    "  text: 'It used {value} % of its memory; 1.2 times what it used would "
    "do.'\n",
    RULE
    "memory_low_gpu\n"
    "  severity: warning\n"
    "  when: [runtime > $runtime, mem_allocated / gpus >= $per_gpu,\n"
    "         mem_efficiency < $percent]\n"
    "  unless: memory_per_gpu\n"
    "  set: {runtime: 5m, per_gpu: 50G, percent: 70}\n"
    "  text: 'It used {value} % of its memory; 1.2 times what it used would "
    "do.'\n",
    RULE
    "cpu_over_100\n"
    "  severity: info\n"
    "  when: [cpu_efficiency > $percent]\n"
    "  set: {percent: 101}\n"
    "  text: 'CPU time is {value} % of what it had: hardware threads beyond "
    "the CPUs it was given, no confinement, or accounting that was written "
    "late.'\n",
    RULE "memory_over_100\n"
         "  severity: info\n"
         "  when: [mem_efficiency > $percent]\n"
         "  set: {percent: 101}\n"
         "  text: 'Memory is {value} % of what it had: it was not confined, or "
         "shared memory was counted for each of its processes.'\n",
    RULE
    "energy_reserved\n"
    "  severity: info\n"
    "  when: [energy > $joules, energy_used > 0,\n"
    "         energy_reserved > $times * energy_used]\n"
    "  set: {times: 3, joules: 1000000}\n"
    "  text: 'What it kept reserved cost {value} J, several times the energy "
    "of what it used.'\n",
    NULL};
