#!/bin/bash
# The cluster collector on a real Slurm with jobs, simulated GPUs, and nodes that
# are drained, down or reserved: its figures are compared with those of commands
# that it does not use.  Needs root and Slurm's packages.  TAP; about a minute.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all "not root"
missing=$("$top/tests/deps" -n test slurm) ||
    skip_all "not installed: $missing"

export SLURM_SANDBOX_DIR=/tmp/bj-cluster.$$ SLURM_SANDBOX_PREFIX=bjc$$n
ua=bjc$$a ub=bjc$$b # users of this run only
export SLURM_SANDBOX_USERS="$ua:physics $ub:chemistry,physics"
export SLURM_SANDBOX_NODE=Gres=gpu:tesla:2
export SLURM_SANDBOX_CONF="GresTypes=gpu
AccountingStorageTRES=gres/gpu,gres/gpu:tesla
RebootProgram=/bin/true
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=$SLURM_SANDBOX_DIR/etc/jwt.key
NodeName=bjx[1-3] NodeAddr=127.0.0.1 NodeHostname=localhost Port=1 CPUs=80 RealMemory=1000 Gres=gpu:rtx8000:8
PartitionName=test Nodes=ALL MaxTime=00:30:00 OverSubscribe=FORCE:16 State=UP
PartitionName=big Nodes=bjx[1-3] MaxTime=00:30:00 State=UP
Licenses=matlab:5,abaqus@srv:20"
export SLURM_SANDBOX_DBD_CONF="AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=$SLURM_SANDBOX_DIR/etc/jwt.key"
SLURM_SANDBOX_PORT=$(free_ports 6)
export SLURM_SANDBOX_PORT
sandbox=$top/tests/sandbox/slurm
eval "$("$sandbox" env)"
on_exit "$sandbox purge"
# Character devices with a number for local use (240), without a driver.
mkdir -p "$SLURM_SANDBOX_DIR/etc" "$SLURM_SANDBOX_DIR/dev"
(umask 077 && head -c 32 /dev/urandom >"$SLURM_SANDBOX_DIR/etc/jwt.key")
for i in 0 1; do
    mknod -m 666 "$SLURM_SANDBOX_DIR/dev/gpu$i" c 240 $i 2>"$tmp/mknod.out" ||
        skip_all "no devices can be made here"
done
echo "NodeName=$SLURM_SANDBOX_PREFIX[01-02] Name=gpu Type=tesla File=$SLURM_SANDBOX_DIR/dev/gpu[0-1]" \
    >"$SLURM_SANDBOX_DIR/etc/gres.conf"
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

hostile=$'a\x1fb|c\nd"{$(id)'
gpu=$(submit $ua -p test --gres=gpu:tesla:1 -J "$hostile")
submit $ua -p test --array=1-20%3 --hold >/dev/null
submit $ub -p test --array=0-2 -A physics >/dev/null
submit $ub -p test,batch -A chemistry -n 50 >/dev/null
submit $ub -p big -A chemistry --begin=now+1hour >/dev/null
scancel "$(submit $ua -p batch --hold)"
untyped=$(submit $ub -p test --gres=gpu:1 -A physics)
scontrol update nodename=bjx1 state=drain reason=$'bad\x1fdisk, "x"|State=IDLE'
scontrol update nodename=bjx3 state=down reason='fan'
scontrol create reservation=repair start=now duration=60 nodes=bjx2 \
    users=root flags=maint >/dev/null
scontrol create reservation=later starttime=now+1hour duration=60 \
    nodes=bjx3 users=root flags=ignore_jobs >/dev/null
sacctmgr -i modify account chemistry set GrpTRES=cpu=8,mem=2G GrpJobs=3 >/dev/null
running() { squeue -h -j "$1" -t R -o %A 2>/dev/null | grep -q .; }
check "the jobs run" wait_for 60 running "$gpu"
check "the job with untyped GPUs runs" wait_for 60 running "$untyped"
scontrol reboot nextstate=resume reason=kernel "bjc$$n02" >/dev/null
scontrol update nodename=bjx2 state=fail reason='fails soon'

by=
for label in partition user account qos reason reservation host node; do
    by="$by --cluster.by=$label"
done
# shellcheck disable=SC2086
start_exporter --collector.cluster --cluster.interval=2 \
    --cluster.slow-interval=2 --cluster.timeout=2 $by \
    --cluster.slurm-conf="$SLURM_CONF" \
    --cluster.source=diag --cluster.source=licenses \
    --cluster.source=reservations --cluster.source=shares \
    --cluster.source=limits
check "the cluster is seen" wait_for 60 shows \
    batchjob_cluster_source_success source=limits

# --- figures -----------------------------------------------------------------

# The queue must not change between the page and the commands to compare.
run_tap "$top/tests/e2e/cluster_check.py" "$url"
scrape
is "the cluster has the name of Slurm's configuration" \
    "$($prom label "$tmp/page" cluster batchjob_cluster_nodes | sort -u)" \
    sandbox
check "promtool finds no problem" promtool_clean "$tmp/page"
check "a reference parser reads the text" $prom text "$tmp/page"
is "the licences are shown" "$(value batchjob_cluster_licenses license=abaqus@srv)" 20
is "a limit of CPUs" "$(value batchjob_cluster_limit_cpus account=chemistry)" 8
is "a limit of memory" \
    "$(value batchjob_cluster_limit_memory_bytes account=chemistry)" 2147483648
is "a limit of jobs" "$(value batchjob_cluster_limit_jobs account=chemistry)" 3
is "the shares are shown" "$(value batchjob_cluster_shares account=physics user=$ua)" 1
is "a reservation in force" \
    "$(value batchjob_reservation_active reservation=repair)" 1
is "a reservation of the future is not active" "$(value batchjob_reservation_active reservation=later)" 0
is "the CPUs of the reservation are shown" "$(value batchjob_reservation_cpus reservation=repair)" 80
is "a reason for drain" \
    "$($prom label "$tmp/page" reason batchjob_cluster_reason_nodes | grep bad)" \
    'bad?disk, "x"|State=IDLE'
is "who drained a node" "$(value batchjob_cluster_reason_node_info node=bjx3 set_by=root reason=fan)" 1
submitted() {
    sdiag | sed -n 's/^Jobs submitted: *//p'
}
is "the number of submitted jobs is that of sdiag" \
    "$(value batchjob_cluster_controller_jobs_submitted_total)" "$(submitted)"

# --- number of queries -------------------------------------------------------

runs() { scrape; value batchjob_cluster_source_runs_total source=queue; }
scrapers() { # url: 20 at once, ten pages each; sets failed to the number that failed
    local pid pids=()
    for _ in $(seq 20); do
        curl -sf --fail-early "$1/metrics#[1-10]" >/dev/null &
        pids+=($!)
    done
    failed=0
    for pid in "${pids[@]}"; do wait "$pid" || failed=$((failed + 1)); done
}
before=$(runs) start=$SECONDS
scrapers "$url"
is "20 scrapers get their pages" "$failed" 0
more=$(($(runs) - before)) allowed=$(((SECONDS - start) / 2 + 2))
check "20 scrapers start no more commands: $more rounds, $allowed allowed" \
    [ "$more" -le "$allowed" ]

. "$top/tests/e2e/cluster_ways.sh"

# --- targets for Prometheus ---------------------------------------------------

targets() { "$top/examples/slurm-targets.sh" "$tmp/targets.json" "$@"; }
targets_match() { # the targets are the hosts that scontrol names
    python3 -c 'import json, subprocess, sys
t, = json.load(open(sys.argv[1]))
hosts = subprocess.run(["scontrol", "show", "hostnames", sys.argv[2]], text=True, check=True,
                       stdout=subprocess.PIPE).stdout.split()
assert t == {"targets": [h + ":9010" for h in sorted(hosts)], "labels": {"cluster": "sandbox"}}, t
' "$tmp/targets.json" "$(sinfo -h -o %N -p test)"
}
check "the nodes are written as targets" targets
check "each node is a target once, with the cluster" targets_match
before=$(stat -c %i "$tmp/targets.json")
check "targets are written again" targets
is "a file without a change stays" "$(stat -c %i "$tmp/targets.json")" "$before"
check "another port replaces the file" targets 9011
: >"$tmp/empty.conf" # not a missing file, which commands try to find for a minute
check "without Slurm the targets stay" eval \
    '! SLURM_CONF=$tmp/empty.conf targets 9010 && grep -q ":9011" "$tmp/targets.json"'
check "a port that is not a number is refused" eval '! targets 90x0'

# --- a controller that hangs -------------------------------------------------

ctld=$(cat "$SLURM_SANDBOX_DIR/run/slurmctld.pid")
kill -STOP "$ctld"
on_exit "kill_ours $ctld -CONT"
hung() { scrape && [ "$(value batchjob_cluster_source_success source=queue)" = 0 ]; }
check "a hanging controller is reported" wait_for 60 hung
check "the kind of the error is a timeout" test \
    "$(value batchjob_cluster_source_errors_total source=queue kind=timeout)" -gt 0
check "figures of a hanging controller disappear" wait_for 60 shows_not batchjob_cluster_jobs
check "the node's own figures stay while the controller hangs" shows batchjob_node_cpus
check_hanging_controller
kill -CONT "$ctld"
check "figures return when the controller answers" wait_for 60 shows batchjob_cluster_jobs state=RUNNING
check_resumed_controller
check_missing_slurmrestd

# --- a controller that is gone ---------------------------------------------------

shows_value() { # value metric label=value...
    local want=$1
    shift
    scrape && [ "$(value "$@")" = "$want" ]
}
kill "$ctld"
check "a missing controller is reported" wait_for 60 hung
check "figures of a missing controller disappear" wait_for 60 shows_not batchjob_cluster_jobs
check "the node's own figures stay without a controller" shows batchjob_node_cpus
# A short timeout: it also waits for idle nodes, of which there are none.
SLURM_SANDBOX_TIMEOUT=10 "$sandbox" start >"$tmp/sandbox.again" 2>&1
check "figures return with the controller" wait_for 90 shows batchjob_cluster_jobs state=RUNNING
for source in config queue nodes diag licenses reservations; do
    check "$source works again" wait_for 60 shows_value 1 \
        batchjob_cluster_source_success source=$source
done

complete=1
