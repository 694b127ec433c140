#!/bin/bash
# Real Slurm jobs in real cgroups: the values of the exporter and of collectd's plugin
# are compared with the kernel's files and with Slurm's accounting.  Needs root,
# Slurm's packages and writable cgroups.  TAP; about two minutes.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all "not root"
missing=$("$top/tests/deps" -n test slurm) ||
    skip_all "not installed: $missing"
[ -e "$O/batchjob.so" ] || skip_all "the plugin was not built"

export SLURM_SANDBOX_DIR=/tmp/bj-slurm.$$ SLURM_SANDBOX_PREFIX=bj$$n
ua=bja$$ ub=bjb$$ # users of this test run only
export SLURM_SANDBOX_USERS="$ua:physics $ub:chemistry,physics"
export SLURM_SANDBOX_HOOKS=$top/examples
# All jobs of the test can run at the same time, even on few CPUs.
export SLURM_SANDBOX_CONF='PartitionName=test Nodes=ALL MaxTime=00:30:00 OverSubscribe=FORCE:16 State=UP'
SLURM_SANDBOX_PORT=$(free_ports 6)
export SLURM_SANDBOX_PORT
sandbox=$top/tests/sandbox/slurm
eval "$("$sandbox" env)"
[ "$SLURM_SANDBOX_CGROUP" != none ] || skip_all "no cgroups to write to here"
on_exit "$sandbox purge"
"$sandbox" start >"$tmp/sandbox.out" 2>&1 ||
    { fail "Slurm starts" "$tmp/sandbox.out"; exit 1; }
pass "Slurm runs, cgroups $SLURM_SANDBOX_CGROUP"

grace=30
fast="--job.grace=$grace --sample.slow=1 --collector.steps=tasks --collector.process"
# One exporter with the prolog's files and one without.
# shellcheck disable=SC2086
start_exporter $fast --job.file-dir="$SLURM_SANDBOX_DIR/jobs" --record.dir="$tmp/spool"
main_exporter=$exporter main_url=$url
# shellcheck disable=SC2086
start_exporter $fast --job.file-dir="$tmp/none"
plain_url=$url
url=$main_url
start_collectd 1 "  JobGrace $grace
  SampleSlow 1
  CollectorSteps tasks
  CollectorProcess true
  JobFileDir \"$SLURM_SANDBOX_DIR/jobs\""

# --- helpers -----------------------------------------------------------------

at_least() { [ "${2:-0}" -ge "$1" ]; }
lacks() { ! grep -qF -- "$2" "$1"; } # file text

openmetrics_clean() {
    scrape "$tmp/om" -H 'Accept: application/openmetrics-text; version=1.0.0' &&
        $prom openmetrics "$tmp/om"
}

# promtool may only report missing help texts of collectd's metrics.
collectd_page_clean() {
    promtool check metrics <"$tmp/collectd_page" >"$tmp/promtool.out" 2>&1
    case $? in 0 | 3) ;; *) cat "$tmp/promtool.out"; return 1 ;; esac
    grep batchjob "$tmp/promtool.out" | grep -v 'no help text'
    ! grep batchjob "$tmp/promtool.out" | grep -qv 'no help text'
}

# Prints a job's name in collectd, on the first node that has the job.
on_node() { # job
    $prom label "$tmp/collectd_page" batchjob collectd_batchjob_job_cpu_usec_total |
        grep -m 1 "^$1@"
}

in_node() { # pid node: the process is in the cgroups of that slurmd
    grep -qE "/(slurm_$2|$2_slurmstepd.scope)(/|$)" "/proc/$1/cgroup" 2>/dev/null
}

step_daemons() { # node
    local p comm
    for p in /proc/[0-9]*; do
        read -r comm 2>/dev/null <"$p/comm" || continue
        [ "$comm" = slurmstepd ] && in_node "${p#/proc/}" "$1" && echo "${p#/proc/}"
    done
}

node_trees() { # node: directories of its jobs
    local d
    for d in /sys/fs/cgroup/*/"slurm_$1"/uid_* \
        /sys/fs/cgroup/*/"$1"_slurmstepd.scope/job_*; do
        [ ! -d "$d" ] || echo "$d"
    done
}

live_jobs_on() { # node
    scrape
    $prom label "$tmp/page" jobid batchjob_job_memory_used_bytes slurm_node="$1"
}
no_live_jobs_on() { [ -z "$(live_jobs_on "$1")" ]; }

hammer_clean() {
    cat "$tmp/hammer.out"
    return "$hammer_status"
}

# --- jobs --------------------------------------------------------------------

cp "$work" "$SLURM_SANDBOX_DIR/work" && chmod 755 "$SLURM_SANDBOX_DIR/work"
W=$SLURM_SANDBOX_DIR/work

submit() { # user script [sbatch option...]: prints the job id
    local user=$1 script=$2
    shift 2
    printf '#!/bin/sh\n%s\n' "$script" |
        "$sandbox" as "$user" sbatch --parsable -p test -o /dev/null \
            --mem=150M "$@"
}

running() { # job...: all jobs run
    local j
    for j in "$@"; do
        squeue -h -j "$j" -t R -o %A 2>/dev/null | grep -q . || return 1
    done
}

ended() { ! squeue -h -j "$1" -t R,CG,PD -o %A 2>/dev/null | grep -q .; }
in_cgroups() { # job: the job has a directory
    local d
    for d in /sys/fs/cgroup/*/slurm_"$SLURM_SANDBOX_PREFIX"*/uid_*/job_"$1" \
        /sys/fs/cgroup/*/"$SLURM_SANDBOX_PREFIX"*_slurmstepd.scope/job_"$1"; do
        [ -d "$d" ] && return
    done
    return 1
}
not_in_cgroups() { ! in_cgroups "$1"; }

hostile=$'a"b\\c\nd}\xff\xfe{jobid="1"} 1\n# HELP x \t\'$(id)'
three=$(submit $ua "srun --overlap --mem=0 -n2 $W -t 1800 -i 70 &
    sleep 1 # the steps are numbered as they come
    srun --overlap --mem=0 -n1 $W -t 1800 -m 90 -i 98 &
    sleep 1
    srun --overlap --mem=0 -n1 sh -c 'while :; do $W -t 0.3 -i 80 -w 8 -d /tmp; done' &
    sleep 1800" -N1 -n2 --mem=300M)
array=$(submit $ub "exec $W -t 1800 -i 90" --array=3,7 -A physics)
# A shell keeps the step running after its process is killed: cgroup v1 counts kills
# only in the cgroup of the process, and the count is lost when the step ends.
oom=$(submit $ua "srun sh -c '$W -t 1800 -m 1000; exec $W -t 1800 -i 95'" --mem=80M)
requeued=$(submit $ua "$W -t 2; exec $W -t 1800 -i 95" --requeue)
het=$("$sandbox" as $ub sbatch --parsable -p test -o /dev/null --mem=100M \
    -n1 --wrap="srun --het-group=0,1 $W -t 1800 -i 90" : -p test -n1 --mem=100M)
wide=$(submit $ub "srun -N2 -n2 $W -t 1800 -m 20 -i 80" -N2 -n2)
named=$(submit $ua "exec $W -t 1800 -i 95" --job-name="$hostile")
het=${het%%;*}
# The second component and each array task have their own job id.
raw() { squeue -h -r -o '%i %A' | awk -v i="$1" '$1 == i { print $2 }'; }
all="$three $oom $requeued $het $wide $named"
# shellcheck disable=SC2086
check "the jobs run" wait_for 60 running $all "${array}_3" "${array}_7" "$het+1"
array3=$(raw "${array}_3") array7=$(raw "${array}_7") het1=$(raw "$het+1")
all="$all $array3 $array7 $het1"
on_exit "squeue -o '%i %A %T %r %N' | sed 's/^/# /' >$tmp/squeue"
oom_seen() { shows batchjob_job_oom_kills_total jobid="$oom" && [ "$(value batchjob_job_oom_kills_total jobid="$oom")" != 0 ]; }
wait_for 60 oom_seen
used() { # job seconds
    shows batchjob_job_cpu_seconds_total jobid="$1" &&
        awk -v got="$(value batchjob_job_cpu_seconds_total jobid="$1" | head -n 1)" \
            -v want="$2" 'BEGIN { exit !(got >= want) }'
}
wait_for 60 used "$three" 3

# --- values ------------------------------------------------------------------

run_tap "$top/tests/e2e/slurm_check.py" files "$url" "$collectd_url" \
    "$SLURM_SANDBOX_PREFIX"
scrape
cp "$tmp/page" "$tmp/loaded"
for s in 0 1; do
    run_tap "$top/tests/e2e/slurm_check.py" sstat "$tmp/page" "$three.$s"
done
check "promtool finds nothing" promtool_clean "$tmp/page"
check "a reference parser reads the page" $prom text "$tmp/page"
check "OpenMetrics is valid" openmetrics_clean
# The extern step of 26.05 has no process of its own.
steps="0 1 2 batch extern"
! slurm_since 26.05 || steps="0 1 2 batch"
is "the page has the steps of a job" \
    "$($prom label "$tmp/page" step batchjob_step_cpu_seconds_total jobid="$three" | paste -sd' ')" \
    "$steps"
is "the page has the tasks of a step" \
    "$($prom label "$tmp/page" task batchjob_task_cpu_seconds_total jobid="$three" step=0 | paste -sd' ')" \
    "0 1"
is "a job on two nodes of one host has values of both" \
    "$($prom label "$tmp/page" slurm_node batchjob_job_cpu_seconds_total jobid="$wide" | wc -l)" 2
check "the I/O of a job contains the file I/O of its processes" \
    at_least $((8 << 20)) "$(value batchjob_job_io_write_bytes_total jobid="$three")"
is "an OOM kill is counted" "$(value batchjob_job_oom_kills_total jobid="$oom")" 1
is "another job has no OOM kill" "$(value batchjob_job_oom_kills_total jobid="$array3")" 0
scrape_collectd
check "promtool finds only missing help texts on collectd's page" \
    collectd_page_clean
collectd_oom_is() {
    scrape_collectd &&
        [ "$(collectd_value collectd_batchjob_job_oom_kills_total batchjob="$(on_node "$oom")")" = "$1" ]
}
check "collectd counts the OOM kill" wait_for 60 collectd_oom_is 1

# --- identity ----------------------------------------------------------------

info() { $prom label "$tmp/page" "$1" batchjob_job_info jobid="$2"; }
is "the job's user is shown" "$(info user "$three")" $ua
is "the job's uid is shown" "$(info uid "$three")" "$(id -u $ua)"
is "the job's account is shown" "$(info account "$three")" physics
is "an account that the user chose is shown" "$(info account "$array3")" physics
is "the account of another user is shown" "$(info account "$wide")" chemistry
is "the job's partition is shown" "$(info partition "$three")" test
is "the batch system is slurm" "$(info batch_system "$three")" slurm
check "the source of the identity is the prolog's file" grep -q '^prolog' <<<"$(info source "$three")"
is "an array task has its array and index" "$(info array_job_id "$array3") $(info array_task "$array3")" "$array 3"
is "another array task has its array and index" "$(info array_job_id "$array7") $(info array_task "$array7")" "$array 7"
is "a component of a heterogeneous job has its number" "$(info het_job_id "$het") $(info het_offset "$het")" "$het 0"
is "the other component has its number" "$(info het_job_id "$het1") $(info het_offset "$het1")" "$het 1"
url=$plain_url
check "the exporter without prolog files knows the account from a process" \
    wait_for 60 shows batchjob_job_info jobid="$three" account=physics
check "that exporter knows the array task from a process" wait_for 60 shows batchjob_job_info jobid="$array3" array_task=3
is "the source of the identity is the environment" "$(info source "$three")" environ
is "without prolog files the user is known" "$(info user "$three")" $ua
is "without prolog files the array task is known" "$(info array_job_id "$array3") $(info array_task "$array3")" "$array 3"
check "promtool finds nothing on the page without prolog files" promtool_clean "$tmp/page"
url=$main_url
scrape
is "newlines and invalid characters of a hostile name are replaced" "$(info name "$named")" \
    $'a"b\\c?d}\xef\xbf\xbd\xef\xbf\xbd{jobid="1"} 1?# HELP x ?\'$(id)'
check "a hostile name is escaped on the page" \
    lacks "$tmp/page" 'jobid="1"}'

# --- ended and requeued jobs -------------------------------------------------

scrape "$tmp/before_requeue"
start_before=$($prom value "$tmp/before_requeue" batchjob_job_start_time_seconds jobid="$requeued")
scontrol requeue "$requeued"
check "a requeued job ends" wait_for 60 shows batchjob_job_end_time_seconds jobid="$requeued"

before=$SECONDS
scancel "$three"
check "the cgroup of a cancelled job is removed" wait_for 60 not_in_cgroups "$three"
check "a cancelled job has an end time" wait_for 60 shows batchjob_job_end_time_seconds jobid="$three"
check "the CPU time of a cancelled job does not fall" at_least \
    "$($prom value "$tmp/loaded" batchjob_job_cpu_seconds_total jobid="$three" | cut -d. -f1)" \
    "$(value batchjob_job_cpu_seconds_total jobid="$three" | cut -d. -f1)"
cp "$tmp/page" "$tmp/ended"
is "a cancelled job has no current memory" "$(value batchjob_job_memory_rss_bytes jobid="$three")" ""
check "an ended job disappears after the grace period" wait_for 60 \
    shows_not batchjob_job_cpu_seconds_total jobid="$three"
check "an ended job does not disappear before the grace period ends" [ $((SECONDS - before)) -ge $grace ]
check "the steps of an ended job disappear with it" shows_not batchjob_step_cpu_seconds_total jobid="$three"
check "collectd drops the ended job" wait_for 60 collectd_shows_not \
    collectd_batchjob_job_cpu_usec_total batchjob="$(on_node "$three")"
run_tap "$top/tests/e2e/slurm_check.py" sacct "$tmp/ended" "$three"

# Slurm delays the restart of a requeued job by SLURM_SANDBOX_LAUNCH seconds.
check "a requeued job runs again under its id" wait_for 120 running "$requeued"
started_later() {
    shows batchjob_job_start_time_seconds jobid="$requeued" &&
        [ "$(value batchjob_job_start_time_seconds jobid="$requeued")" -gt "${start_before:-0}" ]
}
check "a requeued job has a new start time" wait_for 60 started_later
is "a requeued job has no end time" "$(value batchjob_job_end_time_seconds jobid="$requeued")" ""
# The job may be on another node now.
collectd_shows_requeued() {
    collectd_shows collectd_batchjob_job_cpu_usec_total && on_node "$requeued" >"$tmp/requeued"
}
check "collectd shows the requeued job" wait_for 60 collectd_shows_requeued

# --- records -----------------------------------------------------------------

short=$(submit $ua "$W -t 10" -a 21-22)
of_short() { # the records of both tasks know array, task and QOS
    [ "$(grep -h "\"qos\":\"normal\".*\"array_job_id\":\"$short\",\"array_task\":\"2[12]\"" \
        "$tmp/spool/"*.json | wc -l)" = 2 ]
}
check "records of short jobs have array, task and QOS" wait_for 90 of_short

# --- a node fails during scrapes ---------------------------------------------

"$top/tests/e2e/hammer.py" "$main_url/metrics" "$plain_url/metrics" \
    "$collectd_url/metrics" >"$tmp/hammer.out" 2>&1 &
hammer=$!
on_exit "kill_ours $hammer"
for i in 1 2 3 4 5 6 7 8; do # short jobs come and go meanwhile
    submit $ua "$W -t 0.$i" >/dev/null
done
node2=${SLURM_SANDBOX_PREFIX}02
slurmd_pid=$(cat "$SLURM_SANDBOX_DIR/run/slurmd.$node2.pid")
kill -KILL "$slurmd_pid"
# Also kill its step daemons and remove their cgroups while scrapes run.
for pid in $(step_daemons "$node2"); do kill -KILL "$pid"; done
for d in $(node_trees "$node2"); do cg_remove "$d"; done
check "the node's cgroups are gone" test -z "$(node_trees "$node2")"
check "the exporter shows no running job on that node" wait_for 60 no_live_jobs_on "$node2"
"$sandbox" start >"$tmp/sandbox.out" 2>&1 ||
    fail "slurmd starts again" "$tmp/sandbox.out"
again=$(submit $ub "exec $W -t 600 -i 95" -w "$node2")
check "a job runs on that node again" wait_for 90 running "$again"
check "a new job on that node is shown" wait_for 60 shows batchjob_job_cpu_seconds_total \
    jobid="$again" slurm_node="$node2"
kill "$hammer"
wait "$hammer"
hammer_status=$?
check "no scrape failed ($(head -n 1 "$tmp/hammer.out"))" hammer_clean
scrape
check "promtool finds nothing at the end" promtool_clean "$tmp/page"
check "the exporter and collectd still run" kill -0 "$main_exporter" "$collectd"
# Each collector has a counter of errors, and it is 0.  On a busy machine, a process
# without a CPU can hold a lock that a read of its files needs: the collector says so.
no_errors() {
    local error
    grep '^batchjob_collector_errors_total' "$tmp/page"
    error=$(value batchjob_collector_errors_total | sort -u)
    if grep -q 'collector process: .*: the kernel holds a read' "$tmp/exporter.log"; then
        error=$(grep '^batchjob_collector_errors_total' "$tmp/page" | grep -v '{collector="process"}' |
            sed 's/.* //' | sort -u)
    fi
    [ "$($prom labels "$tmp/page" batchjob_collector_errors_total | wc -l) $error" = \
        "$($prom labels "$tmp/page" batchjob_collector_success | wc -l) 0" ] && return
    cat "$tmp/exporter.log"
    return 1
}
check "no collector reports an error" no_errors
# Jobs of several steps, of an array, of two components and of two nodes, killed, requeued,
# cancelled and short ones, and those of the failed node.
run_tap "$top/tests/e2e/records_stored.py" "Slurm" "$tmp/spool"
complete=1
