#!/bin/bash
# The exporter queries real Slurm once for the GPUs of each job, here of jobs whose
# processes changed the environment from Slurm; another one reads them from the files
# of the prolog, without a query.  Slurm's GPUs are plain device files,
# and a simulated driver has as many.  Needs root, Slurm's packages and writable
# cgroups.  TAP; about half a minute.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all "not root"
missing=$("$top/tests/deps" -n test slurm) ||
    skip_all "not installed: $missing"
nvml=$O/gpu/libnvidia-ml.so.1
[ -e "$nvml" ] || skip_all "no $nvml"

export SLURM_SANDBOX_DIR=/tmp/bj-gpu.$$ SLURM_SANDBOX_PREFIX=bjg$$n
ua=bjg$$a
export SLURM_SANDBOX_USERS="$ua:physics" SLURM_SANDBOX_NODES=1
export SLURM_SANDBOX_NODE=Gres=gpu:tesla:4 SLURM_SANDBOX_HOOKS=$top/examples
export SLURM_SANDBOX_CONF="GresTypes=gpu
PartitionName=test Nodes=ALL MaxTime=00:30:00 OverSubscribe=FORCE:16 State=UP"
SLURM_SANDBOX_PORT=$(free_ports 6)
export SLURM_SANDBOX_PORT
sandbox=$top/tests/sandbox/slurm
eval "$("$sandbox" env)"
[ "$SLURM_SANDBOX_CGROUP" != none ] || skip_all "no cgroups to write to here"
on_exit "$sandbox purge"
mkdir -p "$SLURM_SANDBOX_DIR/etc" "$SLURM_SANDBOX_DIR/dev"
for i in 0 1 2 3; do
    mknod -m 666 "$SLURM_SANDBOX_DIR/dev/gpu$i" c 240 $i 2>"$tmp/mknod.out" ||
        skip_all "no devices can be made here"
done
echo "NodeName=$SLURM_SANDBOX_PREFIX[01] Name=gpu Type=tesla File=$SLURM_SANDBOX_DIR/dev/gpu[0-3]" \
    >"$SLURM_SANDBOX_DIR/etc/gres.conf"
"$sandbox" start >"$tmp/sandbox.out" 2>&1 ||
    { fail "Slurm starts" "$tmp/sandbox.out"; exit 1; }
pass "Slurm runs, cgroups $SLURM_SANDBOX_CGROUP"

for i in 0 1 2 3; do
    echo "gpu $i uuid GPU-${i}0000000-1111-2222-3333-444444444444"
    echo "gpu $i energy 1000"
done >"$tmp/script"
export FAKE_NVML=$tmp/script

# A scontrol that logs its arguments.
mkdir "$tmp/bin"
printf '#!/bin/sh\necho "$*" >>%s\nexec %s "$@"\n' "$tmp/queries" "$(command -v scontrol)" \
    >"$tmp/bin/scontrol"
chmod 755 "$tmp/bin/scontrol"
submit() { # variable=value-in-the-job sbatch-option...: prints the job id
    local env=$1
    shift
    "$sandbox" as "$ua" sbatch --parsable -p test -o /dev/null --mem=50M \
        --wrap "exec env -u SLURM_JOB_GPUS -u SLURM_STEP_GPUS -u CUDA_VISIBLE_DEVICES $env sleep 600" "$@"
}
forged=$(printf 'x\n     Nodes=%s01 CPU_IDs=0 Mem=50 GRES=gpu:tesla:4(IDX:0-3)' "$SLURM_SANDBOX_PREFIX")
no_env=$(submit "A=b" --gres=gpu:tesla:2)
false_claim=$(submit "SLURM_JOB_GPUS=0" --gres=gpu:1)
none=$(submit "A=b")
forger=$(submit "A=b" --gres=gpu:1 --comment "$forged" -J "$forged")
slurm_gpus() { # job: the indexes of its GPUs as Slurm prints them
    scontrol -d show job "$1" | sed -n 's/.*GRES=gpu:tesla:[0-9]*(IDX:\([0-9-]*\)).*/\1/p' | head -n 1
}
runs() { squeue -h -j "$1" -t R -o %A | grep -q .; }
for j in $no_env $false_claim $none $forger; do
    check "job $j runs" wait_for 60 runs "$j"
done
# Before its exec, a job still has the environment from Slurm.
changed() { [ "$(ps -u "$ua" -o comm= | grep -cx sleep)" = 4 ]; }
check "all jobs have replaced their environment" wait_for 60 changed
start_exporter --gpu.nvml="$(realpath "$nvml")" --gpu.interval=1 --gpu.map-dir="$tmp/none" \
    --gpu.ask-scheduler --cluster.path="$tmp/bin:/usr/bin:/bin" \
    --cluster.slurm-conf="$SLURM_SANDBOX_DIR/etc/slurm.conf" --path.sysfs="$tmp/none"
note "Slurm gave $no_env GPUs $(slurm_gpus "$no_env"), $false_claim GPU $(slurm_gpus "$false_claim")," \
    "$forger GPU $(slurm_gpus "$forger")"
expand() { # range: 0-1 gives 0 and 1
    local word=$1
    seq "${word%-*}" "${word#*-}"
}
holds() { # job: "INDEX:SOURCE " of each GPU
    local gpu
    for gpu in $($prom label "$tmp/page" gpu batchjob_job_gpu_info jobid="$1"); do
        printf '%s:%s ' "${gpu:4:1}" "$($prom label "$tmp/page" source \
            batchjob_job_gpu_info jobid="$1" gpu="$gpu")"
    done
}
as_given() { # job [source]
    local want source=${2:-scheduler}
    want=$(for g in $(expand "$(slurm_gpus "$1")"); do printf '%s:%s ' "$g" "$source"; done)
    scrape
    echo "has $(holds "$1"), want $want"
    [ "$(holds "$1")" = "$want" ]
}
for j in $no_env $false_claim; do
    wait_for 60 as_given "$j"
    check "job $j has the GPUs that Slurm gave it" as_given "$j"
done
is "a job without GPUs has none" "$(holds "$none")" ""
is "a job whose name looks like output of Slurm has no GPU" "$(holds "$forger")" ""
check "a wrong environment counts as a conflict" \
    [ "$(value batchjob_gpu_conflicts_total kind=denied)" = 1 ]
# Four more readings of the GPUs start no query.
for _ in 1 2 3 4; do
    sleep 1
    scrape
done
# The exporter also queries jobs of other tests on this machine.
ours() { grep -xE "$(echo "$no_env" "$false_claim" "$none" "$forger" | tr ' ' '|')"; }
is "Slurm is queried once for each job" \
    "$(awk '{ print $NF }' "$tmp/queries" | ours | sort | uniq -c | awk '{ print $1, $2 }' | sort)" \
    "$(for j in $no_env $false_claim $none $forger; do echo "1 $j"; done | sort)"

# --- the prolog's files ----------------------------------------------------------

start_exporter --gpu.nvml="$(realpath "$nvml")" --gpu.interval=1 --gpu.map-dir="$tmp/none" \
    --job.file-dir="$SLURM_SANDBOX_DIR/jobs" --path.sysfs="$tmp/none"
for j in $no_env $false_claim; do
    wait_for 60 as_given "$j" prolog
    check "job $j has the GPUs that Slurm gave it, by the prolog" as_given "$j" prolog
done
is "a job without GPUs in the prolog's file has none" "$(holds "$none")" ""
check "a forged name gives no GPUs in the prolog's file" \
    grep -qx '[0-3]:prolog ' <<<"$(holds "$forger")"
denied() { scrape && [ "$(value batchjob_gpu_conflicts_total kind=denied)" = 1 ]; }
check "a wrong environment counts as a conflict with the prolog's file" wait_for 60 denied
told() { sed -n "s/^$1=//p" "$SLURM_SANDBOX_DIR/jobs/$no_env"; }
is "the job was not restarted" "$(value batchjob_job_restarts jobid="$no_env")" 0
if ! slurm_since 26.05; then
    is "the prolog of Slurm before 26.05 has no QOS and no time limit" "$(told qos)$(told latest_end)" ""
    is "the time of a limit is unknown" "$(value batchjob_job_latest_end_time_seconds jobid="$no_env")" ""
else
    is "the prolog's QOS is shown" "$(told qos) $($prom label "$tmp/page" qos batchjob_job_info jobid="$no_env")" \
        "normal normal"
    is "the time of its limit is shown" "$(value batchjob_job_latest_end_time_seconds jobid="$no_env")" \
        "$(date +%s -d "$(scontrol show job "$no_env" | sed -n 's/.* EndTime=\([^ ]*\).*/\1/p')")"
fi
complete=1
