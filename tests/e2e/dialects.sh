#!/bin/bash
# The dialects of job exporters, on real cgroups made here: every family of each
# page is compared with the kernel's files, in the unit of the other exporter
# (dialects_node.py).  Needs root, for the cgroups, but no scheduler.  TAP; half a
# minute.
#
#   dialects.sh [SECONDS]    the job uses that much CPU time [3]; from 63 s on,
#                            slurm-job-exporter shows its executable
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/dialects_lib.sh"

seconds=${1:-3}
[ -x "$O/batchjob_exporter" ] || { fail "the exporter was built"; exit 1; }

# Names of other exporters that promtool criticises.
chosen='slurm_job_process_count slurm_job_threads_count jobs_thread_count
    jobs_cpu_time_total jobs_read_mb jobs_write_mb jobs_read_count
    jobs_write_count cgroup_cpu_user_seconds cgroup_cpu_system_seconds
    cgroup_cpu_total_seconds cgroup_memory_fail_count batchjob_memory_fail_count
    batchjob_ipmi_dcmi_watts_total batchjob_emissions_gCo2_kWh
    ceems_compute_unit_memory_fail_count ceems_cpu_count
    ceems_meminfo_MemTotal_bytes ceems_meminfo_MemAvailable_bytes
    ceems_rapl_package_power_limit_watts_total ceems_emissions_gCo2_kWh
    ceems_rapl_dram_power_limit_watts_total ceems_rapl_core_power_limit_watts_total
    ceems_rapl_uncore_power_limit_watts_total ceems_rapl_psys_power_limit_watts_total
    ceems_compute_unit_memsw_fail_count ceems_cpu_per_core_count
    ceems_meminfo_MemFree_bytes cgroup_memsw_fail_count cgroup_process_exec_count
    batchjob_memsw_fail_count'

page() { # dialect [curl option...]: into $tmp/page
    local name=$1
    shift
    curl -sSf --max-time 60 "$@" "$url/metrics/$name" >"$tmp/page"
}
page_shows() { local d=$1; shift; page "$d" && $prom value "$tmp/page" "$@"; }
page_shows_not() { local d=$1; shift; page "$d" && ! $prom value "$tmp/page" "$@"; }
status() { curl -s -o "$tmp/body" -w '%{http_code}' "$url$1"; }

only_chosen_names() { # promtool reads the page and criticises no other names
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

cg_private=1 # no jobs of other tests here, and none of this test there
cg_init
if [ $cg_version = none ] || [ "$(id -u)" != 0 ]; then
    skip "real cgroups" "not root, or no cgroups to write to here"
    complete=1
    exit
fi
note "cgroups $cg_version:$cg_controllers"
nobody=$(id -u nobody)
id=4711

# --- a stopped job -----------------------------------------------------------

file() { # v1-controller name: the path of this file of the job
    local p
    for p in $(cg_paths "$nobody" $id); do
        case $cg_version:$p in
        v2:* | v1:$cg/$1/* | v1:$cg/$1$cg_top/*) echo "$p/$2" ;;
        esac
    done
}
by_version() { # v1-command v2-command
    if [ $cg_version = v1 ]; then eval "$1"; else eval "$2"; fi
}
set_limits() { # bytes of memory, and of swap where its file exists
    local f both=$(($1 + $2))
    echo "$1" >"$(by_version 'file memory memory.limit_in_bytes' 'file - memory.max')"
    f=$(by_version 'file memory memory.memsw.limit_in_bytes' 'file - memory.swap.max')
    [ ! -e "$f" ] || by_version "echo $both" "echo $2" >"$f"
}
cgroup_of_job() { # below the root that the exporter sees
    by_version "echo /slurm_$cg_node/uid_$nobody/job_$id" \
        "echo /system.slice/${cg_node}_slurmstepd.scope/job_$id"
}
cpu_seconds() { cg_cpu_seconds "$nobody" $id | cut -d. -f1; }
used_enough() { [ "$(cpu_seconds)" -ge "$seconds" ]; }

start_strict_and_lenient --path.cgroupfs="$cg_view"
for d in $dialects; do
    check "$d: there is a page without jobs" page "$d"
done
page slurm-job-exporter
check "slurm-job-exporter announces its families" grep -q '^# TYPE slurm_job_memory_usage gauge$' "$tmp/page"

cg_job "$nobody" $id
set_limits $((1 << 30)) $((1 << 29))
exec 9>"$tmp/held"
SLURM_JOB_ID=$id SLURM_JOB_ACCOUNT=physics cg_run "$nobody" $id \
    "$work" -t 1000 -m 30 -n 4 -i $((seconds > 60 ? 0 : 90))
exec 9>&-
check "the job is seen" wait_for 60 page_shows slurm-job-exporter \
    slurm_job_memory_usage slurmjobid=$id account=physics
check "executables below a minute are left out" shows_not slurm_job_process_usage_total
start_exporter --path.cgroupfs="$cg_view" --web.dialect=jobs_exporter
run_tap dialects_node rate "$url" $id \
    "$(by_version 'file cpuacct cpuacct.usage' 'file - cpu.stat')" $cg_version
stop "$exporter"
url=$lenient_url exporter=$lenient_exporter
check "the job uses $seconds s of CPU time" wait_for 800 used_enough
dialects_node meters "$tmp/sys" # advances their counters
kill -STOP "$cg_pid"
all_stopped() { ! grep -h '^State:' "/proc/$cg_pid/task"/*/status | grep -qv 'State:.T'; }
check "the job is stopped" wait_for 60 all_stopped
scrape_until_current
dirs=$(cg_paths "$nobody" $id)
compare_stopped() { # url strict?
    # shellcheck disable=SC2086
    run_tap dialects_node check "$1" version=$cg_version strict="$2" job=$id uid="$nobody" \
        user=nobody group="$(cgroup_of_job)" scratch="$tmp" slack=0 alone=1 $dirs
}
note "with correct values"
compare_stopped "$url" 0
note "with the errors of the originals (--dialect.strict)"
compare_stopped "$strict_url" 1
stop "$strict_exporter"
page slurm-job-exporter
check "web.dialect chooses the format of /metrics" scrape
check "OpenMetrics on request" page slurm-job-exporter \
    -H 'Accept: application/openmetrics-text; version=1.0.0'
check "a reference parser reads OpenMetrics" $prom openmetrics "$tmp/page"
if [ $cg_version = v2 ]; then
    page jobstats
    near "a task has its CPU time" \
        "$(value cgroup_cpu_total_seconds jobid=$id step=0 task=0)" \
        "$(cg_cpu_seconds "$nobody" $id)" 0 0.1
fi

for d in $dialects native; do
    page "$d"
    check "$d: a reference parser reads the page, no series is there twice" $prom text "$tmp/page"
    if command -v promtool >/dev/null; then
        check "$d: promtool criticises only names of other exporters" only_chosen_names
    else
        skip "$d: promtool" "promtool is not installed"
    fi
done
is "the page is served compressed by gzip" "$(page ceems --compressed && $prom value "$tmp/page" ceems_compute_units)" 1
is "a page of an unknown format is not found" "$(status /metrics/nobody)" 404
check "the error lists the formats" grep -q 'slurm-job-exporter' "$tmp/body"
is "a page without a format's name is not found" "$(status /metrics/)" 404

# --- the end of the job ------------------------------------------------------

kill -KILL "$cg_pid"
cg_kill "$nobody" $id
check "levels of an ended job disappear at once" wait_for 60 \
    page_shows_not slurm-job-exporter slurm_job_memory_usage
check "the peak of an ended job stays in the grace period" shows slurm_job_memory_max slurmjobid=$id
page ceems
is "ceems does not count an ended job" "$(value ceems_compute_units)" 0
check "an ended job disappears after the grace period" wait_for 60 page_shows_not slurm-job-exporter \
    slurm_job_memory_max
stop "$exporter"
complete=1
