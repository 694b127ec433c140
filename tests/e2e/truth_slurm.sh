#!/bin/bash
# More than a hundred real Slurm jobs of many kinds, and all that is said of them:
# pages of exporter and collectd, final records, the store, batchjob_acct and the API
# against an independent sampler of the control groups, the kernel's log, sacct, and the
# loads of the jobs.  Needs root, Slurm's packages and writable cgroups.  TAP; about
# six minutes.
#
#   truth_slurm.sh [SEED]     the jobs are the same for the same seed
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all "not root"
missing=$("$top/tests/deps" -n test slurm) ||
    skip_all "not installed: $missing"
[ -x "$O/batchjob_stats_db" ] || skip_all "batchjob_stats_db was not built"
nvml=$O/gpu/libnvidia-ml.so.1
[ -e "$nvml" ] || skip_all "no $nvml"
seed=${1:-$RANDOM}
note "seed $seed"

export SLURM_SANDBOX_DIR=/tmp/bj-truth.$$ SLURM_SANDBOX_PREFIX=bt$$n
ua=bta$$ ub=btb$$
export SLURM_SANDBOX_USERS="$ua:physics $ub:chemistry,physics"
export SLURM_SANDBOX_HOOKS=$top/examples
export SLURM_SANDBOX_NODE=Gres=gpu:tesla:2
# Many jobs share the processors; jobs for "closed" never start.
export SLURM_SANDBOX_CONF='GresTypes=gpu
PartitionName=test Nodes=ALL Default=YES MaxTime=00:30:00 OverSubscribe=FORCE:4 State=UP
PartitionName=closed Nodes=ALL MaxTime=00:30:00 State=DOWN
JobRequeue=1
OverTimeLimit=0'
SLURM_SANDBOX_PORT=$(free_ports 6)
export SLURM_SANDBOX_PORT
slurm=$top/tests/sandbox/slurm
eval "$("$slurm" env)"
[ "$SLURM_SANDBOX_CGROUP" != none ] || skip_all "no cgroups to write to here"
on_exit "$slurm purge"
mkdir -p "$SLURM_SANDBOX_DIR/etc" "$SLURM_SANDBOX_DIR/dev"
for i in 0 1; do
    mknod -m 666 "$SLURM_SANDBOX_DIR/dev/gpu$i" c 240 $i 2>"$tmp/mknod.out" ||
        skip_all "no devices can be made here"
done
echo "Name=gpu Type=tesla File=$SLURM_SANDBOX_DIR/dev/gpu[0-1]" >"$SLURM_SANDBOX_DIR/etc/gres.conf"
"$slurm" start >"$tmp/sandbox.out" 2>&1 ||
    { fail "Slurm starts" "$tmp/sandbox.out"; exit 1; }
pass "Slurm runs, cgroups $SLURM_SANDBOX_CGROUP"

# --- the hosts -------------------------------------------------------------------

for i in 0 1; do
    echo "gpu $i uuid GPU-${i}0000000-1111-2222-3333-444444444444"
    echo "gpu $i power $((100000 * (i + 1)))"
done >"$tmp/script"
export FAKE_NVML=$tmp/script
spool=$tmp/spool
mkdir -m 755 "$spool"
start_exporter --job.grace=20s --sample.slow=1 --collector.process --collector.steps=tasks \
    --record.dir="$spool" --job.file-dir="$SLURM_SANDBOX_DIR/jobs" --gpu.nvml="$(realpath "$nvml")" \
    --gpu.interval=1 --gpu.map-dir="$tmp/none" --path.sysfs="$tmp/none"
start_collectd 2 "  JobGrace 20s
  CollectorProcess true
  JobFileDir \"$SLURM_SANDBOX_DIR/jobs\""

# --- the jobs --------------------------------------------------------------------

truth=$tmp/truth programs=$tmp/programs pause=2
exporter_url=$url/metrics collectd_url=$collectd_url/metrics port=$(free_port)
mkdir -p "$truth/plan" "$programs"
ln -s "$O"/batchjob_{stats_db,acct,stats_server} "$O/e2e/sampler" "$programs/"
cp "$work" "$truth/work"
chmod 755 "$truth" "$truth/work"
$python "$top/tests/e2e/truth_plan.py" "$truth/plan" host "$seed" "$truth" "$SLURM_SANDBOX_PREFIX" $ua $ub ||
    exit 1
. "$top/tests/e2e/truth_jobs.sh"
check "the jobs run" truth_run 900
sed 's/^/# /' "$tmp/check.out"
check "the store is filled and read" truth_store
run_tap $python "$top/tests/e2e/truth.py" compare "$truth" host
check "the exporter and collectd still run" kill -0 "$exporter" "$collectd"
complete=1
