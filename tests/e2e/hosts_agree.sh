#!/bin/bash
# The exporter, the collectd plugin and the SNMP sub-agent read the same frozen node and must
# have the same metrics, with values equal to the last digit.  Frozen nodes are the fixture trees, and a
# copy of this kernel's files of real jobs and their processes.  TAP.
# shellcheck disable=SC2154
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/collectd_lib.sh"
agree="$python $top/tests/e2e/hosts_agree.py"
need_collectd

# Options for both hosts, in the exporter's spelling.
everything="collector.pressure=true collector.percore=true collector.hugetlb=true
    collector.process=true collector.steps=tasks job.grace=1h sample.slow=0.5
    identity.wait=1 cluster=alpha"

plugin_lines() { # option...: in collectd's spelling
    local o key
    for o in "$@"; do
        key=${o%%=*}
        printf '%s "%s"\n' "${key//[.-]/}" "${o#*=}"
    done
}

same() { # jobs: the pages are equal and have this number of jobs
    scrape && scrape_daemon && $agree compare "$tmp/page" "$dir/page" || return
    [ -z "$snmp_port" ] || { snmp_walk && $agree snmp "$tmp/page" "$tmp/walk"; } || return
    is_number "$(grep -c '^batchjob_job_info' "$tmp/page")" "$1" && ${also:-:}
}
is_number() { [ "$1" = "$2" ] || { echo "$1 jobs, want $2"; return 1; }; }

# A private snmpd, to which the sub-agents connect.
snmp_port=
start_snmpd() {
    command -v snmpd >/dev/null && command -v snmpbulkwalk >/dev/null || return
    snmp_port=$(free_port)
    mkdir -p "$tmp/snmp/persist"
    export MIBS='' SNMPCONFPATH=$tmp/snmp SNMP_PERSISTENT_DIR=$tmp/snmp/persist
    printf '%s\n' "agentAddress udp:127.0.0.1:$snmp_port" "master agentx" "agentXSocket $tmp/snmp/agentx" \
        "rocommunity public 127.0.0.1" >"$tmp/snmp/snmpd.conf"
    snmpd -f -Lf "$tmp/snmp/log" -C -c "$tmp/snmp/snmpd.conf" -p "$tmp/snmp/pid" >"$tmp/snmp/out" 2>&1 &
    on_exit "stop $!"
    wait_for 60 test -S "$tmp/snmp/agentx"
}
snmp_walk() {
    snmpbulkwalk -v2c -c public -t10 -OnxtUe "127.0.0.1:$snmp_port" .1.3.6.1.4.1.8072.9999.9999.9010 >"$tmp/walk"
}
start_agent() { # option...: sets agent (its pid)
    agent=
    [ -n "$snmp_port" ] || return 0
    "$O/batchjob_snmp" --agentx.socket="$tmp/snmp/agentx" --energy.state-file= --sample.interval=0.5 "$@" \
        >>"$tmp/agent.log" 2>&1 &
    agent=$!
    on_exit "stop $agent"
}

# Run all hosts on these cgroup and proc folders and compare their pages.
agree_on() { # description jobs cgroup proc option...
    local what=$1 jobs=$2
    set -- path.cgroupfs="$3" path.procfs="$4" "${@:5}"
    start_exporter "${@/#/--}"
    start_agent "${@/#/--}"
    daemon_conf "agree$tests" "$typesdb_lines" "$(plugin_lines "$@")"
    daemon_run
    daemon_answers
    # Looking up the jobs' identities takes time; after that the pages no longer change.
    wait_for 60 same "$jobs"
    check "$what: the hosts agree on $jobs jobs" same "$jobs"
    note "$(head -n 2 "$tmp/check.out" | paste -sd ";")"
    stop "$daemon"
    [ -z "$agent" ] || stop "$agent"
    stop "$exporter"
}

freeze_jobs() {
    local uid p
    uid=$(id -u nobody)
    # A quota and a limit below a parent's, several users, an empty job.
    cg_job 0 81 82 && cg_job "$uid" 83 84 || return
    cg_run 0 81 "$work" -m 20 -i 100 -n 3 -t 300 && on_exit "stop $cg_pid"
    cg_run 0 82 "$work" -m 5 -i 30 -t 300 && on_exit "stop $cg_pid"
    cg_run "$uid" 83 "$work" -i 100 -p 3 -t 300 && on_exit "stop $cg_pid"
    for p in $(cg_paths 0 82); do
        [ $cg_version = v2 ] || mkdir -p "$p/step_0/task_0" "$p/step_batch"
        echo $((1 << 30)) >"$p/memory.limit_in_bytes"
        echo $((1 << 30)) >"$p/memory.max"
        echo 50000 >"$p/cpu.cfs_quota_us"
    done 2>/dev/null
    busy() { awk -v s="$(cg_cpu_seconds 0 82)" 'BEGIN { exit !(s >= 0.5) }'; }
    wait_for 60 busy
    $agree freeze $cg "$1" "$tmp/frozen" >"$tmp/freeze.out" 2>&1
}

start_snmpd || skip "the hosts agree by SNMP" "snmpd or snmp is not installed"
mkdir -p "$tmp/proc"
cp /proc/stat /proc/meminfo /proc/cpuinfo "$tmp/proc"
for tree in "$top"/tests/fixtures/trees/*/; do
    # shellcheck disable=SC2086
    agree_on "$(basename "$tree")" "$(grep -vc '^#' "$tree/expected.txt")" \
        "${tree%/}" "$tmp/proc" $everything
done
trees=$top/tests/fixtures/trees
# Constant counters: the two hosts do not read at the same moment.
$python - "$tmp/sys" <<-'END'
	import sys
	sys.path.insert(0, "tests/e2e")
	import energy
	energy.lay_out(sys.argv[1])
END
agree_on "power meters and emission factors" 4 "$trees/v1-slurm" "$tmp/proc" \
    path.sysfs="$tmp/sys" collector.emissions=true emissions.country=FRA \
    emissions.factor=12.5 energy.interval=1

# GPUs of a simulated library: the processes of a job use one GPU and a MIG instance;
# another job claims the second GPU in its environment.
gpu_process() { # job step variable=value...
    local path=system.slice/node01_slurmstepd.scope/$1/$2/user/task_0 pid
    pid=$(head -n 1 "$trees/v2-slurm/$path/cgroup.procs")
    mkdir -p "$tmp/gpu/$pid"
    echo "0::/$path" >"$tmp/gpu/$pid/cgroup"
    printf '%s\0' "SLURM_JOB_ID=${1#job_}" "${@:3}" >"$tmp/gpu/$pid/environ"
    echo "$pid"
}
mkdir -p "$tmp/gpu"
cp "$tmp"/proc/* "$tmp/gpu"
pid=$(gpu_process job_1 step_batch A=b)
gpu_process job_3 step_0 SLURM_JOB_GPUS=1 >/dev/null
cat >"$tmp/gpu.script" <<END
driver 550.54.15
gpu 0 uuid GPU-6f0f0e3c-1111-2222-3333-444455556666
gpu 0 name NVIDIA_H100_"80GB"
gpu 0 pci 00000000:07:00.0
gpu 0 minor 1
gpu 0 memory_total 85899345920
gpu 0 memory_used 1073741825
gpu 0 busy 87
gpu 0 memory_busy 3
gpu 0 power 253172
gpu 0 energy 987654321
gpu 0 temperature 61
gpu 0 sm_clock 1395
gpu 0 throttle 0x44
gpu 0 gpm 1
gpm 0 -1 2 63.5 0
gpm 0 -1 20 1.5 0
proc 0 compute $pid 1073741824 -1 -1
gpu 1 uuid GPU-7f0f0e3c-1111-2222-3333-444455556666
gpu 1 fail
gpu 2 uuid GPU-8f0f0e3c-1111-2222-3333-444455556666
gpu 2 mig_mode 1
mig 2 0 uuid MIG-11111111-2222-3333-4444-555566667777
mig 2 0 gi 9
mig 2 0 slices 3
mig 2 0 sms 42
proc 2 compute $pid 4096 9 0
fail 1 nvmlDeviceGetTemperatureV 15
END
if [ -e "$O/gpu/libnvidia-ml.so.1" ]; then
    export FAKE_NVML=$tmp/gpu.script
    three_held() {
        is_number "$(grep -c '^batchjob_job_gpu_held_seconds' "$tmp/page")" 3
    }
    also=three_held
    agree_on "GPUs" 4 "$trees/v2-slurm" "$tmp/gpu" \
        gpu.nvml="$(realpath "$O/gpu/libnvidia-ml.so.1")" gpu.interval=1
    check "GPUs: three are shown, one is lost" \
        is_number "$(grep -c '^batchjob_gpu_success{.*} 1$' "$tmp/page")" 3
    check "GPUs: jobs hold three GPUs" three_held
    also=
else
    skip "GPUs" "no $O/gpu/libnvidia-ml.so.1"
fi
agree_on "few options" 4 "$trees/v1-slurm" "$tmp/proc"
agree_on "without names of users" 2 "$trees/v1-oar" "$tmp/proc" \
    label.user=false label.account=false

cg_init
if [ $cg_version = none ] || [ ! -x "$work" ]; then
    skip "real jobs" "not root, or no cgroups to write to"
else
    name=slurm_$cg_node
    [ $cg_version = v1 ] || name=$cg_slice
    check "real jobs can be frozen" freeze_jobs "$name"
    # shellcheck disable=SC2086
    agree_on "real jobs" 3 "$tmp/frozen/cgroup" "$tmp/frozen/proc" \
        $everything collector.process.place=tmp=/tmp
fi
complete=1
