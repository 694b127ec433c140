#!/bin/bash
# The dialects of cluster exporters, on a real Slurm: each page is compared with the
# output of the commands that the originals run.  Needs root and Slurm's packages.
# TAP; about a minute.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all "not root"
missing=$("$top/tests/deps" -n test slurm) ||
    skip_all "not installed: $missing"

# Names of other exporters that promtool criticises.
chosen='slurm_jobs_state_count slurm_job_count_per_state slurm_rpc_msg_type_count slurm_rpc_user_count slurm_node_count_per_state
    slurm_backfill_job_count slurm_backfill_cycle_count slurm_daemon_thread_count
    slurm_partition_node_count slurm_user_state_total slurm_feature_total
    slurm_account_job_state_total slurm_partition_job_state_total
    slurm_pending_reason_total slurm_lic_total slurm_cpus_total slurm_gpus_total
    slurm_node_cpu_total slurm_node_mem_total slurm_partition_cpus_total
    slurm_scheduler_backfilled_jobs_since_start_total
    slurm_scheduler_backfilled_jobs_since_cycle_total
    slurm_scheduler_backfilled_heterogeneous_total job_scrape_errors slurm_job_scrape_error
    slurm_node_scrape_error slurm_lic_scrape_error slurm_diag_scrape_error
    slurm_account_collect_error slurm_fairshare_scrape_error slurm_backfill_cycle_counter'

export SLURM_SANDBOX_DIR=/tmp/bj-dialects.$$ SLURM_SANDBOX_PREFIX=bjd$$n
ua=bjd$$a ub=bjd$$b # users of this run only
export SLURM_SANDBOX_USERS="$ua:physics $ub:chemistry,physics"
export SLURM_SANDBOX_CONF="GresTypes=gpu
AccountingStorageTRES=gres/gpu,gres/gpu:rtx8000
NodeName=bjy[1-4] NodeAddr=127.0.0.1 NodeHostname=localhost Port=1 CPUs=80 RealMemory=1000 Gres=gpu:rtx8000:8
PartitionName=test Nodes=ALL MaxTime=00:30:00 OverSubscribe=FORCE:16 State=UP
PartitionName=big Nodes=bjy[1-4] MaxTime=00:30:00 State=UP
Licenses=matlab:5,abaqus@srv:20"
SLURM_SANDBOX_PORT=$(free_ports 6)
export SLURM_SANDBOX_PORT
sandbox=$top/tests/sandbox/slurm
eval "$("$sandbox" env)"
on_exit "$sandbox purge"
"$sandbox" start >"$tmp/sandbox.out" 2>&1 ||
    { fail "Slurm starts" "$tmp/sandbox.out"; exit 1; }
pass "Slurm runs"

# --- a busy cluster ----------------------------------------------------------

submit() { # user sbatch-option...: prints the job id
    local user=$1
    shift
    "$sandbox" as "$user" sbatch --parsable -o /dev/null --mem=50M \
        --wrap 'sleep 600' "$@"
}

runs=$(submit $ua -p test)
submit $ua -p test --array=1-20%3 --hold >/dev/null
submit $ub -p test,batch -A chemistry -n 50 >/dev/null
submit $ub -p big -A chemistry --begin=now+1hour >/dev/null
submit $ub -p test -A physics --dependency="afterok:$runs" >/dev/null
scancel "$(submit $ua -p batch --hold)"
held=$(submit $ub -p test -A physics)
scontrol update nodename=bjy1 state=drain reason=disk
scontrol update nodename=bjy3 state=down reason=fan
scontrol create reservation=repair start=now duration=60 nodes=bjy2 \
    users=root flags=maint >/dev/null
scontrol create reservation=mine start=now duration=60 nodes=bjy4 \
    users=root flags=ignore_jobs >/dev/null
sacctmgr -i modify account chemistry set GrpTRES=cpu=8,mem=2G GrpJobs=3 GrpSubmit=9 >/dev/null
running() { squeue -h -j "$1" -t R -o %A 2>/dev/null | grep -q .; }
check "the jobs run" wait_for 60 running "$runs"
check "the other users' job runs" wait_for 60 running "$held"
scontrol suspend "$held"

# --- the pages ---------------------------------------------------------------

start_exporter --web.dialect=prometheus-slurm-exporter --cluster.interval=2 \
    --cluster.slow-interval=2 --cluster.slurm-conf="$SLURM_CONF" \
    --cluster.by=partition --cluster.by=user --cluster.by=account \
    --cluster.by=reason --cluster.by=node --cluster.by=host \
    --cluster.by=reservation --cluster.by=feature --cluster.source=diag --cluster.source=licenses \
    --cluster.source=limits --cluster.source=shares \
    --cluster.source=reservations
check "the cluster is seen" wait_for 60 shows slurm_account_job_limit
reserved() { # in the dialect of Mila's scripts
    curl -sf "$url/metrics/mila" >"$tmp/page"
    $prom value "$tmp/page" slurm_cpus_total reservation=mine
}
check "the cluster's reservations are shown" wait_for 60 reserved

run_tap "$top/tests/e2e/dialects_cluster.py" "$url"

only_chosen_names() { # promtool reads the page and criticises no other names
    local rc name
    promtool check metrics <"$tmp/page" >"$tmp/promtool.out" 2>&1
    rc=$?
    [ $rc = 0 ] || [ $rc = 3 ] || { cat "$tmp/promtool.out"; return 1; }
    while read -r name _; do
        # shellcheck disable=SC2086
        printf '%s\n' $chosen | grep -qxF "$name" ||
            { cat "$tmp/promtool.out"; return 1; }
    done <"$tmp/promtool.out"
}
for d in prometheus-slurm-exporter prometheus-slurm-exporter-1.8 vpenso mila slurmctld slinky; do
    curl -sSf --max-time 60 "$url/metrics/$d" >"$tmp/page"
    # It calls nearly all of its gauges total.
    [ "$d" != slinky ] || chosen=$(sed -n 's/^# TYPE \([^ ]*_total\) gauge$/\1/p' "$tmp/page")
    check "$d: a reference parser reads the page, no series is there twice" \
        $prom text "$tmp/page"
    if command -v promtool >/dev/null; then
        check "$d: promtool criticises only names of other exporters" \
            only_chosen_names
    else
        skip "$d: promtool" "promtool is not installed"
    fi
done

# --- with another exporter's name and flags ----------------------------------

ln -s "$(realpath "$O/batchjob_exporter")" "$tmp/prometheus-slurm-exporter"
port=$(free_port)
POLL_LIMIT=2 CLI_TIMEOUT=5 "$tmp/prometheus-slurm-exporter" \
    -web.listen-address "127.0.0.1:$port" --web.telemetry-path=/m \
    -slurm.collect-licenses -slurm.squeue-cli "$(command -v squeue) --json" \
    -metrics.exclude=^slurm_feature -- --cluster.slurm-conf="$SLURM_CONF" \
    --energy.state-file= >"$tmp/other.log" 2>&1 &
other=$!
on_exit "stop $other"
other_page() { curl -sSf --max-time 60 "http://127.0.0.1:$port/m" >"$tmp/other"; }
other_shows() { other_page && $prom value "$tmp/other" "$@"; }
check "the program accepts the name, flags and variables of prometheus-slurm-exporter" wait_for 60 \
    other_shows slurm_lic_total name=abaqus@srv
check "the queue is shown" wait_for 60 other_shows slurm_user_state_total \
    username=$ua state=RUNNING
check "the program's own metrics are shown" other_shows process_virtual_memory_max_bytes
check "families that no flag enables are absent" \
    sh -c "! grep -Eq '^slurm_(feature|account_job_limit|rpc)' '$tmp/other'"
stop "$other"
# Any command can replace Slurm's: here cat, with saved output of the original's commands.
( cd "$tmp" && squeue --states=all -h -r -o '{"a": "%a", "id": %A, "end_time": "%e", "u": "%u", "state": "%T", "p": "%P", "cpu": %C, "mem": "%m", "array_id": "%K", "r": "%R"}' >queue.saved &&
    sinfo -h -N -o '{"s": "%T", "mem": %m, "n": "%N", "l": "%O", "p": "%R", "fmem": "%e", "cstate": "%C", "w": %w}' >nodes.saved &&
    sacctmgr show assoc format=User,Account,GrpCPU,GrpMem,GrpJobs,GrpSubmit --noheader --parsable2 >limits.saved &&
    echo '{"licenses": [{"LicenseName": "saved", "Total": 7, "Used": 2, "Free": 5, "Remote": false, "Reserved": 0}]}' >lic.saved &&
    echo '{"statistics": {"req_time": 1700000100, "req_time_start": 1700000000, "server_thread_count": 3, "bf_cycle_counter": 18, "bf_cycle_mean": 9530212, "bf_cycle_sum": 171543834}}' >diag.saved )
port=$(free_port)
( cd "$tmp" && POLL_LIMIT=2 exec ./prometheus-slurm-exporter -web.listen-address "127.0.0.1:$port" --web.telemetry-path=/m \
    -slurm.squeue-cli 'cat queue.saved' -slurm.sinfo-cli 'cat nodes.saved' -slurm.lic-cli 'cat lic.saved' \
    -slurm.diag-cli 'cat diag.saved' -slurm.sacctmgr-cli 'cat limits.saved' -slurm.collect-licenses \
    -slurm.collect-diags -slurm.collect-limits -- --energy.state-file= --cluster.path=/none:/bin >"$tmp/saved.log" 2>&1 ) &
other=$!
on_exit "stop $other"
check "any command can replace Slurm's" wait_for 60 other_shows slurm_account_job_limit account=chemistry
as_saved() { # name label=value...: the page has the value $want
    [ "$(other_page && $prom value "$tmp/other" "$@")" = "$want" ]
}
want=$(grep -c "\"u\": \"$ua\", \"state\": \"PENDING\"" "$tmp/queue.saved")
check "saved jobs are counted" as_saved slurm_user_state_total username=$ua state=PENDING
want=$(sed 's|.*"n": "\([^"]*\)".*"cstate": "[^"]*/\([0-9]*\)".*|\1 \2|' "$tmp/nodes.saved" | sort -u |
    awk '{ n += $2 } END { print n }')
check "CPUs of saved nodes are counted once" as_saved slurm_cpus_total
want=7
check "saved licences are shown" as_saved slurm_lic_total name=saved
want=171543834
check "the exact sum of backfill cycles is shown" as_saved slurm_backfill_cycle_count
stop "$other"
check "an unknown flag ends the program" \
    sh -c "! '$tmp/prometheus-slurm-exporter' -slurm.nonsense 2>'$tmp/other.err'"
check "the error names the unknown flag" grep -q "unknown flag '-slurm.nonsense'" "$tmp/other.err"

# --- a scheduler that disappears ---------------------------------------------

ctld=$(cat "$SLURM_SANDBOX_DIR/run/slurmctld.pid")
kill -STOP "$ctld"
on_exit "kill_ours $ctld -CONT"
check "without its scheduler the exporter shows no queue and no nodes" \
    wait_for 60 shows_not slurm_cpus_total
check "without its scheduler the exporter shows the failure" shows slurm_node_scrape_error
kill -CONT "$ctld"
check "the queue returns with the scheduler" wait_for 60 shows slurm_cpus_total

stop "$exporter"
complete=1
