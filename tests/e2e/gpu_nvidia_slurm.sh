#!/bin/bash
# Jobs of a real Slurm on a real NVIDIA GPU: one holds it idle, one has none and cannot
# open it, one computes, two share it by shards.  Expected values are those of Slurm and
# nvidia-smi.  Changes no setting of the GPU.  Needs root, Slurm's packages, the
# driver with nvidia-smi, and an unused GPU.  TAP; about a minute.
. "$(dirname "$0")/lib.sh"
[ -e /proc/driver/nvidia/version ] || skip_all "no NVIDIA GPU"
command -v nvidia-smi >/dev/null || skip_all "not installed: nvidia-smi"
[ "$(id -u)" = 0 ] || skip_all "not root"
missing=$("$top/tests/deps" -n slurm) || skip_all "not installed: $missing"
load=$O/gpu/load
[ -x "$load" ] || skip_all "no $load"
[ -z "$(nvidia-smi --query-compute-apps=pid --format=csv,noheader)" ] ||
    skip_all "other processes use the GPU"
truth="$python $top/tests/e2e/gpu_nvidia.py"
uuid=$($truth uuid) || { fail "nvidia-smi names the GPU"; exit 1; }

export SLURM_SANDBOX_DIR=/tmp/bj-nvidia.$$ SLURM_SANDBOX_PREFIX=bjn$$n
ua=bjn$$a
export SLURM_SANDBOX_USERS="$ua:physics" SLURM_SANDBOX_NODES=1
export SLURM_SANDBOX_NODE=Gres=gpu:1,shard:4
export SLURM_SANDBOX_CONF="GresTypes=gpu,shard
AccountingStorageTRES=gres/gpu
PartitionName=test Nodes=ALL MaxTime=00:30:00 OverSubscribe=FORCE:4 State=UP"
SLURM_SANDBOX_PORT=$(free_ports 6)
export SLURM_SANDBOX_PORT
sandbox=$top/tests/sandbox/slurm
eval "$("$sandbox" env)"
[ "$SLURM_SANDBOX_CGROUP" != none ] || skip_all "no cgroups to write to here"
on_exit "$sandbox purge"
mkdir -p "$SLURM_SANDBOX_DIR/etc"
if compgen -G '/usr/lib/*/slurm*/gpu_nvml.so' >/dev/null; then
    gres="AutoDetect=nvml"
else
    gres="Name=gpu File=/dev/nvidia0"
fi
printf '%s\nName=shard Count=4\n' "$gres" >"$SLURM_SANDBOX_DIR/etc/gres.conf"
"$sandbox" start >"$tmp/sandbox.out" 2>&1 || { fail "Slurm starts" "$tmp/sandbox.out"; exit 1; }
pass "Slurm runs with $gres, cgroups $SLURM_SANDBOX_CGROUP"

install -m 755 "$load" "$SLURM_SANDBOX_DIR/load"
submit() { # name load-arguments sbatch-option...: prints the job's id
    local name=$1 work=$2
    shift 2
    "$sandbox" as "$ua" sbatch --parsable -p test -J "$name" -o "$SLURM_SANDBOX_DIR/home/$ua/$name" \
        --mem=2000 --wrap "exec $SLURM_SANDBOX_DIR/load $work" "$@"
}
printed() { grep "$2" "$SLURM_SANDBOX_DIR/home/$ua/$1"; } # name text
runs() { squeue -h -j "$1" -t R -o %A | grep -q .; }
cancel() { "$sandbox" as "$ua" scancel "$@"; }
# For some seconds slurmdbd may not know when a job became eligible; sacct lists it after that.
ended() { # job
    [ "$(sacct -nPX -j "$1" -o state,eligible,end | sed 's/ by [0-9]*//; s/20[-0-9T:]*/time/g')" = 'CANCELLED|time|time' ]
}
of_job() { value "batchjob_job_gpu_$2" jobid="$1" gpu="$uuid"; } # job metric
job_within() { # job metric min max
    scrape && echo "$2: $(of_job "$1" "$2")" &&
        awk -v v="$(of_job "$1" "$2")" -v least="$3" -v most="$4" \
            'BEGIN { exit !(v != "" && v + 0 >= least && v + 0 <= most) }'
}
owner() { shows batchjob_job_gpu_info jobid="$1" gpu="$uuid" source="$2"; } # job source

mkdir "$tmp/spool"
start_exporter --gpu.interval=1 --gpu.map-dir="$tmp/none" --gpu.ask-scheduler \
    --cluster.path="$PATH" --cluster.slurm-conf="$SLURM_CONF" --energy.interval=1 \
    --energy.slow-interval=1 --energy.state-file="$tmp/state" --record.dir="$tmp/spool"
check "the driver is read" wait_for 60 shows batchjob_gpu_success gpu="$uuid"

# --- the GPU held without work, and a job without a GPU -------------------------

sleeps=$("$sandbox" as "$ua" sbatch --parsable -p test -J sleeps -o /dev/null --mem=50 --gres=gpu:1 --wrap 'sleep 600')
check "a job that requested the GPU runs" wait_for 60 runs "$sleeps"
check "the job owns the GPU according to Slurm" wait_for 60 owner "$sleeps" scheduler
note "Slurm: $(scontrol -d show job "$sleeps" | sed -n 's/.*\(GRES=.*\)/\1/p' | head -n 1)"
check "a job without work is idle" wait_for 60 job_within "$sleeps" idle_seconds_total 3 1000
none=$(submit none fp32)
check "a job without a GPU cannot use it" wait_for 60 printed none 'cuInit\|no GPU\|error'
note "it printed: $(tail -n 1 "$SLURM_SANDBOX_DIR/home/$ua/none")"
computes=$(submit computes "fp32 2048" --gres=gpu:1)
check "a second job that requests the GPU waits" wait_for 60 eval "squeue -h -j $computes -o %r | grep -q Resources"
scrape
is "a waiting job has no GPU" "$(value batchjob_job_gpu_info jobid="$computes")" ""
cancel "$sleeps"

# --- work ---------------------------------------------------------------------

check "the second job starts and computes" wait_for 60 printed computes ready
check "the computing job owns the GPU" wait_for 60 owner "$computes" scheduler
check "the computing job is busy" wait_for 60 job_within "$computes" busy_ratio 0.9 1
check "the computing job has the whole GPU" wait_for 60 job_within "$computes" share_ratio 1 1
pid=$(pgrep -u "$ua" -x load)
memory_as_smi() { scrape && $truth process "$tmp/page" "$pid" "$computes"; }
check "the memory of the computing job is that of nvidia-smi" wait_for 60 memory_as_smi
check "the computing job holds the GPU for at least 5 s" wait_for 60 job_within "$computes" held_seconds_total 5 1000
check "the computing job has no idle time after its start" job_within "$computes" idle_seconds_total 0 1
same_dialects() {
    local d
    for d in nvidia_gpu_prometheus_exporter nvidia_smi_exporter slurm-job-exporter; do
        curl -sSf "$url/metrics/$d" >"$tmp/dialects/$d" || return
    done
    $truth dialects "$tmp/dialects" "$computes" "$(id -u "$ua")" >"$tmp/dialects.out"
}
mkdir "$tmp/dialects"
check "pages in other exporters' formats have the values of nvidia-smi" wait_for 60 same_dialects
note "$(cat "$tmp/dialects.out")"
check "jobs and unallocated energy add up to the node's" $truth sum "$tmp/page"
note "$(head -n 1 "$tmp/check.out")"
cancel "$computes"
check "the computing job ends" wait_for 60 ended "$computes"

# --- shards -------------------------------------------------------------------

one=$(submit one fp32 --gres=shard:1)
two=$(submit two fp32 --gres=shard:2)
check "the first of two jobs computes on its shards" wait_for 60 printed one ready
check "the second of two jobs computes on its shards" wait_for 60 printed two ready
note "Slurm: $(scontrol -d show job "$one" | sed -n 's/.*\(GRES=.*\)/\1/p' | head -n 1)," \
    "$(scontrol -d show job "$two" | sed -n 's/.*\(GRES=.*\)/\1/p' | head -n 1)"
check "the first of two jobs has about half of the GPU" wait_for 60 job_within "$one" share_ratio 0.3 0.7
check "the second of two jobs has about half of the GPU" wait_for 60 job_within "$two" share_ratio 0.3 0.7
check "the share of a job with shards is an estimate" wait_for 60 job_within "$two" estimated 1 1
note "$(grep '^batchjob_job_gpu_info' "$tmp/page")"
is "sharing by shards is no conflict" "$(value batchjob_gpu_conflicts_total kind=double)" 0
cancel "$one" "$two"
check "both jobs with shards end" wait_for 60 eval "ended $one && ended $two"

# --- accounting -----------------------------------------------------------------

recorded() { grep -l "\"jobid\":\"$1\"" "$tmp/spool"/*.json; }
for j in $sleeps $computes $one $two; do
    check "job $j has a final record" wait_for 60 recorded "$j"
done
cat >"$tmp/cluster.yml" <<END
name: sandbox
sacct:
  slurm-conf: $SLURM_CONF
  history: 1d
  pause: 0s
records:
  dir: [$tmp/spool]
END
store="--store.path=$tmp/stats.db"
check "accounting and records are imported" "$O/batchjob_stats_db" run --once $store --cluster.file="$tmp/cluster.yml"
note "$(tail -n 1 "$tmp/check.out")"
columns() { # job column,column...
    "$O/batchjob_acct" $store --job="$1" --output=csv --no-header --format="$2" | tr -d '\r"'
}
note "$("$O/batchjob_acct" $store --since=1d --format=JobID,JobName,NGPUs,GPUModel,GPUEff,GPUsUnused,GPUHeld,GPUIdle,GPUPeakMem,Energy)"
for j in $sleeps $computes; do
    is "job $j has the GPUs of sacct" "$(columns "$j" NGPUs)" \
        "$(sacct -nPX -j "$j" -o alloctres%200 | grep -o 'gres/gpu=[0-9]*' | cut -d= -f2)"
    near "job $j held the GPU for its time by sacct" "$(columns "$j" GPUHeld)" \
        "$(sacct -nPX -j "$j" -o elapsedraw)" 0 3
done
is "the model is that of nvidia-smi" "$(columns "$computes" GPUModel)" \
    "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)"
is "the sleeping job used none of its GPUs" "$(columns "$sleeps" GPUsUnused)" 1
is "the computing job used all of its GPUs" "$(columns "$computes" GPUsUnused)" 0
eff=$(columns "$computes" GPUEff)
check "the GPU efficiency of the computing job is over 60 % ($eff)" \
    awk -v v="$eff" 'BEGIN { exit !(v > 60 && v <= 100) }'
is "the sleeping job was idle for the whole time" "$(columns "$sleeps" GPUIdle)" "$(columns "$sleeps" GPUHeld)"
check "the log has no errors" eval "! grep -E 'level=(warn|error)' '$tmp/exporter.log'"

complete=1
