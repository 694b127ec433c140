#!/bin/bash
# Eight GPUs of a simulated driver, two of them with MIG instances, and five jobs in
# real cgroups: owners, values and energy in the exporter and collectd, also after
# restarts and faults of the driver.  gpu.py has the expected values.  TAP.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/collectd_lib.sh"
gpu="$python $top/tests/e2e/gpu.py"
nvml=$O/gpu/libnvidia-ml.so.1
[ -e "$nvml" ] || skip_all "no $nvml"
[ -x "$work" ] || skip_all "no $work"
cg_private=1
cg_init
[ $cg_version != none ] || skip_all "not root, or no cgroups to write to here"

# --- jobs --------------------------------------------------------------------

gpu_job() { # uid job variable=value...: start a job; sets cg_pid
    local uid=$1 job=$2
    shift 2
    cg_job "$uid" "$job" && cg_prefix="env SLURM_JOB_ID=$job $*" cg_run "$uid" "$job" \
        "$work" -m 1 -i 100 -t 1800
    on_exit "stop $cg_pid"
}

gpu_job 1000 2001 SLURM_JOB_GPUS=0,1
works=$cg_pid
gpu_job 1000 2002 SLURM_JOB_GPUS=2
gpu_job 1001 2003 SLURM_JOB_GPUS=0 CUDA_VISIBLE_DEVICES=0
false_claim=$cg_pid
gpu_job 1002 2004 CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50 \
    CUDA_VISIBLE_DEVICES=MIG-6a000000-1111-2222-3333-444444444444,GPU-40000000-1111-2222-3333-444444444444
shares=$cg_pid
gpu_job 1003 2005 SLURM_JOB_GPUS=4 SLURM_SHARDS_ON_NODE=1
shares2=$cg_pid
node=$tmp/node
mkdir -p "$node" "$tmp/gpustat"
echo "2005 1003" >"$tmp/gpustat/7.11"
echo "1999 1003" >"$tmp/gpustat/5" # left behind by a crash
$gpu init "$node" "$works" "$false_claim" "$shares" "$shares2"
export FAKE_NVML=$node/script

# --- hosts -------------------------------------------------------------------

options() { # host
    printf '%s ' --path.cgroupfs="$cg_view" --path.sysfs="$tmp/none" \
        --gpu.nvml="$(realpath "$nvml")" --gpu.interval=1 \
        --gpu.map-dir="$tmp/gpustat" --energy.interval=1 \
        --energy.slow-interval=1 --energy.state-file="$tmp/$1/state" \
        --record.dir="$tmp/$1/spool" --gpu.job-map-dir="$tmp/$1/map"
}
run_exporter() {
    # shellcheck disable=SC2046
    start_exporter $(options exporter)
}
run_collectd() {
    local o lines=
    for o in $(options collectd); do
        o=${o#--}
        lines="$lines
$(tr -d '.-' <<<"${o%%=*}") \"${o#*=}\""
    done
    daemon_conf collectd "$typesdb_lines" "$lines"
    daemon_run
    daemon_answers
}
page_of() { # host to
    case $1 in
    exporter) scrape "$2" ;;
    collectd) curl -sf "$page" >"$2" ;;
    esac
}

hosts=exporter
mkdir -p "$tmp/exporter" "$tmp/collectd"
run_exporter
if [ -e "$O/batchjob.so" ] && command -v collectd >/dev/null &&
    plugins=$(collectd_plugins); then
    hosts="exporter collectd"
    run_collectd
else
    skip "collectd" "collectd or its plugin is not installed"
fi

once() { # host [word...]
    page_of "$1" "$tmp/$1/page" && $gpu check "$1" "$tmp/$1/page" "$node" "${@:2}"
}
held_of() { # host: the microseconds for which job 2001 has held GPU 0
    page_of "$1" "$tmp/$1/page" && $python - "$1" "$tmp/$1/page" <<-'END'
		import sys
		sys.path.insert(0, "tests/e2e")
		import gpu
		page = gpu.page_of(sys.argv[1], sys.argv[2])
		print(int(page.get(("job_gpu_held_usec_total", "2001", gpu.name_of("0")), 0)))
	END
}
held() { # host microseconds: job 2001 has held GPU 0 for longer than this time
    local now
    now=$(held_of "$1") && [ "$now" -gt "$2" ]
}
# All hosts have the expected values within 60 s.  Then the driver is read once more:
# if energy were used in two readings in a row, its power would count as idle power.
true_soon() { # description [word...]
    local h what=$1
    shift
    for h in $hosts; do
        wait_for 60 once "$h" "$@"
        check "$h: $what" once "$h" "$@"
        note "$(tail -n 1 "$tmp/check.out")"
        wait_for 60 held "$h" "$(held_of "$h")"
    done
}

cd "$top" || exit 1
for h in $hosts; do
    check "$h: the GPUs are read" wait_for 60 held "$h" 3000000
done

# --- owners, values, energy --------------------------------------------------

$gpu step "$node" energy
true_soon "owners, values and energy are right"
$gpu step "$node" energy
true_soon "owners, values and energy are right at the next reading"
# Pages in the formats of other exporters have exactly the expected samples of GPUs.
has_samples() { # dialect
    curl -sSf "$url/metrics/$1" >"$tmp/said" &&
        $python "$top/tests/e2e/gpu_pages.py" "$1" "$tmp/said" "$node"
}
dialects() {
    local d
    for d in nvidia_gpu_prometheus_exporter nvidia_smi_exporter ceems \
        slurm-job-exporter; do
        wait_for 60 has_samples "$d"
        check "$d: the driver's simulated values${1-}" has_samples "$d"
        note "$(tail -n 1 "$tmp/check.out")"
    done
}
dialects
$gpu step "$node" xid=3:13 xid=6:48 xid=0:31 xid=0:79
dialects ", Xid errors too"
check "exporter: promtool finds no fault" promtool_clean "$tmp/exporter/page"
# Both conflicts are logged with GPU and job.
check "the log names the job that claims another GPU in its environment" grep -q \
    'GPU GPU-00000000-.*: job 2003 claims it' "$tmp/exporter.log"
check "the log names the GPU on which that job runs" grep -q \
    'GPU GPU-30000000-.*: job 2003 uses it' "$tmp/exporter.log"

map_of() { # host: "FILE:JOB,JOB " for each file, sorted
    local f
    for f in "$tmp/$1/map"/*; do
        [ ! -e "$f" ] || printf '%s:%s ' "${f##*/}" "$(sort "$f" | paste -sd ,)"
    done
}
for h in $hosts; do
    is "$h: the files for dcgm-exporter name the same jobs" "$(map_of "$h")" \
        "0:2001 1:2001 2:2002 3:2003 4:2004,2005 6.1:2004 7.11:2005 "
done

# --- no process is started ---------------------------------------------------

forks() {
    strace -qq -f -p "$exporter" -e trace=fork,vfork,clone,clone3,execve \
        -o "$tmp/strace" &
    local tracer=$! i
    traced() { grep -q '^TracerPid:.*[1-9]' "/proc/$exporter/status"; }
    wait_for 60 traced || return
    for i in 1 2 3; do
        scrape || return
        sleep 1 # drivers are read once a second
    done
    kill $tracer
    wait $tracer
    ! grep -v CLONE_THREAD "$tmp/strace"
}
if command -v strace >/dev/null && strace -qq -o /dev/null true 2>/dev/null; then
    check "passes and readings start no process" forks
else
    skip "passes and readings start no process" "strace is not installed"
fi

# --- restarts of the hosts ---------------------------------------------------

restart() { # stop|kill
    local h
    for h in $hosts; do page_of "$h" "$tmp/$h/before"; done
    if [ "$1" = kill ]; then
        kill -KILL $exporter && wait $exporter 2>/dev/null
        [ "$hosts" = exporter ] || { kill -KILL $daemon && wait $daemon 2>/dev/null; }
    else
        stop "$exporter"
        [ "$hosts" = exporter ] || stop "$daemon"
    fi
    [ "$1" = kill ] || for h in $hosts; do
        is "$h: the files for dcgm-exporter are removed at exit" "$(map_of "$h")" ""
    done
    $gpu step "$node" energy
    run_exporter
    [ "$hosts" = exporter ] || run_collectd
    for h in $hosts; do
        page_of "$h" "$tmp/$h/first"
        true_soon_of "$h" "$1: energy used meanwhile has its owner"
        check "$h: $1: no counter has fallen" $gpu check-decreases "$h" "$tmp/$h/before" \
            "$tmp/$h/page"
        check "$h: $1: no counter has fallen in the first page" none_fell "$h"
    done
}
none_fell() { # host: no counter of its first page has fallen; it may have none
    $gpu check-decreases "$1" "$tmp/$1/before" "$tmp/$1/first" >"$tmp/fell" ||
        ! grep then "$tmp/fell"
}
true_soon_of() { # host what
    local all=$hosts
    hosts=$1
    true_soon "$2"
    hosts=$all
}
restart stop
restart kill

# --- faults of the driver ----------------------------------------------------

has_value() { # host name instance value, or none
    page_of "$1" "$tmp/$1/page" && $python - "$@" "$tmp/$1/page" <<-'END'
		import sys
		sys.path.insert(0, "tests/e2e")
		import gpu
		host, name, instance, want, path = sys.argv[1:]
		got = [v for k, v in gpu.page_of(host, path).items()
		       if k[:2] == (name, instance)]
		print(got)
		sys.exit(got != ([] if want == "none" else [int(want)]))
	END
}
has() { # description name instance value
    local h
    for h in $hosts; do
        wait_for 60 has_value "$h" "$2" "$3" "$4"
        check "$h: $1" has_value "$h" "$2" "$3" "$4"
    done
}
gpu3=GPU-30000000-1111-2222-3333-444444444444
gpu0=GPU-00000000-1111-2222-3333-444444444444

$gpu step "$node" lost=3
has "a GPU is lost" gpu_success $gpu3 0
has "a lost GPU has no values" gpu_busy_ppm $gpu3 none
has "the other GPUs have values" gpu_busy_ppm $gpu0 800000
$gpu step "$node" energy without=3
true_soon "energy of the other GPUs has its owners while one is lost" counters
$gpu step "$node" back=3 zero=3
has "a lost GPU returns after a reset" gpu_success $gpu3 1
$gpu step "$node" energy
true_soon "owners, values and energy are right after a reset"
has "the reset of its counter is counted" gpu_energy_resets_total $gpu3 1

$gpu step "$node" hang=600000
has "a driver that hangs is reported" gpu_source_success nvml 0
has "while the driver hangs its GPUs have no values" gpu_busy_ppm $gpu0 none
$gpu step "$node" hang=0 energy
true_soon "owners, values and energy are right after the driver hung"

$gpu step "$node" driver=560.28.03
# Its counters begin at 0, which counts as a false reading until they move.
has "another driver is opened without a restart" gpu_errors_total $gpu0 1
$gpu step "$node" energy
true_soon "owners, values and energy are right with another driver"
has "its counters were reset" gpu_energy_resets_total $gpu0 1

# --- the end -----------------------------------------------------------------

# Energy that a job used before its end is its own, also when it is read after it.
# (Without GPU 4: two jobs share it, and what is read after the end of one is the other's.)
$gpu step "$node" energy without=4
for j in 1001:2003 1000:2001 1000:2002 1002:2004 1003:2005; do
    cg_kill "${j%:*}" "${j#*:}"
done
recorded() { # host
    [ "$(find "$tmp/$1/spool" -name '*.json' | wc -l)" = 5 ] &&
        $gpu records "$node" "$tmp/$1/spool"
}
for h in $hosts; do
    wait_for 60 recorded "$h"
    check "$h: final records have the expected values, energy to the microjoule" recorded "$h"
    note "$(cat "$tmp/check.out")"
    run_tap "$top/tests/e2e/records_stored.py" "$h" "$tmp/$h/spool"
    is "$h: the files for dcgm-exporter are removed at the end of the jobs" "$(map_of "$h")" ""
done
complete=1
