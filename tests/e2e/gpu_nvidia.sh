#!/bin/bash
# A real NVIDIA GPU: jobs in real cgroups that compute, copy, share the GPU, hold it
# idle and write to an invalid address.  gpu_nvidia.py has the expected values.  Changes
# no setting of the GPU.  Needs root, the driver with nvidia-smi, and an unused GPU with
# GPM (Hopper or later).  TAP; about a minute.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/collectd_lib.sh"
truth="$python $top/tests/e2e/gpu_nvidia.py"
load=$O/gpu/load
cg_private=1
[ -e /proc/driver/nvidia/version ] || skip_all "no NVIDIA GPU"
command -v nvidia-smi >/dev/null || skip_all "not installed: nvidia-smi"
[ -x "$load" ] || skip_all "no $load"
cg_init
[ $cg_version != none ] || skip_all "not root, or no cgroups to write to here"
[ -z "$(nvidia-smi --query-compute-apps=pid --format=csv,noheader)" ] ||
    skip_all "other processes use the GPU"
uuid=$($truth uuid) || { fail "nvidia-smi names the GPU"; exit 1; }

run_exporter() { # option...
    start_exporter --path.cgroupfs="$cg_view" --gpu.interval=1 --gpu.map-dir="$tmp/none" \
        --energy.interval=1 --energy.slow-interval=1 --energy.state-file="$tmp/state" \
        --record.dir="$tmp/spool" "$@"
}
gpu_job() { # job kind [MiB [percent]]: sets cg_pid when the work has begun
    local job=$1
    shift
    : >"$tmp/jobs.out"
    cg_job 1000 "$job" && cg_prefix="env SLURM_JOB_ID=$job SLURM_JOB_GPUS=0" cg_run 1000 "$job" "$load" "$@"
    on_exit "stop $cg_pid"
    wait_for 60 grep -q ready "$tmp/jobs.out" || { fail "job $job begins" "$tmp/jobs.out"; exit 1; }
}
end_job() { # job pid
    stop "$2"
    cg_kill 1000 "$1"
}
of_job() { value "batchjob_job_gpu_$2" jobid="$1" gpu="$uuid"; } # job metric
# value min max: is there a value in the range?
within() { awk -v v="$1" -v least="$2" -v most="$3" 'BEGIN { exit !(v != "" && v + 0 >= least && v + 0 <= most) }'; }
job_within() { # job metric min max
    scrape && echo "$2: $(of_job "$1" "$2")" && within "$(of_job "$1" "$2")" "$3" "$4"
}
gpu_within() { # metric min max
    scrape && echo "$1: $(value "batchjob_gpu_$1" gpu="$uuid")" &&
        within "$(value "batchjob_gpu_$1" gpu="$uuid")" "$2" "$3"
}
soon() { # description command...: it succeeds within 30 s
    local end=$((SECONDS + 30)) what=$1
    shift
    until "$@" >"$tmp/soon.out" 2>&1; do
        [ $SECONDS -lt $end ] || { fail "$what" "$tmp/soon.out"; return; }
        sleep 0.1
    done
    pass "$what: $(tail -n 1 "$tmp/soon.out")"
}
# Values of a reading are means since the previous one.
settled() { soon "job $1 has worked for a while" job_within "$1" held_seconds_total 3 1000; }

mkdir "$tmp/spool"
run_exporter
check "the driver is read" wait_for 60 shows batchjob_gpu_success gpu="$uuid"
same_as_smi() { scrape && $truth device "$tmp/page"; }
soon "values of the device are those of nvidia-smi" same_as_smi
sed 's/^/# /' "$tmp/soon.out"
check "energy is read" wait_for 30 shows batchjob_gpu_energy_joules_total gpu="$uuid"

counted() { # name: scrape; read the energy counter before and after
    $truth counter >"$tmp/$1.before" && scrape "$tmp/$1" && $truth counter >"$tmp/$1.after"
}
counted first

# --- one job holds the GPU, another computes ---------------------------------

gpu_job 3001 idle 2048
idle=$cg_pid
soon "a process without work makes its job the owner" shows batchjob_job_gpu_info jobid=3001 gpu="$uuid" source=process
memory_as_smi() { scrape && $truth process "$tmp/page" "$1" "$2"; }
soon "its memory is that of nvidia-smi" memory_as_smi "$idle" 3001
soon "the time of a job without work is idle" job_within 3001 idle_seconds_total 3 1000
gpu_job 3002 fp32
busy=$cg_pid
soon "a job that computes is busy" job_within 3002 busy_ratio 0.9 1
soon "a job that computes has nearly the whole GPU" job_within 3002 share_ratio 0.95 1
soon "an idle job on the same GPU has nearly none of it" job_within 3001 share_ratio 0 0.05
soon "the multiprocessors work" gpu_within sm_active_ratio 0.9 1
soon "32-bit float operations are measured" gpu_within fp32_active_ratio 0.2 1
soon "tensor cores are unused" gpu_within tensor_active_ratio 0 0.01
soon "power rises" gpu_within power_watts 150 1000
soon "a job that computes has no idle time" job_within 3002 idle_seconds_total 0 1
check "jobs and unallocated energy add up to the node's" $truth sum "$tmp/page"
sed 's/^/# /' "$tmp/check.out"

# --- the exporter is killed --------------------------------------------------

scrape "$tmp/before"
kill -KILL "$exporter" && wait "$exporter" 2>/dev/null
run_exporter
soon "a restarted exporter still shows the job's energy" job_within 3002 energy_joules_total 1 1000000
check "no counter falls" $python "$top/tests/e2e/gpu.py" check-decreases exporter "$tmp/before" "$tmp/page"
note "$(tail -n 1 "$tmp/check.out")"
end_job 3001 "$idle"
end_job 3002 "$busy"
recorded() { scrape && $truth record "$tmp/spool" "$@"; }
soon "the final record of the idle job is right" recorded 3001 idle
soon "the final record of the computing job is right" recorded 3002 fp32

# --- profiling values --------------------------------------------------------

gpu_job 3003 tensor
settled 3003
soon "half-precision work of tensor cores is measured" gpu_within tensor_hmma_active_ratio 0.1 1
end_job 3003 "$cg_pid"
gpu_job 3010 tensor64
settled 3010
soon "double-precision work of tensor cores is measured" gpu_within tensor_dfma_active_ratio 0.1 1
end_job 3010 "$cg_pid"
gpu_job 3004 copy 4096
settled 3004
soon "memory bandwidth is measured" gpu_within dram_active_ratio 0.5 1
end_job 3004 "$cg_pid"
gpu_job 3009 upload 1024
settled 3009
soon "data received by PCI Express are measured" gpu_within pcie_receive_rate_bytes_per_second 1000000000 100000000000
end_job 3009 "$cg_pid"
gpu_job 3005 fp32 64 30
settled 3005
soon "multiprocessors of a job that computes 30 % of the time are partly active" gpu_within sm_active_ratio 0.15 0.5

# --- the plugin of collectd reads the same GPU --------------------------------

plugin_has() { # metric label=value min max
    curl -sf "$page" >"$dir/page" &&
        within "$($prom value "$dir/page" "collectd_batchjob_$1" "$2")" "$3" "$4"
}
if [ -e "$so_dir/batchjob.so" ] && command -v collectd >/dev/null && plugins=$(collectd_plugins); then
    daemon_conf collectd "$typesdb_lines" "PathCgroupfs \"$cg_view\"
GpuInterval 1
GpuMapDir \"$tmp/none\""
    daemon_run
    daemon_answers
    soon "the plugin has the activity of multiprocessors" plugin_has gpu_sm_active_ppm "batchjob=$uuid" 150000 500000
    soon "the plugin has the job" plugin_has job_gpu_share_ppm "type=$uuid:0" 1000000 1000000
    soon "the plugin has the GPU's memory" plugin_has gpu_memory_total_bytes "batchjob=$uuid" \
        "$(value batchjob_gpu_memory_total_bytes gpu="$uuid")" "$(value batchjob_gpu_memory_total_bytes gpu="$uuid")"
    check "collectd's log has no errors" eval "! grep -E 'error|fail' '$dir/log'"
    stop "$daemon"
else
    skip "collectd" "collectd or its plugin is not installed"
fi
end_job 3005 "$cg_pid"

# The page may be two readings old; an idle GPU uses little energy in that time.
soon "the GPU is idle" gpu_within busy_ratio 0 0
counted second
check "energy equals that of the driver's counter" $truth energy 2 "$tmp/first" \
    "$(cat "$tmp/first.before")" "$(cat "$tmp/first.after")" \
    "$tmp/second" "$(cat "$tmp/second.before")" "$(cat "$tmp/second.after")"
sed 's/^/# /' "$tmp/check.out"

# --- sharing, errors ---------------------------------------------------------

gpu_job 3006 fp32
one=$cg_pid
gpu_job 3007 fp32
two=$cg_pid
soon "the first of two equal jobs has about half of the GPU" job_within 3006 share_ratio 0.3 0.7
soon "the second of two equal jobs has about half of the GPU" job_within 3007 share_ratio 0.3 0.7
soon "shares are estimates" job_within 3006 estimated 1 1
end_job 3006 "$one"
end_job 3007 "$two"

# The driver reports what clients of an MPS server use as the server's use.
mps() {
    mkdir -m 777 "$tmp/mps" && mkdir -m 777 "$tmp/mps/log" || return
    export CUDA_MPS_PIPE_DIRECTORY=$tmp/mps CUDA_MPS_LOG_DIRECTORY=$tmp/mps/log
    nvidia-cuda-mps-control -d || { fail "MPS starts"; return; }
    on_exit "echo quit | CUDA_MPS_PIPE_DIRECTORY=$tmp/mps nvidia-cuda-mps-control"
    CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25 gpu_job 3011 fp32
    one=$cg_pid
    CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50 gpu_job 3012 fp32 2048
    two=$cg_pid
    soon "a client of MPS has an equal share" job_within 3011 share_ratio 0.5 0.5
    soon "another client of MPS has an equal share" job_within 3012 share_ratio 0.5 0.5
    settled 3012
    check "a client of MPS is not idle" job_within 3011 idle_seconds_total 0 1
    check "another client of MPS is not idle" job_within 3012 idle_seconds_total 0 1
    is "the busy time of a client is not known" "$(of_job 3012 busy_ratio)" ""
    is "two clients of MPS are no conflict" "$(value batchjob_gpu_conflicts_total kind=double)" "$1"
    end_job 3011 "$one"
    end_job 3012 "$two"
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}
if command -v nvidia-cuda-mps-control >/dev/null; then
    mps "$(value batchjob_gpu_conflicts_total kind=double)"
else
    skip "MPS" "not installed: nvidia-cuda-mps-control"
fi

xids=$(value batchjob_gpu_xid_errors_total gpu="$uuid")
gpu_job 3008 fault
soon "a write to an invalid address is counted as an Xid error" gpu_within xid_errors_total $((xids + 1)) $((xids + 9))
note "Xid $(value batchjob_gpu_last_xid gpu="$uuid")"
check "the source nvml still works" [ "$(value batchjob_gpu_source_success source=nvml)" = 1 ]
cg_kill 1000 3008
# The log has a warning about jobs that use the same GPU without a request to share it.
check "the log has no errors" eval "! grep -E 'level=(warn|error)' '$tmp/exporter.log' | grep -v 'at the same time'"

complete=1
