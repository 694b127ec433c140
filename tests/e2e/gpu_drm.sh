#!/bin/bash
# GPUs of AMD and Intel, and jobs recognized by the open files of their processes: the
# exporter and collectd show the same values, also those of the vendors' libraries.
# False readings of each source of energy are charged to nobody, and nothing real is
# lost.  All of it is simulated: libraries, sysfs, procfs, cgroups.  TAP.
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
# One of AMD that reports only power, and one of Intel with energy in the library.
amd2=$tmp/sys/devices/0000:c2:00.0 intel2=$tmp/sys/devices/0000:2a:00.0
put "$amd2/vendor" 0x1002
put "$amd2/unique_id" a2
put "$amd2/mem_info_vram_total" 68702699520
put "$amd2/hwmon/hwmon2/power1_average" 200000000
put "$amd2/hwmon/hwmon2/power1_cap" 300000000
put "$intel2/vendor" 0x8086
for n in 2:$intel2 3:$amd2; do
    mkdir -p "$tmp/sys/class/drm/card${n%%:*}"
    ln -s "../../../devices/${n##*/}" "$tmp/sys/class/drm/card${n%%:*}/device"
done
mkdir -p "$tmp/sys/class/drm/card0" "$tmp/sys/class/drm/card1" \
    "$tmp/sys/class/kfd/kfd/proc"
ln -s "../../../devices/${intel##*/}" "$tmp/sys/class/drm/card0/device"
ln -s "../../../devices/${amd##*/}" "$tmp/sys/class/drm/card1/device"

libraries() { # joules of AMD's GPU, of Intel's second GPU; PCIe replays
    stamp=$((stamp + 1000000))
    put "$tmp/rocm" "gpu 0 pci 0 0xc1 0 0" "gpu 0 energy $1 1000000" \
        "ecc 0 1 5 1" "ecc 0 128 2 0" "gpu 0 replays ${3:-3}"
    put "$tmp/ze" "gpu 0 pci 0 0x29 0 0" "memory 0 0 1 6442450944 8589934592" \
        "sensor 0 0 1 42.5" "sensor 0 1 2 61" \
        "gpu 1 pci 0 0x2a 0 0" "power 1 card 0 ${2:-7000}000000 $stamp"
}
stamp=0
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
job 3003 1300
job 3004 1400
uses 1300 amdgpu 0000:c2:00.0 1 "drm-memory-vram:	1024 MiB" 1000000000
uses 1400 i915 0000:2a:00.0 1 "drm-resident-local0:	512 MiB" 1000000000
uses 1100 amdgpu 0000:c1:00.0 1 "drm-memory-vram:	1024 MiB" 5000000000
uses 1200 i915 0000:29:00.0 1 "drm-resident-local0:	512 MiB" 2000000000

# --- hosts -------------------------------------------------------------------

options() { # host
    printf '%s ' --path.cgroupfs="$tmp/cg" --path.sysfs="$tmp/sys" \
        --path.procfs="$tmp/proc" --collector.node=false --job.file-dir= \
        --gpu.rocm="$(realpath "$rocm")" \
        --gpu.level-zero="$(realpath "$ze")" --gpu.interval=1 \
        --energy.interval=1 --energy.slow-interval=1 \
        --energy.state-file="$tmp/$1/state" --record.dir="$tmp/$1/spool"
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

# --- false readings -----------------------------------------------------------

# Joules of the counters of a (AMD's library), i (i915's monitor) and l (Level Zero).
l=0000:2a:00.0
joules() { # a i l [PCIe replays]
    put "$intel/hwmon/hwmon1/energy1_input" "$2"000000
    libraries "$1" "$3" "${4:-3}"
}
energy_of() { # host job: microjoules of its GPU, and of the ledger's GPU part
    case $1 in
    exporter) scrape "$tmp/exporter/page" ;;
    collectd) curl -sf "$page" >"$tmp/collectd/page" ;;
    esac && $python - "$1" "$tmp/$1/page" "$2" <<-'END'
		import sys
		sys.path.insert(0, "tests/e2e")
		import gpu
		host, path, job = sys.argv[1:]
		page = gpu.page_of(host, path)
		own = [v for k, v in page.items() if k[:2] == ("job_gpu_energy_uj_total", job)]
		ledger = page.get(("job_energy_uj_total", job, "gpu"))
		print(*own, ledger)
	END
}
declare -A base
for h in $hosts; do
    for j in 3001 3002 3004; do
        ledger_agrees() { read -r own ledger < <(energy_of "$h" $j) && [ "$ledger" != None ]; }
        wait_for 60 ledger_agrees
        base[$h.$j]="$own $ledger"
    done
done
more() { # host job joules: both grew by that
    read -r own ledger < <(energy_of "$1" "$2") || return
    read -r own0 ledger0 <<<"${base[$1.$2]}"
    echo "# $1 $2: $own $ledger, before $own0 $ledger0"
    [ $((own - own0)) = "$3"000000 ] && [ $((ledger - ledger0)) = "$3"000000 ]
}
each() { # description joules: of the job of each counter, on both hosts
    local h j
    for h in $hosts; do
        for j in 3001 3002 3004; do
            wait_for 60 more "$h" $j "$2"
            check "$h: job $j: $1" more "$h" $j "$2"
        done
    done
}
no_more() { # description joules: the false readings add nothing
    local h j
    for h in $hosts; do
        for j in 3001 3002 3004; do
            check "$h: job $j: $1" more "$h" $j "$2"
        done
    done
}
faults() { # a i l: errors of these GPUs, after which the false reading was seen
    both "AMD: a false reading is counted" gpu_errors_total $a 0 "$1"
    both "Intel: a false reading is counted" gpu_errors_total $i 0 "$2"
    both "Level Zero: a false reading is counted" gpu_errors_total $l 1 "$3"
}
joules 700 151 7100
each "100 J" 100
joules 0 0 0 4 # AMD's library: not known
both "AMD: the reading of 0 was seen" gpu_pcie_replays_total $a 0 4
faults 0 1 1
no_more "a reading of 0 adds nothing" 100
joules 800 251 7200
each "nothing is lost by a reading of 0" 200
joules 9000000 9000000 9000000
faults 1 2 2
no_more "a reading far too high adds nothing" 200
joules 900 351 7300
each "nothing is lost by a reading far too high" 300
joules 5 5 5 # the driver starts again
faults 2 3 3
no_more "a counter that fell adds nothing" 300
joules 105 105 105
each "it was reset, and continues" 400
for h in $hosts; do
    for g in "$a 0" "$i 0" "$l 1"; do
        # shellcheck disable=SC2086
        check "$h: the reset of ${g% *} is counted" shows_value "$h" gpu_energy_resets_total $g 1
    done
done

# Power alone: 200 W, one of 0 W and one far too high.
watts() { put "$amd2/hwmon/hwmon2/power1_average" "$1"; }
no_power() { ! shows_value "$1" gpu_power_uw a2 1 200000000; }
spent() { # host: the microjoules of job 3003 so far, and the time
    read -r own ledger < <(energy_of "$1" 3003) && echo "$own $(date +%s%N)"
}
declare -A spent0
for h in $hosts; do spent0[$h]=$(spent "$h"); done
watts 0
for h in $hosts; do wait_for 60 no_power "$h"; check "$h: 0 W is not shown" no_power "$h"; done
watts 200000000
both "its power is shown again" gpu_power_uw a2 1 200000000
watts 65535000000
for h in $hosts; do wait_for 60 no_power "$h"; check "$h: 65535 W is not shown" no_power "$h"; done
watts 200000000
both "its power is shown once more" gpu_power_uw a2 1 200000000
doubted() { shows_value "$1" gpu_errors_total a2 1 0 >/dev/null; [ $? = 1 ]; }
for h in $hosts; do
    wait_for 60 doubted "$h"
    check "$h: the false power is counted" doubted "$h"
done
draws() { # host: 200 W, to two readings of a second at each end, less what gaps leave out
    read -r own0 then <<<"${spent0[$1]}"
    read -r own now < <(spent "$1")
    local ms=$(((now - then) / 1000000)) uj=$((${own%.*} - ${own0%.*}))
    echo "# $1: $uj uJ in $ms ms"
    [ $uj -le $(((ms + 4000) * 200000)) ] && [ $uj -ge $(((ms - 4000) * 100000)) ]
}
for h in $hosts; do
    check "$h: the job of power alone has 200 W all the time" wait_for 60 draws "$h"
done
once() { # file GPU
    [ "$(grep -c "GPU $2: .*not possible" "$1")" = 1 ]
}
for g in $a $i $l a2; do
    check "exporter: the first false reading of $g is logged, once" once "$tmp/exporter.log" $g
    [ "$hosts" = exporter ] ||
        check "collectd: the first false reading of $g is logged, once" once "$dir/log" $g
done

# While nothing runs, the counters do.
stop "$exporter"
[ "$hosts" = exporter ] || stop "$daemon"
joules 605 605 605
# shellcheck disable=SC2046
start_exporter $(options exporter)
[ "$hosts" = exporter ] || { daemon_run && daemon_answers; }
each "500 J of the time without exporter" 900

rm -r "$tmp/proc/1100"
both "AMD: the job keeps the time of an ended process" \
    job_gpu_engine_busy_usec_total 3001 $a:compute 7000000

# Final records have the same.
for j in 3001:1100 3002:1200 3004:1400; do
    rm -rf "$tmp/proc/${j#*:}" "$tmp/cg/system.slice/slurmstepd.scope/job_${j%:*}"
done
recorded() { # host job: the record has what the page had, within a reading
    $python - "$tmp/$1/spool" "$2" "${base[$1.$2]}" <<-'END'
		import glob, json, sys
		spool, job, base = sys.argv[1:]
		own, ledger = (int(n) for n in base.split())
		paths = glob.glob(f"{spool}/*.{job}.*.json")
		if len(paths) != 1:
		    sys.exit(f"# {paths}")
		record = json.load(open(paths[0]))
		got = [g["energy_uj"] for g in record["gpus"].values()], record["energy_uj"]["hybrid"]["gpu"]
		print("#", job, got, own, ledger)
		sys.exit(got != ([own + 900000000], ledger + 900000000))
	END
}
for h in $hosts; do
    for j in 3001 3002 3004; do
        wait_for 60 recorded "$h" $j
        check "$h: the final record of job $j has the right energy" recorded "$h" $j
    done
done
check "exporter: promtool finds no fault" promtool_clean "$tmp/exporter/page"
complete=1
