#!/bin/bash
# False readings of power meters: 0, far too high, a counter that fell, and counters that run
# on while no exporter does.  The exporter and collectd charge them to nobody, lose nothing
# that is real, log them once and count them.  Simulated: sysfs, a BMC with Redfish, a
# command, cgroups.  TAP.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/collectd_lib.sh"

put() { # file line...: replace the file atomically
    mkdir -p "${1%/*}"
    printf '%s\n' "${@:2}" >"$1.new" && mv "$1.new" "$1"
}

# --- the node ----------------------------------------------------------------

rapl=$tmp/sys/devices/virtual/powercap/intel-rapl/intel-rapl:0
put "$rapl/name" package-0
put "$rapl/enabled" 1
put "$rapl/max_energy_range_uj" 262143328850
mkdir -p "$tmp/sys/class/powercap" "$tmp/sys/class/hwmon"
ln -s "$tmp/sys/devices/virtual/powercap/intel-rapl" "$tmp/sys/class/powercap/intel-rapl"
ln -s "$rapl" "$tmp/sys/class/powercap/intel-rapl:0"
chip=$tmp/sys/class/hwmon/hwmon0
put "$chip/name" ltc2947
put "$tmp/cg/cgroup.controllers" "cpu memory"
at=system.slice/slurmstepd.scope/job_17
put "$tmp/cg/cpu.stat" "usage_usec 10000000"
put "$tmp/cg/$at/cpu.stat" "usage_usec 10000000" "user_usec 3" "system_usec 2"
# The job uses CPU time all the time, in files that stay open, and the node no other.
works() {
    $python -c '
import os, sys, time
usec = 10000000
while not os.path.exists(sys.argv[1]):
    usec += 10000
    for name in sys.argv[2:]:
        try:
            f = os.open(name, os.O_WRONLY)
        except FileNotFoundError:
            continue
        os.write(f, b"usage_usec %d" % usec)
        os.close(f)
    time.sleep(0.02)' "$tmp/stop" "$tmp/cg/$at/cpu.stat" "$tmp/cg/cpu.stat"
}
put "$tmp/cg/$at/memory.current" 4096
put "$tmp/cg/$at/cgroup.procs" 1

joules() { # of RAPL, of the chip, of the BMC; watts of the BMC
    put "$rapl/energy_uj" "$1"000000
    put "$chip/energy1_input" "$2"000000
    put "$tmp/bmc" "$4 $3"
}
joules 5000 5000 5000 400
bmc=$(free_port)
$python "$top/tests/e2e/energy.py" redfish "$bmc" "$tmp/bmc" &
on_exit "stop $!"
wait_for 60 curl -sf "http://127.0.0.1:$bmc/redfish/v1/Chassis"
put "$tmp/password" secret
chmod 600 "$tmp/password"

# What the command prints once, then 400 W.
command_of() { # host
    put "$tmp/$1/watts" '#!/bin/sh' \
        "if mv $tmp/$1/once $tmp/$1/used 2>/dev/null; then cat $tmp/$1/used; else echo 400; fi"
    chmod 755 "$tmp/$1/watts"
}
false_watts() { for h in $hosts; do put "$tmp/$h/once" "$1"; done; }

# --- hosts -------------------------------------------------------------------

options() { # host
    printf '%s ' --path.cgroupfs="$tmp/cg" --path.sysfs="$tmp/sys" --collector.node=false \
        --collector.gpu=false --job.file-dir= --energy.interval=1 --energy.slow-interval=1 \
        --energy.redfish-url="http://127.0.0.1:$bmc" --energy.redfish-user=u \
        --energy.redfish-password-file="$tmp/password" \
        --energy.command="$tmp/$1/watts" --energy.meter="$meters" \
        --energy.state-file="$tmp/$1/$run.state" --record.dir="$tmp/$1/$run.spool"
}
hosts=exporter
if [ -e "$O/batchjob.so" ] && command -v collectd >/dev/null &&
    plugins=$(collectd_plugins); then
    hosts="exporter collectd"
else
    skip "collectd" "collectd or its plugin is not installed"
fi
for h in $hosts; do command_of "$h"; done

start_hosts() {
    local o lines
    # shellcheck disable=SC2046
    start_exporter $(options exporter)
    [ "$hosts" != exporter ] || return 0
    lines=
    for o in $(options collectd); do
        o=${o#--}
        for v in $(tr , ' ' <<<"${o#*=}"); do
            lines="$lines
$(tr -d '.-' <<<"${o%%=*}") \"$v\""
        done
        [ -n "${o#*=}" ] || lines="$lines
$(tr -d '.-' <<<"${o%%=*}") \"\""
    done
    daemon_conf "collectd" "$typesdb_lines" "$lines"
    daemon_run
    daemon_answers
}
stop_hosts() {
    stop "$exporter"
    [ "$hosts" = exporter ] || stop "$daemon"
}

get() { # host name instance [type-instance]: a value by its name in collectd
    case $1 in
    exporter) scrape "$tmp/exporter/page" ;;
    collectd) curl -sf "$page" >"$tmp/collectd/page" ;;
    esac && (cd "$top" && $python - "$1" "$tmp/$1/page" "${@:2}" <<-'END'
		import sys
		sys.path.insert(0, "tests/e2e")
		import gpu
		host, path, name, *key = sys.argv[1:]
		page = gpu.page_of(host, path)
		got = [v for k, v in page.items() if k[0] == name and [x for x in k[1:] if x] == key]
		if len(got) != 1:
		    sys.exit(f"# {name} {key}: {[k for k in page if k[0] == name]}")
		print(got[0])
	END
    )
}
is_now() { # host value name...
    local got
    got=$(get "$1" "${@:3}") && echo "# ${*:3}: $got, want $2" && [ "$got" = "$2" ]
}
both() { # description value name...
    local h
    for h in $hosts; do
        wait_for 60 is_now "$h" "${@:2}"
        check "$h: $1" is_now "$h" "${@:2}"
    done
}

# --- counters and levels -------------------------------------------------------

run=zones meters=command,redfish,hwmon,rapl
start_hosts
hwmon_zone() {
    scrape && $prom labels "$tmp/page" batchjob_meter_zone_energy_joules_total |
        sed -n 's/.*"meter": "hwmon", "zone": "\([^"]*\)".*/\1/p' | grep .
}
wait_for 60 hwmon_zone
zones="rapl:package-0 redfish:node hwmon:$(hwmon_zone)"
all() { # description joules: the totals of all counters
    local z
    for z in $zones; do
        both "${z%%:*}: $1" $(($2 * 1000000)) meter_zone_energy_uj_total "${z%%:*}" "${z#*:}"
    done
}
still() { # description joules
    local z h
    for z in $zones; do
        for h in $hosts; do
            check "$h: ${z%%:*}: $1" is_now "$h" "$2"000000 meter_zone_energy_uj_total \
                "${z%%:*}" "${z#*:}"
        done
    done
}
faults() { # rapl hwmon redfish: false readings so far
    both "rapl: a false reading is counted" "$1" meter_errors_total rapl implausible
    both "hwmon: a false reading is counted" "$2" meter_errors_total hwmon implausible
    both "redfish: a false reading is counted" "$3" meter_errors_total redfish implausible
}
bmc_shows() { both "the BMC was read" "$1"000000 meter_zone_power_uw redfish node; }
all "nothing was used yet" 0
declare -A spent0
had=()
spent() { echo "$(get "$1" meter_zone_energy_uj_total "$2" node) $(date +%s%N)"; }
for h in $hosts; do
    wait_for 60 get "$h" meter_zone_energy_uj_total command node
    spent0[$h]=$(spent "$h" command)
done
joules 5100 5100 5100 400
all "100 J" 100
joules 0 0 0 401 # the BMC: not known
bmc_shows 401
faults 1 1 0
still "a reading of 0 adds nothing" 100
joules 5200 5200 5200 402
all "nothing is lost by a reading of 0" 200
joules 205200 9000000 9000000 403
bmc_shows 403
faults 2 2 1
still "a reading far too high adds nothing" 200
joules 5300 5300 5300 404
all "nothing is lost by a reading far too high" 300
joules 5 5 5 405 # reset
bmc_shows 405
faults 3 3 2
still "a counter that fell adds nothing" 300
joules 105 105 105 406
all "it was reset, and continues" 400
for z in $zones; do
    both "${z%%:*}: the reset is counted" 1 meter_zone_resets_total "${z%%:*}" "${z#*:}"
done

false_watts 0
both "command: 0 W is counted" 1 meter_errors_total command implausible
false_watts 20000
both "command: 20 kW is counted" 2 meter_errors_total command implausible
draws() { # host meter: 400 W all the time, to two readings of a second at each end.  A machine
    # with much other work leaves gaps, in which nothing is added.
    local now own then own0 gaps
    gaps=$(get "$1" meter_zone_gaps_total "$2" node)
    read -r own0 then <<<"${spent0[$1]}"
    read -r own now < <(spent "$1" "$2")
    local ms=$(((now - then) / 1000000)) uj=$((${own%.*} - ${own0%.*}))
    echo "# $1: $uj uJ in $ms ms"
    [ $uj -le $(((ms + 4000) * 400000)) ] && { [ "$gaps" != 0 ] || [ $uj -ge $(((ms - 4000) * 400000)) ]; }
}
for h in $hosts; do
    check "$h: the command's power is 400 W all the time" draws "$h" command
done
log_of() { case $1 in exporter) echo "$tmp/exporter.log" ;; *) echo "$dir/log" ;; esac }
once() { # file meter zone
    [ "$(grep -c "power meter $2: zone $3: .*not possible" "$1")" = 1 ]
}
for h in $hosts; do
    for z in $zones command:node; do
        check "$h: the first false reading of ${z%%:*} is logged, once" \
            once "$(log_of "$h")" "${z%%:*}" "${z#*:}"
    done
done
stop_hosts
rm -f "$tmp/exporter.log"

# --- the job, and a time without exporter -----------------------------------------

works &
on_exit "touch $tmp/stop; wait $!"
run=job meters=redfish,rapl
joules 5000 5000 50000 400
start_hosts
all_energy() { # host: microjoules of the job's parts
    local part name=job_energy_uj_total
    for part in cpu other; do
        get "$1" $name 17 $part || echo 0
    done
}
# Two meters are never read at one moment: what the processor used may be in the rest,
# too, until both have moved on.  The files with CPU time are not written at one moment
# either, so that the system has a little.
job_has() { # host cpu node: joules
    local cpu other
    read -r cpu other < <(all_energy "$1" | paste -sd ' ')
    echo "# $1: processor $cpu, rest $other; want $2 of $3 J"
    cpu=${cpu%.*} other=${other%.*}
    [ "$cpu" -le "${2}000000" ] && [ "$cpu" -ge "$((${2} * 8 / 10))000000" ] &&
        [ "$other" -le "${3}000000" ] && [ "$other" -ge "$((($3 - $2) * 8 / 10))000000" ]
}
ours() { # description cpu node
    local h
    for h in $hosts; do
        wait_for 60 job_has "$h" "$2" "$3"
        check "$h: $1" job_has "$h" "$2" "$3"
    done
}
both "the BMC is read" 0 meter_zone_energy_uj_total redfish node
both "RAPL is read" 0 meter_zone_energy_uj_total rapl package-0
joules 5400 5000 51000 401
ours "400 J of the processor, of 1000 J" 400 1000
joules 5400 5000 9000000 402
bmc_shows 402
both "the BMC's false reading is counted" 1 meter_errors_total redfish implausible
ours "a false reading of the BMC adds nothing" 400 1000
joules 5800 5000 52000 403
ours "and hides nothing" 800 2000
joules 0 5000 52000 403
both "RAPL's false reading is counted" 1 meter_errors_total rapl implausible
joules 6200 5000 53000 404
ours "a false reading of the processor hides nothing" 1200 3000
stop_hosts
joules 7100 5000 58000 405
start_hosts
after() { # host: the job has its part of 5000 J, or the node missed them
    local cpu other missed
    cpu=$(get "$1" job_energy_uj_total 17 cpu) && other=$(get "$1" job_energy_uj_total 17 other) ||
        return
    missed=$(get "$1" node_energy_missed_uj_total other) || missed=0
    echo "# $1: $cpu $other, missed $missed"
    cpu=${cpu%.*} missed=${missed%.*}
    local node=$((${other%.*} + missed))
    [ "$cpu" -le 2100000000 ] && [ "$cpu" -ge 1680000000 ] &&
        [ $node -le 8000000000 ] && [ $node -ge 4000000000 ] &&
        { [ "$missed" = 0 ] || [ "$missed" = 5000000000 ]; }
}
for h in $hosts; do
    wait_for 60 after "$h"
    check "$h: the energy of the time without exporter is attributed or missed" after "$h"
    note "$(cat "$tmp/check.out")"
    had+=("$h $(get "$h" job_energy_uj_total 17 cpu) $(get "$h" job_energy_uj_total 17 other)")
done
rm -r "$tmp/cg/$at"
recorded() { # host cpu other: the final record has that, or the last window more
    $python - "$tmp/$1/job.spool" "$2" "$3" <<-'END'
		import glob, json, sys
		spool, cpu, other = sys.argv[1:]
		paths = glob.glob(f"{spool}/*.17.*.json")
		if len(paths) != 1:
		    sys.exit(f"# {paths}")
		got = json.load(open(paths[0]))["energy_uj"]["hybrid"]
		print("#", got, cpu, other)
		sys.exit(got["cpu"] < float(cpu) or got["cpu"] > 2100e6 or got["other"] < float(other)
		         or got["other"] > 8000e6)
	END
}
for v in "${had[@]}"; do
    # shellcheck disable=SC2086
    wait_for 60 recorded $v
    # shellcheck disable=SC2086
    check "${v%% *}: the final record has the same energy" recorded $v
done

# --- IPMI ------------------------------------------------------------------------

# The power by DCMI of a BMC behind the device of the kernel; the exporter alone, since
# collectd would preload the simulated device for its other threads, too.
hosts=exporter run=ipmi meters=ipmi_dcmi
put "$tmp/ipmi0" 400
put "$tmp/cg/$at/cpu.stat" "usage_usec 10000000" "user_usec 3" "system_usec 2"
put "$tmp/cg/$at/memory.current" 4096
put "$tmp/cg/$at/cgroup.procs" 1
# shellcheck disable=SC2046
LD_PRELOAD=$O/e2e/dcmi.so start_exporter $(options exporter) --energy.ipmi-device="$tmp/ipmi0"
wait_for 60 get exporter meter_zone_energy_uj_total ipmi_dcmi node
spent0[exporter]=$(spent exporter ipmi_dcmi)
put "$tmp/ipmi0.once" 20000 # possible for IPMI, not for this node
both "IPMI: 20 kW is counted" 1 meter_errors_total ipmi_dcmi implausible
put "$tmp/ipmi0.once" 0
both "IPMI: 0 W is counted" 2 meter_errors_total ipmi_dcmi implausible
put "$tmp/ipmi0.once" 65535
both "IPMI: 65535 W is counted" 3 meter_errors_total ipmi_dcmi implausible
check "IPMI: the power is 400 W all the time" draws exporter ipmi_dcmi
check "IPMI: the first false reading is logged, once" once "$(log_of exporter)" ipmi_dcmi node
job_draws() { # the job's energy since its begin is that of 400 W at most
    local got own0 then now
    got=$(get exporter job_energy_uj_total 17 other) || return
    now=$(date +%s%N)
    read -r own0 then <<<"${spent0[exporter]}"
    echo "# $got uJ in $(((now - then) / 1000000)) ms, $own0 uJ before"
    [ "${got%.*}" -gt 0 ] &&
        [ "${got%.*}" -le $((${own0%.*} + (now - then) / 1000000 * 400000 + 1600000000)) ]
}
wait_for 60 job_draws
check "IPMI: no false reading is charged to the job" job_draws
complete=1
