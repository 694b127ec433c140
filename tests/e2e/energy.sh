#!/bin/bash
# Attribution of energy by the exporter and collectd: jobs start and end in real
# cgroups; RAPL counters (a simulated sysfs) wrap every 30 s, and a command prints the
# node's power.  The energy of jobs, system and unallocated equals the energy that the
# meters counted, to the microjoule, also after restarts and kills.  TAP.
#
#   energy.sh [SECONDS]    the time for which jobs start and end [12]
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/collectd_lib.sh"
energy="$python $top/tests/e2e/energy.py"
seconds=${1:-12}
# In a short run all jobs stay on the page, which then contains all energy.  In a long
# run, collectd could not dispatch that many jobs in a second: ended jobs leave the
# page, and their energy is read from their final records.
grace=1d
[ "$seconds" -le 120 ] || grace=10s

cg_private=1 # no jobs of other tests here, and none of this test there
cg_init
[ $cg_version != none ] || skip_all "not root, or no cgroups to write to here"
[ -x "$work" ] || skip_all "no $work"

# --- the node ----------------------------------------------------------------

$energy node "$tmp/node" &
node=$!
on_exit "stop $node"
wait_for 60 test -s "$tmp/node/watts"
printf '#!/bin/sh\nexec cat %s\n' "$tmp/node/watts" >"$tmp/watts"
chmod 755 "$tmp/watts"

options() { # exporter or collectd
    printf '%s ' --path.cgroupfs="$cg_view" --path.sysfs="$tmp/node/sys" \
        --energy.interval=1 --energy.slow-interval=2 --job.grace=$grace \
        --energy.command="$tmp/watts" --energy.idle-watts=9000 \
        --energy.state-file="$tmp/$1/state" --record.dir="$tmp/$1/spool"
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
    daemon_conf energy "$typesdb_lines" "$lines"
    daemon_run
    daemon_answers
}

hosts="exporter"
mkdir -p "$tmp/exporter" "$tmp/collectd"
run_exporter
if [ -e "$O/batchjob.so" ] && command -v collectd >/dev/null &&
    plugins=$(collectd_plugins); then
    hosts="exporter collectd"
    run_collectd
else
    skip "collectd" "collectd or its plugin is not installed"
fi

# collectd's page changes line by line: two equal pages are complete.
page_of() { # host to
    case $1 in
    exporter) scrape "$2" ;;
    collectd)
        curl -sf "$page" >"$2.first" && sleep 0.1 && curl -sf "$page" >"$2" &&
            cmp -s "$2.first" "$2" ;;
    esac
}

# The counters stand still until both hosts have read them once.
zones() { # host: its page has the energy of zones
    page_of "$1" "$tmp/zones" && grep -q '^[a-z_]*batchjob_meter_zone_energy' "$tmp/zones"
}
for h in $hosts; do
    check "$h: the meters have been read" wait_for 60 zones "$h"
done
touch "$tmp/node/go"

# --- jobs --------------------------------------------------------------------

job=1000
spin() { # seconds [percent of idle time]: start one more job of a random user
    local uid=$((RANDOM % 3 * 1000))
    job=$((job + 1))
    cg_job $uid $job && cg_prefix="nice -n 19" cg_run $uid $job "$work" -m $((RANDOM % 40 + 1)) \
        -n $((RANDOM % 3 + 1)) -i ${2:-$((90 + RANDOM % 10))} -t "$1"
    live="$live $uid:$job:$((SECONDS + $1))"
}

reap() { # remove jobs whose time is over, with "all" all jobs
    local j left=
    for j in $live; do
        if [ "${1:-}" = all ] || [ "${j##*:}" -lt $SECONDS ]; then
            j=${j%:*}
            cg_kill "${j%:*}" "${j#*:}"
        else
            left="$left $j"
        fi
    done
    live=$left
}

live=
churn() { # seconds
    local end=$((SECONDS + $1))
    while [ $SECONDS -lt $end ]; do
        [ "$(wc -w <<<"$live")" -ge 12 ] || spin $((RANDOM % 6 + 1))
        reap
        sleep 0.$((RANDOM % 9 + 1))
    done
}

adds_up() { # host [spool]
    page_of "$1" "$tmp/sum.page" && $energy check-sum "$tmp/sum.page" ${2:+"$2"}
}

# The records of jobs that have just ended may be newer than the page: repeat until
# the sums are equal.  Prints the last sums.
adds_up_soon() {
    local rc=0
    wait_for 60 eval "adds_up $* >$tmp/sum.out" || rc=1
    cat "$tmp/sum.out"
    return $rc
}

churn "$seconds"
scrape
check "promtool finds no fault" promtool_clean "$tmp/page"
# Before the command has printed a value, another meter is used.
shows_preferred() {
    scrape && [ "$($prom labels "$tmp/page" batchjob_node_energy_info)" = \
        '{"policy": "hybrid", "quality": "node", "source": "command", "static": "configured"}' ]
}
check "the page shows the preferred meter and the policy" wait_for 60 shows_preferred
if [ $grace = 1d ]; then
    check "exporter: jobs, system and unallocated add up to the meters" \
        adds_up exporter
    note "$(cat "$tmp/check.out")"
else
    for h in $hosts; do
        check "$h: jobs, system and unallocated add up to the meters" \
            adds_up_soon "$h" "$tmp/$h/spool"
        note "$(cat "$tmp/check.out")"
    done
fi

# A job that starts and ends within one window of the node's meter.
spin 60 50
short=$job
used() { # job: the page shows at least 0.1 s of its CPU time
    scrape && value batchjob_job_cpu_seconds_total jobid="$1" | grep -qE '^(0\.)?[1-9]'
}
check "a short job uses CPU time" wait_for 60 used $short
reap all
check "a job that starts and ends within one window gets energy" wait_for 60 eval \
    "grep -qs '\"cpu\":[1-9]' $tmp/exporter/spool/*.$short.*.json"

# --- restarts ----------------------------------------------------------------

restart() { # kill|stop description [command]: restart the exporter; the command runs in between
    scrape "$tmp/before"
    if [ "$1" = kill ]; then
        kill -KILL $exporter
        wait $exporter 2>/dev/null
    else
        stop "$exporter"
    fi
    ${3:-}
    sleep 1 # the node uses energy meanwhile
    run_exporter
    # Right after the start the page may have no energy yet.
    wait_for 60 shows batchjob_job_energy_joules_total
    check "$2: no counter has fallen" $energy check-decreases "$tmp/before" "$tmp/page"
    note "$(cat "$tmp/check.out")"
}

spin 300
spin 300
spin 300 50
ended=$job
end_it() {
    local last=${live##* }
    cg_kill "${last%%:*}" $ended
}
check "a new job has energy" wait_for 60 shows batchjob_job_energy_joules_total jobid=$ended
restart stop "a restart" end_it
churn 4
restart kill "kill -9"
sleep 1
restart kill "kill -9 again"
check "a job that ended while the exporter was down has a final record" wait_for 60 eval \
    "scrape; grep -qs '\"jobid\":\"$ended\"' $tmp/exporter/spool/*.json"

# --- to the microjoule -------------------------------------------------------

touch "$tmp/node/stop" # the counters no longer change
wait $node
reap all
for h in $hosts; do
    check "$h: after the end of all jobs the energy adds up" adds_up_soon "$h" "$tmp/$h/spool"
    note "$(cat "$tmp/check.out")"
done
all_energy() { # the page has all energy that RAPL counted since the first sample
    local zones
    scrape
    zones=$(value batchjob_meter_zone_energy_joules_total meter=rapl |
        awk '{ split($1, p, "."); s += p[1] * 1000000 + substr(p[2] "000000", 1, 6) }
            END { printf "%.0f", s }')
    echo "zones $zones uJ, the node used $(awk '{ s += $2 } END { printf "%.0f", s }' \
        "$tmp/node/truth") uJ since before"
    # Each wrap loses a unit.
    awk -v shown="$zones" '{ s += $2 } END { exit !(shown > s - 1000 && shown <= s) }' \
        "$tmp/node/truth"
}
wait_for 60 all_energy
check "wraps and restarts lose no energy" all_energy
note "$(cat "$tmp/check.out")"
is "no wrap counts as a reset" \
    "$(value batchjob_meter_zone_resets_total meter=rapl | sort -u)" 0

# Jobs that ended while the exporter was down, short jobs, jobs over restarts.
for h in $hosts; do
    run_tap "$top/tests/e2e/records_stored.py" "$h" "$tmp/$h/spool"
done

# --- faults of the state file ------------------------------------------------

stop "$exporter"
sed -i '5s/./x/' "$tmp/exporter/state"
run_exporter
check "a damaged state file is renamed to state.bad" test -s "$tmp/exporter/state.bad"
check "the log reports the damaged state file" grep -q 'energy: .*state.*\.bad' "$tmp/exporter.log"
start_exporter --path.sysfs="$tmp/node/sys" --energy.interval=1 \
    --energy.state-file="$tmp/exporter/state"
check "two exporters do not share a state file" wait_for 60 \
    grep -q 'another process has locked' "$tmp/exporter.log"

# --- a full spool ------------------------------------------------------------

start_exporter --path.cgroupfs="$cg_view" --path.sysfs="$tmp/none" \
    --energy.interval=1 --energy.state-file= --record.dir="$tmp/full" \
    --record.max-bytes=4K
spin 1
spin 1
check "records lost because of a full spool are counted" wait_for 60 eval \
    'reap; shows batchjob_sampler_records_lost_total && [ "$(value batchjob_sampler_records_lost_total)" = 1 ]'
is "a full spool keeps its records" "$(find "$tmp/full" -name '*.json' | wc -l)" 1
reap all
complete=1
