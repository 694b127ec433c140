#!/bin/bash
# The dialects of job exporters, and tracing, for a job of a real Slurm: pages have
# the user, account, ids and paths of the job, and, as in dialects.sh, every family
# is compared with the kernel's files.  Needs root, Slurm's packages and writable
# cgroups.  TAP; a minute and a half.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/dialects_lib.sh"

[ "$(id -u)" = 0 ] || skip_all "not root"
missing=$("$top/tests/deps" -n test slurm) ||
    skip_all "not installed: $missing"

export SLURM_SANDBOX_DIR=/tmp/bj-slurm.$$ SLURM_SANDBOX_PREFIX=bj$$n
user=bjd$$
export SLURM_SANDBOX_USERS="$user:physics" SLURM_SANDBOX_NODES=1
SLURM_SANDBOX_PORT=$(free_ports 6)
export SLURM_SANDBOX_PORT
sandbox=$top/tests/sandbox/slurm
eval "$("$sandbox" env)"
[ "$SLURM_SANDBOX_CGROUP" != none ] || skip_all "no cgroups to write to here"
on_exit "$sandbox purge"
"$sandbox" start >"$tmp/sandbox.out" 2>&1 ||
    { fail "Slurm starts" "$tmp/sandbox.out"; exit 1; }
pass "Slurm runs, cgroups $SLURM_SANDBOX_CGROUP"

start_strict_and_lenient --trace.enabled
page() { curl -sSf --max-time 60 "$url/metrics/$1" >"$tmp/page"; }

cp "$top/examples/batchjob_trace.sh" "$work" "$tmp"
cat >"$tmp/job.sh" <<END
#!/bin/sh
srun -n 1 $tmp/batchjob_trace.sh -e ${url#http://} -r 1 $tmp/work -t 600 -m 20 -i 95
END
chmod 755 "$tmp/job.sh"
job=$("$sandbox" as "$user" sbatch --parsable --account=physics --mem=200 -o /dev/null "$tmp/job.sh")
[ -n "$job" ] && pass "a job is submitted ($job)" || fail "a job is submitted"
check "slurm-job-exporter shows the job with user and account" wait_for 60 \
    shows slurm_job_memory_usage slurmjobid="$job" user="$user" account=physics
check "the job's memory limit is shown" \
    wait_for 60 shows slurm_job_memory_limit slurmjobid="$job"
is "the job's memory limit is in bytes" "$(value slurm_job_memory_limit slurmjobid="$job")" $((200 << 20))
check "the wrapper reports from inside the job" wait_for 60 \
    shows slurm_proc_mem_usage jobid="$job" username="$user" hostname="$(uname -n)"
pid=$(value slurm_proc_pid jobid="$job")
check "the reported process is in the job" grep -q "job_$job/step_0" "/proc/$pid/cgroup"
page jobs_exporter
check "jobs_exporter shows the job" value jobs_cpu_time_total slurm_job="$job"
page jobstats
is "jobstats has the uid of the owner" "$(value cgroup_uid jobid="$job")" "$(id -u "$user")"
check "jobstats has the job's step" value cgroup_memory_used_bytes jobid="$job" step=0 task=
page batchjob_monitoring
check "batchjob_monitoring shows the job" value batchjob_cpus jobid="$job" jobaccount=physics step= task=
check "batchjob_monitoring has the job's UUID" \
    grep -Eq "jobid=\"$job\",.*jobuuid=\"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\"" "$tmp/page"
page ceems
check "ceems shows the job" value ceems_compute_unit_cpus uuid="$job" manager=slurm
page cgroup_exporter
path=$($prom label "$tmp/page" cgroup cgroup_info jobid="$job")
note "$path"
check "cgroup_exporter has the path of the job's cgroup" \
    grep -qF ":$path/" "/proc/$pid/cgroup"

# --- while the job is stopped ------------------------------------------------

# The job's directories, in each hierarchy that has one.
version=$SLURM_SANDBOX_CGROUP dirs=
while IFS=: read -r _ controllers at; do
    at=${at%%"/job_$job"*}/job_$job
    case $version:$controllers in
    v2:) dirs=/sys/fs/cgroup$at ;;
    v1:*)
        for c in ${controllers//,/ }; do
            [ ! -d "/sys/fs/cgroup/$c$at" ] || dirs="$dirs /sys/fs/cgroup/$c$at"
        done
        ;;
    esac
done <"/proc/$pid/cgroup"
of_job() { # the job's processes, except those of the batch system
    local p
    # shellcheck disable=SC2086
    for p in $(find $dirs -name cgroup.procs -exec cat {} + | sort -nu); do
        grep -q '^slurmstepd' "/proc/$p/comm" || echo "$p"
    done
}
ids() { paste -sd,; }
# The wrapper starts programs all the time on a slow machine: frozen, it cannot, and
# all processes are stopped before one of them runs again.
freeze() { # 0 or 1
    local d
    for d in $dirs; do
        [ ! -e "$d/cgroup.freeze" ] || echo "$1" >"$d/cgroup.freeze"
        [ ! -e "$d/freezer.state" ] || { [ "$1" = 1 ] && echo FROZEN || echo THAWED; } >"$d/freezer.state"
    done
}
frozen() {
    local d
    for d in $dirs; do
        [ ! -e "$d/cgroup.events" ] || grep -qx 'frozen 1' "$d/cgroup.events" || return
        [ ! -e "$d/freezer.state" ] || grep -qx FROZEN "$d/freezer.state" || return
    done
}
# All processes are stopped, and none is a zombie, which has no parent to reap it.
stopped() {
    local all
    freeze 1
    wait_for 60 frozen
    all=$(of_job)
    # shellcheck disable=SC2086
    kill -STOP $all
    freeze 0
    wait_for 60 none_runs "$(ids <<<"$all")" && ! ps -o stat= --ppid "$(ids <<<"$all")" | grep -q '^Z' && return
    # shellcheck disable=SC2086
    kill -CONT $all
    return 1
}
none_runs() { ! ps -o stat= -p "$1" | grep -q '^[^TtZ]'; }
dialects_node meters "$tmp/sys" # advances their counters
check "the job can be stopped" wait_for 60 stopped
scrape_until_current
compare_stopped() { # url strict?
    # shellcheck disable=SC2086
    run_tap dialects_node check "$1" version=$version strict="$2" job="$job" \
        uid="$(id -u "$user")" user="$user" group="$path" scratch=/nowhere \
        slack=0.2 alone=0 $dirs
}
note "with correct values"
compare_stopped "$lenient_url" 0
note "with the errors of the originals (--dialect.strict)"
compare_stopped "$strict_url" 1
# shellcheck disable=SC2046
kill -CONT $(of_job)
stop "$strict_exporter"

"$sandbox" as "$user" scancel "$job"
check "levels of a cancelled job disappear" wait_for 60 shows_not slurm_job_memory_usage slurmjobid="$job"
check "trace reports of a cancelled job disappear" wait_for 60 shows_not slurm_proc_pid jobid="$job"
stop "$exporter"
complete=1
