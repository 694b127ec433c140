#!/bin/bash
# GPUs of a simulated driver, and jobs in real cgroups as PBS and LSF lay them out: owners
# are found by CUDA_VISIBLE_DEVICES and the kernel's device cgroup.  TAP; about 15 s.
. "$(dirname "$0")/lib.sh"
nvml=$O/gpu/libnvidia-ml.so.1
[ -e "$nvml" ] || skip_all "no $nvml"
[ -x "$work" ] || skip_all "no $work"
cg_private=1
cg_init
[ $cg_version != none ] || skip_all "not root, or no cgroups to write to here"

# --- jobs --------------------------------------------------------------------

# Paths of jobs below the root of each hierarchy.
pbs=pbs_jobs.service/jobid
lsf=lsf/cluster1
roots() {
    local c
    if [ $cg_version = v2 ]; then
        echo "$cg_view"
    else
        for c in cpuacct memory devices; do
            [ ! -d "$cg_view/$c" ] || echo "$cg_view/$c"
        done
    fi
}
batch_job() { # path variable=value...: start a process in cgroups with this path
    local path=$1 root
    shift
    (
        kill -STOP "$BASHPID"
        cd / && exec env "$@" "$work" -m 1 -i 100 -t 600
    ) </dev/null >>"$tmp/jobs.out" 2>&1 &
    local pid=$!
    disown $pid
    on_exit "kill_ours $pid -KILL"
    until grep -q '^State:.T' "/proc/$pid/status"; do sleep 0.01; done
    for root in $(roots); do
        mkdir -p "$root/$path" && echo $pid >"$root/$path/cgroup.procs" || return
    done
    kill -CONT $pid
}
gpu() { printf 'GPU-%d0000000-1111-2222-3333-444444444444' "$1"; }
mig=MIG-7a000000-1111-2222-3333-444444444444

batch_job $pbs/77.srv PBS_JOBID=77.srv CUDA_VISIBLE_DEVICES="$(gpu 2)"
batch_job "$pbs/78[4].srv" PBS_JOBID='78[4].srv' CUDA_VISIBLE_DEVICES=3
# With a device cgroup, index 0 is the first GPU that the job can open.
batch_job $pbs/79.srv PBS_JOBID=79.srv CUDA_VISIBLE_DEVICES=0
batch_job $pbs/80.srv PBS_JOBID=81.srv CUDA_VISIBLE_DEVICES=1 # another job's id: not used
batch_job $lsf/job.101.4711.1700000000 LSB_JOBID=101 CUDA_VISIBLE_DEVICES=4,5
batch_job "$lsf/job.102[3].4712.1700000000" LSB_JOBID=102 LSB_JOBINDEX=3 \
    CUDA_VISIBLE_DEVICES=$mig

# Like PBS' hook, allow job 79 to create all device files, but to open only
# /dev/nvidia1, which is GPU 6.
devices=$cg_view/devices/$pbs/79.srv
isolated=
if [ -w "$devices/devices.deny" ] && echo a >"$devices/devices.deny"; then
    for d in 'c *:* m' 'c 195:* m' 'c 1:* rwm' 'c 195:255 rw' 'c 195:1 rw'; do
        echo "$d" >"$devices/devices.allow"
    done
    isolated=1
    note "$(paste -sd , "$devices/devices.list")"
fi

# --- the driver --------------------------------------------------------------

{
    echo "driver 550.54.15"
    for i in 0 1 2 3 4 5 6 7; do
        printf 'gpu %d uuid %s\ngpu %d minor %d\n' $i "$(gpu $i)" $i $((7 - i))
        printf 'gpu %d pci 00000000:%02X:00.0\n' $i $((i + 1))
    done
    echo "gpu 7 mig_mode 1"
    echo "mig 7 0 uuid $mig"
    echo "mig 7 0 gi 1"
    echo "mig 7 0 ci 0"
} >"$tmp/script"
export FAKE_NVML=$tmp/script
start_exporter --path.cgroupfs="$cg_view" --path.sysfs="$tmp/none" \
    --gpu.nvml="$(realpath "$nvml")" --gpu.interval=1 --energy.state-file=

# --- owners ------------------------------------------------------------------

expected() {
    local i
    for i in "77.srv $(gpu 2)" "78[4].srv $(gpu 3)" "101 $(gpu 4)" \
        "101 $(gpu 5)" "102[3] $mig"; do
        echo "$i environ"
    done
    if [ $isolated ]; then
        echo "79.srv $(gpu 6) devices"
    else
        echo "79.srv $(gpu 0) environ"
    fi
}
gpu_owners() {
    scrape && $prom labels "$tmp/page" batchjob_job_gpu_info | $python -c '
import json, sys
for line in sys.stdin:
    l = json.loads(line)
    print(l["jobid"], l["gpu"], l["source"])' | sort
}
agreed() { [ "$(gpu_owners)" = "$(expected | sort)" ]; }
wait_for 60 agreed
is "jobs of PBS and LSF have their GPUs" "$(gpu_owners)" "$(expected | sort)"
is "no GPU has a conflict" "$($prom value "$tmp/page" batchjob_gpu_conflicts_total |
    sort -u)" 0
[ $isolated ] || skip "the device cgroup decides which GPU a job has" "cgroup v2"
complete=1
