#!/bin/bash
# A GPU of AMD and one of Intel, and two jobs recognized by the open files of their
# processes: the exporter and collectd show the same values, also those of the
# vendors' libraries.  All of it is simulated: libraries, sysfs, procfs, cgroups.
# TAP.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/collectd_lib.sh"
rocm=$O/gpu/librocm_smi64.so
ze=$O/gpu/libze_loader.so.1
[ -e "$rocm" ] && [ -e "$ze" ] || skip_all "no $rocm"

put() { # file line...: replace the file atomically
    mkdir -p "${1%/*}"
    printf '%s\n' "${@:2}" >"$1.new" && mv "$1.new" "$1"
}

# --- the node ----------------------------------------------------------------

amd=$tmp/sys/devices/0000:c1:00.0 intel=$tmp/sys/devices/0000:29:00.0
put "$amd/vendor" 0x1002
put "$amd/unique_id" f45b8f2f3c7d6a11
put "$amd/mem_info_vram_total" 68702699520
put "$amd/mem_info_vram_used" 10737418240
put "$amd/gpu_busy_percent" 87
put "$amd/hwmon/hwmon0/power1_average" 300000000
put "$intel/vendor" 0x8086
put "$intel/hwmon/hwmon1/energy1_input" 1000000
mkdir -p "$tmp/sys/class/drm/card0" "$tmp/sys/class/drm/card1" \
    "$tmp/sys/class/kfd/kfd/proc"
ln -s "../../../devices/${intel##*/}" "$tmp/sys/class/drm/card0/device"
ln -s "../../../devices/${amd##*/}" "$tmp/sys/class/drm/card1/device"

libraries() { # joules of the AMD GPU
    put "$tmp/rocm" "gpu 0 pci 0 0xc1 0 0" "gpu 0 energy $1 1000000" \
        "ecc 0 1 5 1" "ecc 0 128 2 0" "gpu 0 replays 3"
    put "$tmp/ze" "gpu 0 pci 0 0x29 0 0" "memory 0 0 1 6442450944 8589934592" \
        "sensor 0 0 1 42.5" "sensor 0 1 2 61"
}
libraries 500
export FAKE_ROCM=$tmp/rocm FAKE_ZE=$tmp/ze

uses() { # pid driver address client memory busy-ns
    put "$tmp/proc/$1/fdinfo/7" "pos:	0" "drm-driver:	$2" \
        "drm-client-id:	$4" "drm-pdev:	$3" "$5" "drm-engine-compute:	$6 ns"
}
job() { # id pid
    local at=system.slice/slurmstepd.scope/job_$1
    put "$tmp/cg/$at/cpu.stat" "usage_usec 5" "user_usec 3" "system_usec 2"
    put "$tmp/cg/$at/memory.current" 4096
    put "$tmp/cg/$at/cgroup.procs" "$2"
    put "$tmp/proc/$2/cgroup" "0::/$at/step_0/user/task_0"
    printf 'SLURM_JOB_ID=%s\0' "$1" >"$tmp/proc/$2/environ"
    mkdir -p "$tmp/proc/$2/fd"
    ln -s /dev/dri/renderD128 "$tmp/proc/$2/fd/7"
}
put "$tmp/cg/cgroup.controllers" "cpu memory"
job 3001 1100
job 3002 1200
uses 1100 amdgpu 0000:c1:00.0 1 "drm-memory-vram:	1024 MiB" 5000000000
uses 1200 i915 0000:29:00.0 1 "drm-resident-local0:	512 MiB" 2000000000

# --- hosts -------------------------------------------------------------------

options() { # host
    printf '%s ' --path.cgroupfs="$tmp/cg" --path.sysfs="$tmp/sys" \
        --path.procfs="$tmp/proc" --collector.node=false --job.file-dir= \
        --gpu.rocm="$(realpath "$rocm")" \
        --gpu.level-zero="$(realpath "$ze")" --gpu.interval=1 \
        --energy.interval=1 --energy.slow-interval=1 \
        --energy.state-file="$tmp/$1/state"
}
mkdir -p "$tmp/exporter" "$tmp/collectd"
hosts=exporter
# shellcheck disable=SC2046
start_exporter $(options exporter)
if [ -e "$O/batchjob.so" ] && command -v collectd >/dev/null &&
    plugins=$(collectd_plugins); then
    hosts="exporter collectd"
    lines=
    for o in $(options collectd); do
        o=${o#--}
        lines="$lines
$(tr -d '.-' <<<"${o%%=*}") \"${o#*=}\""
    done
    daemon_conf collectd "$typesdb_lines" "$lines"
    daemon_run
    daemon_answers
else
    skip "collectd" "collectd or its plugin is not installed"
fi

shows_value() { # host name instance type-instance value, with collectd's names
    case $1 in
    exporter) scrape "$tmp/exporter/page" ;;
    collectd) curl -sf "$page" >"$tmp/collectd/page" ;;
    esac && $python - "$1" "$tmp/$1/page" "${@:2}" <<-'END'
		import sys
		sys.path.insert(0, "tests/e2e")
		import gpu
		host, path, name, instance, type_, want = sys.argv[1:]
		page = gpu.page_of(host, path)
		# A PCI address contains the separator ":", so its name in
		# collectd ends in a hash.
		got = [v for k, v in page.items()
		       if k[:2] == (name, instance)
		       and k[2].split("--")[0] == type_]
		got = got[0] if len(got) == 1 else None
		print("#", name, instance, type_, got)
		if got is None:
		    print("#", [k for k in page if k[0] == name])
		sys.exit(got != gpu.Decimal(want))
	END
}
both() { # description name instance type-instance value
    local h
    for h in $hosts; do
        wait_for 60 shows_value "$h" "${@:2}"
        check "$h: $1" shows_value "$h" "${@:2}"
    done
}
cd "$top" || exit 1
a=f45b8f2f3c7d6a11 i=0000:29:00.0

# --- expected values ---------------------------------------------------------

both "AMD: the job owns the GPU" job_gpu_share_ppm 3001 $a:0 1000000
both "AMD: the job has its time on the engines" \
    job_gpu_engine_busy_usec_total 3001 $a:compute 5000000
both "AMD: the library's count of memory errors is shown" gpu_ecc_corrected_total $a 0 5
both "AMD: the library's count of link errors is shown" gpu_xgmi_corrected_total $a 0 2
both "Intel: the job owns the GPU" job_gpu_share_ppm 3002 $i:0 1000000
both "Intel: the job has its time on the engines" \
    job_gpu_engine_busy_usec_total 3002 $i:compute 2000000
both "Intel: the library's memory size is shown" gpu_memory_total_bytes $i 0 8589934592
both "Intel: the job has the used memory" job_gpu_memory_used_bytes 3002 $i:0 2147483648

for h in $hosts; do
    for j in "3001 $a" "3002 $i"; do
        # shellcheck disable=SC2086
        set -- $j
        shows_value "$h" job_gpu_energy_uj_total "$1" "$2:0" 0 >"$tmp/was"
        eval "was_${h}_$1=$(awk '{ print $5; exit }' "$tmp/was")"
    done
done
libraries 600
put "$intel/hwmon/hwmon1/energy1_input" 51000000
uses 1100 amdgpu 0000:c1:00.0 1 "drm-memory-vram:	1024 MiB" 7000000000
for h in $hosts; do
    v=was_${h}_3001
    wait_for 60 shows_value "$h" job_gpu_energy_uj_total 3001 "$a:0" $((${!v} + 100000000))
    check "$h: AMD: the job gets 100 J of the library's counter" shows_value "$h" \
        job_gpu_energy_uj_total 3001 "$a:0" $((${!v} + 100000000))
    v=was_${h}_3002
    wait_for 60 shows_value "$h" job_gpu_energy_uj_total 3002 "$i:0" $((${!v} + 50000000))
    check "$h: Intel: the job gets 50 J of the counter in hwmon" shows_value "$h" \
        job_gpu_energy_uj_total 3002 "$i:0" $((${!v} + 50000000))
done
rm -r "$tmp/proc/1100"
both "AMD: the job keeps the time of an ended process" \
    job_gpu_engine_busy_usec_total 3001 $a:compute 7000000
check "exporter: promtool finds no fault" promtool_clean "$tmp/exporter/page"
complete=1
