#!/bin/bash
# The names of other exporters on real cgroups made here: what each page says is
# held against the kernel's files, in the unit that the other one has.  No
# scheduler needed; root is, for the cgroups.  TAP; about half a minute.
. "$(dirname "$0")/lib.sh"

[ -x "$O/batchjob_exporter" ] || { fail "the exporter was built"; exit 1; }

dialects='slurm-job-exporter jobs_exporter jobstats cgroup_exporter
    batchjob_monitoring ceems'
# Findings of promtool that are names which the others have chosen.
chosen='slurm_job_process_count slurm_job_threads_count jobs_thread_count
    jobs_cpu_time_total jobs_read_mb jobs_write_mb jobs_read_count
    jobs_write_count cgroup_cpu_user_seconds cgroup_cpu_system_seconds
    cgroup_cpu_total_seconds cgroup_memory_fail_count batchjob_memory_fail_count
    batchjob_ipmi_dcmi_watts_total batchjob_emissions_gCo2_kWh
    ceems_compute_unit_memory_fail_count ceems_cpu_count
    ceems_meminfo_MemTotal_bytes ceems_meminfo_MemAvailable_bytes
    ceems_rapl_package_power_limit_watts_total ceems_emissions_gCo2_kWh'

page() { # dialect [curl option...]: into $tmp/page
    local name=$1
    shift
    curl -sSf --max-time 20 "$@" "$url/metrics/$name" >"$tmp/page"
}
page_shows() { local d=$1; shift; page "$d" && $prom value "$tmp/page" "$@"; }
page_shows_not() { local d=$1; shift; page "$d" && ! $prom value "$tmp/page" "$@"; }
status() { curl -s -o "$tmp/body" -w '%{http_code}' "$url$1"; }

only_chosen_names() { # promtool's findings, and no page that it cannot read
    local rc name
    promtool check metrics <"$tmp/page" >"$tmp/promtool.out" 2>&1
    rc=$?
    cat "$tmp/promtool.out"
    [ $rc = 0 ] || [ $rc = 3 ] || return
    while read -r name _; do
        # shellcheck disable=SC2086
        printf '%s\n' $chosen | grep -qxF "$name" || return
    done <"$tmp/promtool.out"
}

cg_private=1 # nobody else's jobs are in our way, nor ours in theirs
cg_init
if [ $cg_version = none ] || [ "$(id -u)" != 0 ]; then
    skip "real cgroups" "not root, or no cgroups to write to here"
    complete=1
    exit
fi
note "cgroups $cg_version:$cg_controllers"
nobody=$(id -u nobody)
id=4711

# --- what the kernel says ----------------------------------------------------

file() { # v1-controller name: of the job
    local p
    for p in $(cg_paths "$nobody" $id); do
        case $cg_version:$p in
        v2:* | v1:$cg/$1/*) cat "$p/$2" 2>/dev/null && return ;;
        esac
    done
}
stat_of() { file "$1" "$2" | awk -v k="$3" '$1 == k { print $2 }'; }
by_version() { # v1-command v2-command
    if [ $cg_version = v1 ]; then eval "$1"; else eval "$2"; fi
}
used() { by_version 'file memory memory.usage_in_bytes' 'file - memory.current'; }
peak() { by_version 'file memory memory.max_usage_in_bytes' 'file - memory.peak'; }
limit() { by_version 'file memory memory.limit_in_bytes' 'file - memory.max'; }
memory() { by_version "stat_of memory memory.stat $1" "stat_of - memory.stat $2"; }
cpu_nsec() {
    by_version 'file cpuacct cpuacct.usage' \
        'stat_of - cpu.stat usage_usec | sed s/$/000/'
}
cpu_ticks() { # user|system
    by_version "stat_of cpuacct cpuacct.stat $1" \
        "stat_of - cpu.stat ${1}_usec | sed 's/....\$//'"
}
limit_memory() {
    local p
    for p in $(cg_paths "$nobody" $id); do
        case $cg_version:$p in
        v2:*) echo "$1" >"$p/memory.max" ;;
        v1:$cg/memory/*) echo "$1" >"$p/memory.limit_in_bytes" ;;
        esac
    done
}
cgroup_of_job() { # below the root that the exporter sees
    by_version "echo /slurm_$cg_node/uid_$nobody/job_$id" \
        "echo /system.slice/${cg_node}_slurmstepd.scope/job_$id"
}
calls_of() { awk -v k="$1:" '$1 == k { print $2 }' "/proc/$cg_pid/io"; }
calc() { awk "BEGIN { printf \"%.9f\", $1 }"; }

# --- a job that stands still -------------------------------------------------

start_exporter --path.cgroupfs="$cg_view" --web.dialect=slurm-job-exporter \
    --job.grace=3 --sample.slow=0.1 --identity.wait=2 \
    --collector.process.place="files=/" --collector.process.place="scratch=$tmp" \
    --collector.steps=tasks --log.level=debug
for d in $dialects; do
    check "$d: a page without jobs" page "$d"
done
page slurm-job-exporter
check "slurm-job-exporter announces its families" grep -q '^# TYPE slurm_job_memory_usage gauge$' "$tmp/page"

cg_job "$nobody" $id
limit_memory $((1 << 30))
exec 9>"$tmp/held"
cg_run "$nobody" $id env SLURM_JOB_ID=$id SLURM_JOB_ACCOUNT=physics \
    "$work" -t 600 -m 30 -n 2
exec 9>&-
check "the job is seen" wait_for 10 page_shows slurm-job-exporter \
    slurm_job_memory_usage slurmjobid=$id account=physics
sleep 2
kill -STOP "$cg_pid"
sleep 0.5
page slurm-job-exporter # what was slow to be read is read in the next one
sleep 0.3
check "web.dialect is the page of the telemetry path" scrape
S() { value "slurm_job_$1" slurmjobid=$id user=nobody account=physics "${@:2}"; }
near "memory_usage in bytes" "$(S memory_usage)" "$(used)" 0.01 65536
near "memory_max" "$(S memory_max)" "$(peak)" 0.01 65536
is "memory_limit" "$(S memory_limit)" "$(limit)"
near "memory_rss" "$(S memory_rss)" "$(memory total_rss anon)" 0.01 65536
near "memory_cache" "$(S memory_cache)" "$(memory total_cache file)" 0.01 65536
near "memory_mapped_file" "$(S memory_mapped_file)" \
    "$(memory total_mapped_file file_mapped)" 0.01 65536
is "process_count" "$(S process_count)" 1
is "threads that are stopped" "$(S threads_count state=stopped)" \
    "$(ls "/proc/$cg_pid/task" | wc -l)"
cores=$(S core_usage_total | awk '{ n += $1 } END { printf "%.0f", n }')
if [ $cg_version = v1 ]; then
    near "the CPUs' nanoseconds sum to the job's" "$cores" "$(cpu_nsec)" 0 1000000
else
    near "the CPUs' nanoseconds sum to about the job's" "$cores" "$(cpu_nsec)" 0.2 1e9
fi
check "executables below a minute are left out" shows_not slurm_job_process_usage_total
check "OpenMetrics for who asks" page slurm-job-exporter \
    -H 'Accept: application/openmetrics-text; version=1.0.0'
check "which the reference parser reads" $prom openmetrics "$tmp/page"

page jobs_exporter
J() { value "jobs_$1" slurm_job=$id instance="$(uname -n | cut -d. -f1)" "${@:2}"; }
near "cpu_time_total in seconds" "$(J cpu_time_total)" "$(calc "$(cpu_nsec) / 1e9")" 0 0.0011
near "user_time in ticks" "$(J user_time)" "$(cpu_ticks user)" 0 1
near "system_time in ticks" "$(J system_time)" "$(cpu_ticks system)" 0 1
near "rss in MiB" "$(J rss)" \
    "$(calc "($(memory total_rss anon) + $(memory total_mapped_file file_mapped)) / 1048576")" 0.01 0.1
is "read_count" "$(J read_count)" "$(calls_of syscr)"
is "write_count" "$(J write_count)" "$(calls_of syscw)"
near "write_mb" "$(J write_mb)" "$(calc "$(calls_of write_bytes) / 1048576")" 0 0.000001
is "spawned_processes" "$(J spawned_processes)" 1
is "uses_scratch" "$(J uses_scratch)" 1

page jobstats
C() { value "cgroup_$1" jobid=$id "${@:2}"; }
near "cgroup_cpu_total_seconds" "$(C cpu_total_seconds step= task=)" \
    "$(calc "$(cpu_nsec) / 1e9")" 0 0.0011
is "cgroup_memory_total_bytes" "$(C memory_total_bytes step= task=)" "$(limit)"
is "cgroup_uid" "$(C uid)" "$nobody"
is "cgroup_info" "$(C info username=nobody uid="$nobody")" 1
[ $cg_version = v1 ] || near "a task's CPU time" \
    "$(C cpu_total_seconds step=0 task=0)" "$(calc "$(cpu_nsec) / 1e9")" 0 0.1

page cgroup_exporter
near "cgroup_cpu_total_seconds by cgroup" \
    "$(value cgroup_cpu_total_seconds cgroup="$(cgroup_of_job)")" \
    "$(calc "$(cpu_nsec) / 1e9")" 0 0.0011
is "cgroup_info by cgroup" "$(value cgroup_info cgroup="$(cgroup_of_job)" \
    username=nobody uid="$nobody" jobid=$id)" 1

page batchjob_monitoring
B() { value "batchjob_$1" jobid=$id batch=slurm jobaccount=physics "${@:2}"; }
near "batchjob_cpu_total_seconds" "$(B cpu_total_seconds step= task=)" \
    "$(calc "$(cpu_nsec) / 1e9")" 0 0.0011
near "batchjob_memory_rss_bytes" "$(B memory_rss_bytes step= task=)" \
    "$(memory total_rss anon)" 0.01 65536

page ceems
U() { value "ceems_compute_unit_$1" uuid=$id manager=slurm hostname="$(uname -n)" "${@:2}"; }
is "ceems_compute_units" "$(value ceems_compute_units)" 1
near "ceems_compute_unit_cpu_user_seconds_total" "$(U cpu_user_seconds_total)" \
    "$(calc "$(cpu_ticks user) / 100")" 0 0.011
near "ceems_compute_unit_memory_used_bytes" "$(U memory_used_bytes)" "$(used)" 0.01 65536
is "ceems_meminfo_MemTotal_bytes" "$(value ceems_meminfo_MemTotal_bytes)" \
    "$(awk '$1 == "MemTotal:" { printf "%.0f", $2 * 1024 }' /proc/meminfo)"
is "ceems_cpu_count" "$(value ceems_cpu_count)" "$(getconf _NPROCESSORS_ONLN)"

for d in $dialects native; do
    page "$d"
    check "$d: a reference parser reads it, no series is there twice" $prom text "$tmp/page"
    if command -v promtool >/dev/null; then
        check "$d: promtool finds only names that were chosen by others" only_chosen_names
    else
        skip "$d: promtool" "promtool is not installed"
    fi
done
is "gzip" "$(page ceems --compressed && $prom value "$tmp/page" ceems_compute_units)" 1
is "an unknown name is no page" "$(status /metrics/nobody)" 404
check "which says what there is" grep -q 'slurm-job-exporter' "$tmp/body"
is "nor is none" "$(status /metrics/)" 404

# --- its end -----------------------------------------------------------------

kill -KILL "$cg_pid"
cg_kill "$nobody" $id
check "the levels of a job that has ended go at once" wait_for 5 \
    page_shows_not slurm-job-exporter slurm_job_memory_usage
check "its peak stays" shows slurm_job_memory_max slurmjobid=$id
page ceems
is "it is no unit any more" "$(value ceems_compute_units)" 0
check "and in the end it is gone" wait_for 10 page_shows_not slurm-job-exporter \
    slurm_job_memory_max
stop "$exporter"
complete=1
