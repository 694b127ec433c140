#!/bin/bash
# The exporter on real cgroups made here: appear, vanish, come back, many jobs,
# many processes, no rights.  No scheduler needed; root is, for the cgroups.
# TAP; about a minute and a half.
#
# Environment: PASSES of jobs coming and going [500].
. "$(dirname "$0")/lib.sh"

[ -x "$O/batchjob_exporter" ] || { fail "the exporter was built"; exit 1; }
promtool=1
command -v promtool >/dev/null || promtool=

clean() { # what: of the page scraped last
    if [ $promtool ]; then
        check "promtool finds nothing on $1" promtool_clean "$tmp/page"
    else
        skip "promtool on $1" "promtool is not installed"
    fi
}

running_jobs() { value batchjob_sampler_jobs; }
log_says() { grep -q "$1" "$tmp/exporter.log"; }
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

# --- a tree that is not there, then is --------------------------------------

check "an unknown option is refused by name" refuses_option
start_exporter --path.cgroupfs="$tmp/later" --sample.slow=1 --job.grace=1
first=$exporter
check "the page is there though the cgroup root is not" scrape
is "no jobs" "$(running_jobs)" 0
clean "a node without a cgroup root"
check "a reference parser reads the page" $prom text "$tmp/page"
cp -r "$top/tests/fixtures/trees/v2-slurm" "$tmp/later"
told_cost() { # each collector of the metrics is in the page, and no script
    scrape && curl -sf "$url/cost" >"$tmp/cost" &&
        for c in $($prom label "$tmp/page" collector batchjob_collector_success); do
            grep -q "<td>$c</td>" "$tmp/cost" || { echo "no $c"; return 1; }
        done && [ -n "$c" ] && ! grep -i '<script' "$tmp/cost"
}
check "the page of the exporter's own cost" told_cost
says_what_it_takes() {
    curl -sf "$url/metrics/vpenso" | grep -e --dialect.also=vpenso
}
check "a page for which nothing is collected says so" says_what_it_takes
jobs_there=$(find "$tmp/later" -name 'job_*' -type d | wc -l)
check "jobs are found when the root appears" wait_for 60 shows batchjob_job_info batch_system=slurm
is "all of them" "$($prom labels "$tmp/page" batchjob_job_info | wc -l)" "$jobs_there"
clean "a recorded v2 tree"
rm -rf "$tmp/later"
check "and leave when it goes" wait_for 60 shows_not batchjob_job_info
check "the scrape is served as OpenMetrics" scrape "$tmp/om" \
    -H 'Accept: application/openmetrics-text; version=1.0.0'
check "which the reference parser accepts" $prom openmetrics "$tmp/om"
check "gzip" scrape "$tmp/page" --compressed
check "gives the same page" $prom value "$tmp/page" batchjob_build_info
kill -TERM "$first"
wait "$first"
is "SIGTERM ends it with status 0" $? 0

# --- real cgroups ------------------------------------------------------------

cg_private=1 # nobody else's jobs are in our way, nor ours in theirs
cg_init
if [ $cg_version = none ] || [ "$(id -u)" != 0 ]; then
    skip "real cgroups" "not root, or no cgroups to write to here"
    complete=1
    exit
fi
note "cgroups $cg_version:$cg_controllers"
start_exporter --path.cgroupfs="$cg_view" --job.grace=2 --sample.slow=1 --collector.process
nobody=$(id -u nobody)

cg_job "$nobody" 101
cg_run "$nobody" 101 "$work" -t 600 -m 30
check "a job is seen at the first scrape" shows_jobs 1
sleep 1
used=$(cg_cpu_seconds "$nobody" 101)
check "with CPU time" shows batchjob_job_cpu_seconds_total jobid=101 slurm_node="$cg_node"
check "as the kernel counts it" between "$used" "$(cpu_of 101)" \
    "$(cg_cpu_seconds "$nobody" 101)"
near "and its memory" "$(value batchjob_job_memory_rss_bytes jobid=101)" $((31 << 20)) 0.1 0
is "its user" "$(info user 101)" nobody
is "its uid" "$(info uid 101)" "$nobody"
is "one process" "$(value batchjob_job_processes jobid=101)" 1
clean "a node with a job"
old_cpu=$(cpu_of 101)
cg_kill "$nobody" 101
cg_job "$nobody" 101
cg_run "$nobody" 101 "$work" -t 600 -i 100
check "the same id again is a job of its own" shows_jobs 1
check "with a new CPU time" test "$(cpu_of 101 | cut -d. -f1)" -lt "${old_cpu%%.*}1"
near "near nothing" "$(cpu_of 101)" 0 0 0.3
clean "a job id used again"
kill -KILL "$cg_pid"
check "a cgroup left without processes is a job that has ended" \
    wait_for 60 shows batchjob_job_end_time_seconds jobid=101
check "which leaves after its grace" wait_for 60 shows_jobs 0
cg_kill "$nobody" 101
cg_job "$nobody" 102
scrape
check "a cgroup without processes yet is none" shows_not batchjob_job_end_time_seconds jobid=102
cg_kill "$nobody" 102

# --- a job that comes hierarchy by hierarchy ---------------------------------
# As slurmstepd makes it; a pass can fall between any two of them.

slow_birth() { # job step task hierarchy...
    local job=$1 step=$2 task=$3 h p
    shift 3
    "$work" -t 600 -i 100 &
    newborn=$!
    disown $newborn
    for h in "$@"; do
        case $h in freezer | cpuset) p=$step ;; *) p=$step/$task ;; esac
        p=$cg/$h$cg_top/slurm_$cg_node/uid_0/job_$job/$p
        mkdir -p "$p" && echo $newborn >"$p/cgroup.procs"
        scrape "$tmp/birth"
        sleep 0.1
    done
}
all_of_it() { # job: what a job that is born slowly must have in the end
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
    slow_birth 103 step_0 task_0 freezer cpuset cpuacct memory devices
    check "a job that is born slowly has all its figures" wait_for 60 all_of_it 103
    kill -KILL $newborn
    cg_kill 0 103
    slow_birth 104 step_0 task_0 devices memory freezer cpuacct cpuset
    check "in another order too" wait_for 60 all_of_it 104
    kill -KILL $newborn
    cg_kill 0 104
    stop "$exporter"
    url=$main_url exporter=$main
fi

# --- many jobs ---------------------------------------------------------------

many=1000
"$work" -s $many -t 600 >"$tmp/many.out" &
sleepers=$!
disown $sleepers
later "kill -KILL $sleepers 2>/dev/null"
wait_for 60 grep -q . "$tmp/many.out"
# shellcheck disable=SC2046
cg_job 0 $(seq 1001 $((1000 + many)))
job=1000
for pid in $(cat "/proc/$sleepers/task/$sleepers/children"); do
    job=$((job + 1))
    cg_enter 0 $job "$pid"
done
check "$many jobs on a node" shows_jobs $many
start=$(date +%s%N)
scrape
note "a scrape of $many jobs with their processes took $((($(date +%s%N) - start) / 1000000)) ms"
is "each with CPU time" "$($prom labels "$tmp/page" batchjob_job_cpu_seconds_total \
    slurm_node="$cg_node" | wc -l)" $many
is "each with a process" "$($prom value "$tmp/page" batchjob_job_processes \
    slurm_node="$cg_node" | sort | uniq -c | tr -s ' ')" " $many 1"
is "no series is there twice" "$($prom text "$tmp/page" >/dev/null && echo once)" once
clean "$many jobs"
main_url=$url main=$exporter
start_exporter --path.cgroupfs="$cg_view" --limit.jobs=100 --limit.files=50
scrape
is "a cap on jobs holds" "$(running_jobs)" 100
check "what it refused is counted" test "$(value batchjob_sampler_jobs_refused_total)" -gt 0
check "so are descriptors that are not kept" test "$(value batchjob_sampler_fds_refused_total)" -gt 0
clean "a capped node"
stop "$exporter"

# --- vanish under load -------------------------------------------------------

url=$main_url exporter=$main
"$top/tests/e2e/hammer.py" -p 0 "$url/metrics" >"$tmp/hammer.out" 2>&1 &
hammer=$!
later "kill $hammer 2>/dev/null"
kill -KILL "$sleepers"
cg_kill_all() { # all jobs of a user at once, while somebody reads them
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
is "jobs vanish while they are read ($(head -n 1 "$tmp/hammer.out"))" $? 0
check "and none is left" wait_for 60 shows_jobs 0
is "nothing of this was a fault" "$(value batchjob_collector_errors_total | sort -u)" 0

# --- many processes ----------------------------------------------------------

want=10000
room=$(($(cat /proc/sys/kernel/pid_max) - $(find /proc -maxdepth 1 -name '[0-9]*' | wc -l) - 5000))
free_kib=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
[ $((free_kib / 160)) -lt $room ] && room=$((free_kib / 160))
if [ $room -lt $want ]; then
    want=$((room / 2))
    note "only $want processes: pid_max or memory has no room for 10000"
fi
cg_job 0 3001
rm -f "$tmp/jobs.out"
cg_run 0 3001 "$work" -s $want -t 600
hoard=$cg_pid
check "$want processes start in a job" wait_for 60 grep -qx $want "$tmp/jobs.out"
start=$(date +%s%N)
scrape
note "a scrape with them took $((($(date +%s%N) - start) / 1000000)) ms"
is "all are counted" "$(value batchjob_job_processes jobid=3001)" $((want + 1))
is "and seen" "$(value batchjob_job_processes_seen_total jobid=3001)" $((want + 1))
is "sleeping" "$($prom value "$tmp/page" batchjob_job_state_threads jobid=3001 state=sleeping)" $((want + 1))
start_exporter --path.cgroupfs="$cg_view" --collector.process --limit.processes=500
scrape
is "beyond a cap they are only counted" "$(value batchjob_job_processes jobid=3001)" $((want + 1))
check "and not looked at" test \
    "$(value batchjob_job_state_threads jobid=3001 |
        awk '{ n += $1 } END { print n + 0 }')" -le 500
check "what it refused is counted" test "$(value batchjob_sampler_processes_refused_total)" -gt 0
stop "$exporter"
url=$main_url exporter=$main
kill -KILL "$hoard"
cg_kill 0 3001
check "they all go" wait_for 60 shows_jobs 0

# --- no rights ---------------------------------------------------------------

cg_job 0 4001
cg_run 0 4001 "$work" -t 600 -i 90
cp "$O/batchjob_exporter" "$tmp/exporter" && chmod 755 "$tmp/exporter"
: >"$tmp/exporter.log"
mkdir "$tmp/bin" && ln -s "$tmp/exporter" "$tmp/bin/batchjob_exporter"
EXPORTER_UNDER="setpriv --reuid=nobody --regid=nogroup --clear-groups --inh-caps=-all --bounding-set=-all" \
    O=$tmp/bin start_exporter --path.cgroupfs="$cg_view" --collector.process
check "without rights a job is still seen" shows_jobs 1
check "with CPU time" cpu_of 4001
check "and the page is clean" $prom text "$tmp/page"
check "what cannot be seen is said, with the capability that would help" \
    log_says 'CAP_SYS_PTRACE\|cap_sys_ptrace'
stop "$exporter"
url=$main_url exporter=$main
cg_kill 0 4001

# --- jobs come and go --------------------------------------------------------

stop "$main"
start_exporter --path.cgroupfs="$cg_view" --job.grace=1 --sample.slow=1 --collector.process
cg_job 0 1 # makes the directories above
cg_kill 0 1
bases=$(cg_paths 0 x | sed 's|/job_x$||')
# shellcheck disable=SC2046,SC2086
absorb "$top/tests/e2e/churn.py" --pid "$exporter" --url "$url" --base $bases \
    --leaf "$(cg_leaf)" --passes "${PASSES:-500}"
scrape
clean "the node after that"
is "still nothing was a fault" "$(value batchjob_collector_errors_total | sort -u)" 0
kill -TERM "$exporter"
wait "$exporter"
is "SIGTERM ends it with status 0" $? 0
complete=1
