#!/bin/bash
# The exporter on real cgroups without a scheduler: jobs that start, end and reuse an
# id, many jobs, many processes, an exporter without privileges.  The part with cgroups
# needs root.  TAP; half a minute.
. "$(dirname "$0")/lib.sh"

[ -x "$O/batchjob_exporter" ] || { fail "the exporter was built"; exit 1; }
promtool=1
command -v promtool >/dev/null || promtool=

clean() { # description: check the page of the last scrape with promtool
    if [ $promtool ]; then
        check "promtool finds nothing on $1" promtool_clean "$tmp/page"
    else
        skip "promtool on $1" "promtool is not installed"
    fi
}

running_jobs() { value batchjob_sampler_jobs; }
log_has() { grep -q "$1" "$tmp/exporter.log"; }
info() { $prom label "$tmp/page" "$1" batchjob_job_info slurm_node="$cg_node" jobid="$2"; }
jobs_shown() { $prom label "$tmp/page" jobid batchjob_job_info slurm_node="$cg_node" | wc -l; }
shows_jobs() { scrape && [ "$(jobs_shown)" = "$1" ]; }
cpu_of() { value batchjob_job_cpu_seconds_total slurm_node="$cg_node" jobid="$1"; }
between() { # low value high
    echo "$@"
    awk -v a="$1" -v v="$2" -v b="$3" 'BEGIN { exit !(a - 1e-6 <= v && v <= b + 1e-6) }'
}
refuses_option() {
    "$O/batchjob_exporter" --no.such.option=1 >"$tmp/refused" 2>&1
    local rc=$?
    cat "$tmp/refused"
    [ $rc != 0 ] && grep -q 'no.such.option' "$tmp/refused"
}

# --- a cgroup root that does not exist at first ------------------------------

check "an unknown option is refused by name" refuses_option
start_exporter --path.cgroupfs="$tmp/later" --sample.slow=1 --job.grace=1
first=$exporter
check "the exporter serves a page without a cgroup root" scrape
is "a node without a cgroup root has no jobs" "$(running_jobs)" 0
clean "a node without a cgroup root"
check "a reference parser reads the page" $prom text "$tmp/page"
cp -r "$top/tests/fixtures/trees/v2-slurm" "$tmp/later"
shows_cost() { # the page has each collector of the metrics, and no script
    scrape && curl -sf "$url/cost" >"$tmp/cost" &&
        for c in $($prom label "$tmp/page" collector batchjob_collector_success); do
            grep -q "<td>$c</td>" "$tmp/cost" || { echo "no $c"; return 1; }
        done && [ -n "$c" ] && ! grep -i '<script' "$tmp/cost"
}
check "/cost lists all collectors" shows_cost
names_option() {
    curl -sf "$url/metrics/vpenso" | grep -e --dialect.also=vpenso
}
check "a page of a dialect that is off names the option to enable it" names_option
jobs_there=$(find "$tmp/later" -name 'job_*' -type d | wc -l)
check "jobs appear when the cgroup root appears" wait_for 60 shows batchjob_job_info batch_system=slurm
is "all jobs below the cgroup root are shown" "$($prom labels "$tmp/page" batchjob_job_info | wc -l)" "$jobs_there"
clean "a recorded v2 tree"
rm -rf "$tmp/later"
check "jobs disappear when the cgroup root disappears" wait_for 60 shows_not batchjob_job_info
check "the scrape is served as OpenMetrics" scrape "$tmp/om" \
    -H 'Accept: application/openmetrics-text; version=1.0.0'
check "a reference parser reads OpenMetrics" $prom openmetrics "$tmp/om"
check "the page is served compressed by gzip" scrape "$tmp/page" --compressed
check "the compressed page holds the same metrics" $prom value "$tmp/page" batchjob_build_info
kill -TERM "$first"
wait "$first"
is "SIGTERM ends it with status 0" $? 0

# --- real cgroups ------------------------------------------------------------

cg_private=1 # no jobs of other tests here, and none of this test there
cg_init
if [ $cg_version = none ] || [ "$(id -u)" != 0 ]; then
    skip "real cgroups" "not root, or no cgroups to write to here"
    complete=1
    exit
fi
note "cgroups $cg_version:$cg_controllers"
start_exporter --path.cgroupfs="$cg_view" --job.grace=15 --sample.slow=1 --collector.process
nobody=$(id -u nobody)

cg_job "$nobody" 101
cg_run "$nobody" 101 "$work" -t 600 -m 30
check "the first scrape shows a new job" shows_jobs 1
busy() { awk -v s="$(cg_cpu_seconds "$nobody" 101)" 'BEGIN { exit !(s >= 0.5) }'; }
wait_for 60 busy
used=$(cg_cpu_seconds "$nobody" 101)
check "the job has CPU time" shows batchjob_job_cpu_seconds_total jobid=101 slurm_node="$cg_node"
check "the job's CPU time is what the kernel counts" between "$used" "$(cpu_of 101)" \
    "$(cg_cpu_seconds "$nobody" 101)"
near "the job's memory is what its process uses" "$(value batchjob_job_memory_rss_bytes jobid=101)" $((31 << 20)) 0.1 0
is "the job's user is shown" "$(info user 101)" nobody
is "the job's uid is shown" "$(info uid 101)" "$nobody"
is "the job has one process" "$(value batchjob_job_processes jobid=101)" 1
clean "a node with a job"
old_cpu=$(cpu_of 101)
cg_kill "$nobody" 101
cg_job "$nobody" 101
cg_run "$nobody" 101 "$work" -t 600 -i 100
check "a job that reuses an id is another job" shows_jobs 1
check "the new job's CPU time is below that of the old one" test "$(cpu_of 101 | cut -d. -f1)" -lt "${old_cpu%%.*}1"
check "the new job's CPU time begins at 0" between 0 "$(cpu_of 101)" "$(cg_cpu_seconds "$nobody" 101)"
clean "a job id used again"
kill -KILL "$cg_pid"
check "a cgroup left without processes is a job that has ended" \
    wait_for 60 shows batchjob_job_end_time_seconds jobid=101
check "an ended job disappears after the grace period" wait_for 60 shows_jobs 0
cg_kill "$nobody" 101
cg_job "$nobody" 102
scrape
check "a new cgroup without processes is not an ended job" shows_not batchjob_job_end_time_seconds jobid=102
cg_kill "$nobody" 102

# --- a job whose cgroups of v1 appear one by one -----------------------------
# slurmstepd creates them in this way; a pass can run between any two of them.

slow_start() { # job step task controller..., with a scrape after each
    local job=$1 step=$2 task=$3 h p
    shift 3
    "$work" -t 600 -i 100 &
    slow_pid=$!
    disown $slow_pid
    for h in "$@"; do
        case $h in freezer | cpuset) p=$step ;; *) p=$step/$task ;; esac
        p=$cg/$h$cg_top/slurm_$cg_node/uid_0/job_$job/$p
        mkdir -p "$p" && echo $slow_pid >"$p/cgroup.procs"
        scrape "$tmp/birth"
    done
}
has_all_values() { # job: it has all values
    local m
    scrape
    for m in job_cpu_seconds_total job_memory_used_bytes; do
        value batchjob_$m jobid="$1" || return
    done
    for m in cpu_seconds_total memory_used_bytes cpus; do
        value batchjob_step_$m jobid="$1" step=0 || return
    done
    for m in cpu_seconds_total memory_used_bytes; do
        value batchjob_task_$m jobid="$1" step=0 task=0 || return
    done
}
if [ $cg_version = v1 ]; then
    main_url=$url main=$exporter
    start_exporter --path.cgroupfs="$cg_view" --job.grace=2 --collector.steps=tasks
    slow_start 103 step_0 task_0 freezer cpuset cpuacct memory devices
    check "a job whose cgroups appear one by one has all values" wait_for 60 has_all_values 103
    kill -KILL $slow_pid
    cg_kill 0 103
    slow_start 104 step_0 task_0 devices memory freezer cpuacct cpuset
    check "a job whose cgroups appear in another order has all values" wait_for 60 has_all_values 104
    kill -KILL $slow_pid
    cg_kill 0 104
    stop "$exporter"
    url=$main_url exporter=$main
fi

# --- many jobs ---------------------------------------------------------------

many=1000
"$work" -s $many -t 600 >"$tmp/many.out" &
sleepers=$!
disown $sleepers
on_exit "kill_ours $sleepers -KILL"
wait_for 60 grep -q . "$tmp/many.out"
# shellcheck disable=SC2046
cg_job 0 $(seq 1001 $((1000 + many)))
job=1000
for pid in $(cat "/proc/$sleepers/task/$sleepers/children"); do
    job=$((job + 1))
    cg_enter 0 $job "$pid"
done
check "$many jobs on a node" shows_jobs $many
scrape
is "each of the jobs has CPU time" "$($prom labels "$tmp/page" batchjob_job_cpu_seconds_total \
    slurm_node="$cg_node" | wc -l)" $many
is "each of the jobs has one process" "$($prom value "$tmp/page" batchjob_job_processes \
    slurm_node="$cg_node" | sort | uniq -c | tr -s ' ')" " $many 1"
is "no series appears twice" "$($prom text "$tmp/page" >/dev/null && echo once)" once
clean "$many jobs"
main_url=$url main=$exporter
start_exporter --path.cgroupfs="$cg_view" --limit.jobs=100 --limit.files=50
scrape
is "limit.jobs limits the number of jobs" "$(running_jobs)" 100
check "refused jobs and processes are counted" test "$(value batchjob_sampler_jobs_refused_total)" -gt 0
check "file descriptors beyond limit.files are counted" test "$(value batchjob_sampler_fds_refused_total)" -gt 0
clean "a node with limits"
stop "$exporter"

# --- jobs that end while clients scrape --------------------------------------

url=$main_url exporter=$main
"$top/tests/e2e/hammer.py" -p 0 "$url/metrics" >"$tmp/hammer.out" 2>&1 &
hammer=$!
on_exit "kill_ours $hammer"
kill -KILL "$sleepers"
cg_kill_all() { # uid: remove all its jobs at once
    local p
    for p in $(cg_paths "$1" x); do cg_remove "${p%/job_x}"; done
}
cg_kill_all 0
for i in 1 2 3 4 5; do
    # shellcheck disable=SC2046
    cg_job 0 $(seq 2000 2100)
    cg_kill_all 0
done
kill "$hammer"
wait "$hammer"
is "jobs end while they are read ($(head -n 1 "$tmp/hammer.out"))" $? 0
check "no job is left" wait_for 60 shows_jobs 0
is "no collector reports an error" "$(value batchjob_collector_errors_total | sort -u)" 0

# --- many processes ----------------------------------------------------------

want=${1:-2000}
room=$(($(cat /proc/sys/kernel/pid_max) - $(find /proc -maxdepth 1 -name '[0-9]*' | wc -l) - 5000))
free_kib=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
[ $((free_kib / 160)) -lt $room ] && room=$((free_kib / 160))
if [ $room -lt $want ]; then
    want=$((room / 2))
    note "only $want processes: pid_max or memory has no room for more"
fi
cg_job 0 3001
rm -f "$tmp/jobs.out"
cg_run 0 3001 "$work" -s $want -t 600
forker=$cg_pid
check "$want processes start in a job" wait_for 60 grep -qx $want "$tmp/jobs.out"
scrape
is "all processes of the job are counted" "$(value batchjob_job_processes jobid=3001)" $((want + 1))
is "all processes of the job are read" "$(value batchjob_job_processes_seen_total jobid=3001)" $((want + 1))
is "all processes of the job sleep" "$($prom value "$tmp/page" batchjob_job_state_threads jobid=3001 state=sleeping)" $((want + 1))
start_exporter --path.cgroupfs="$cg_view" --collector.process --limit.processes=500
scrape
is "processes beyond limit.processes are counted" "$(value batchjob_job_processes jobid=3001)" $((want + 1))
check "processes beyond limit.processes are not read" test \
    "$(value batchjob_job_state_threads jobid=3001 |
        awk '{ n += $1 } END { print n + 0 }')" -le 500
check "refused jobs and processes are counted" test "$(value batchjob_sampler_processes_refused_total)" -gt 0
stop "$exporter"
url=$main_url exporter=$main
kill -KILL "$forker"
cg_kill 0 3001
check "the job with many processes disappears" wait_for 60 shows_jobs 0

# --- no privileges -----------------------------------------------------------

cg_job 0 4001
cg_run 0 4001 "$work" -t 600 -i 90
cp "$O/batchjob_exporter" "$tmp/exporter" && chmod 755 "$tmp/exporter"
: >"$tmp/exporter.log"
mkdir "$tmp/bin" && ln -s "$tmp/exporter" "$tmp/bin/batchjob_exporter"
EXPORTER_UNDER="setpriv --reuid=nobody --regid=nogroup --clear-groups --inh-caps=-all --bounding-set=-all" \
    O=$tmp/bin start_exporter --path.cgroupfs="$cg_view" --collector.process
check "an exporter without privileges shows jobs" shows_jobs 1
check "the job has CPU time" cpu_of 4001
check "the page of an exporter without privileges is valid" $prom text "$tmp/page"
check "the log lists batch systems, collectors and meters" \
    log_has 'batchjob [^;]*; cgroup: [^;]*; jobs found: slurm; collectors: cpu, .*; meters: [^;]*; final records: off'
check "the log names the missing capability" \
    log_has 'CAP_SYS_PTRACE\|cap_sys_ptrace'
stop "$exporter"
url=$main_url exporter=$main
cg_kill 0 4001

# --- jobs that start and end all the time ------------------------------------

stop "$main"
start_exporter --path.cgroupfs="$cg_view" --job.grace=1 --sample.slow=1 --collector.process
cg_job 0 1 # makes the directories above
cg_kill 0 1
bases=$(cg_paths 0 x | sed 's|/job_x$||')
# shellcheck disable=SC2046,SC2086
run_tap "$top/tests/e2e/churn.py" --pid "$exporter" --url "$url" --base $bases \
    --leaf "$(cg_leaf)" --passes 500
scrape
clean "the node after many jobs"
is "no collector reports an error after many jobs" "$(value batchjob_collector_errors_total | sort -u)" 0
kill -TERM "$exporter"
wait "$exporter"
is "SIGTERM ends it with status 0" $? 0

# --- the final record names the programs -------------------------------------

mkdir -m 750 "$tmp/records"
start_exporter --path.cgroupfs="$cg_view" --job.grace=1 --sample.slow=1 --collector.process --record.dir="$tmp/records"
cg_job "$nobody" 501
cg_run "$nobody" 501 "$work" -t 600 -m 30
busy() { awk -v s="$(cg_cpu_seconds "$nobody" 501)" 'BEGIN { exit !(s >= 0.5) }'; }
wait_for 60 busy
scrape
cg_kill "$nobody" 501
check "the final record has the CPU time by program, without paths" wait_for 60 eval \
    "grep -qs '\"executables\":{\"work\":[1-9]' $tmp/records/*.501.*.json"
stop "$exporter"
complete=1
