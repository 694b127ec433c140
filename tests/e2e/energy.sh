#!/bin/bash
# Energy on real jobs: a node whose RAPL counters (a made sysfs) wrap every half a
# minute and whose power a command prints, jobs that come and go in real cgroups,
# both hosts at once.  What the jobs, the system and unallocated are given adds up
# to the meters, to the microjoule, over restarts and kills too.  TAP.
#
#   energy.sh [SECONDS]    jobs start and end for that long [12]
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/collectd_lib.sh"
energy="$python $top/tests/e2e/energy.py"
seconds=${1:-12}
# In a short run all jobs stay on the page, where they add up by themselves; in a
# long one there would be more of them than collectd can dispatch in a second,
# and those that have ended are taken from their records.
grace=1d
[ "$seconds" -le 120 ] || grace=10s

cg_private=1 # nobody else's jobs are in our way, nor ours in theirs
cg_init
[ $cg_version != none ] || skip_all "not root, or no cgroups to write to here"
[ -x "$work" ] || skip_all "no $work"

# --- the node ----------------------------------------------------------------

$energy node "$tmp/node" &
node=$!
later "stop $node"
wait_for 60 test -s "$tmp/node/watts"
printf '#!/bin/sh\nexec cat %s\n' "$tmp/node/watts" >"$tmp/watts"
chmod 755 "$tmp/watts"

options() { # state and spool
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
    daemon_conf energy "$our_types" "$lines"
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

# collectd's page changes line by line: it is whole when it stands still.
page_of() { # host to
    case $1 in
    exporter) scrape "$2" ;;
    collectd)
        curl -sf "$page" >"$2.first" && sleep 0.1 && curl -sf "$page" >"$2" &&
            cmp -s "$2.first" "$2" ;;
    esac
}

# From here on both hosts see all that is used.
zones() { # host: they have been read
    page_of "$1" "$tmp/zones" && grep -q '^[a-z_]*batchjob_meter_zone_energy' "$tmp/zones"
}
for h in $hosts; do
    check "$h: the meters have been read" wait_for 60 zones "$h"
done
touch "$tmp/node/go"

# --- jobs --------------------------------------------------------------------

job=1000
spin() { # seconds [percent of idle time]: start one more job, of any user
    local uid=$((RANDOM % 3 * 1000))
    job=$((job + 1))
    cg_job $uid $job && cg_by="nice -n 19" cg_run $uid $job "$work" -m $((RANDOM % 40 + 1)) \
        -n $((RANDOM % 3 + 1)) -i ${2:-$((90 + RANDOM % 10))} -t "$1"
    live="$live $uid:$job:$((SECONDS + $1))"
}

reap() { # jobs that are over, and with "all" the others too
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
    page_of "$1" "$tmp/sum.page" && $energy sum "$tmp/sum.page" ${2:+"$2"}
}

# The records of jobs that have just ended may be newer than the page: at some
# moment it must add up.  What the last sum said is printed.
adds_up_soon() {
    local rc=0
    wait_for 60 eval "adds_up $* >$tmp/sum.out" || rc=1
    cat "$tmp/sum.out"
    return $rc
}

churn "$seconds"
scrape
check "promtool has nothing to say" promtool_clean "$tmp/page"
# While the command is late, another meter serves.
preferred() {
    scrape && [ "$($prom labels "$tmp/page" batchjob_node_energy_info)" = \
        '{"policy": "hybrid", "quality": "node", "source": "command", "static": "configured"}' ]
}
check "the page shows the preferred meter and the policy" wait_for 60 preferred
if [ $grace = 1d ]; then
    check "exporter: jobs, system and unallocated are what was metered" \
        adds_up exporter
    note "$(cat "$tmp/check.out")"
else
    for h in $hosts; do
        check "$h: jobs, system and unallocated are what was metered" \
            adds_up_soon "$h" "$tmp/$h/spool"
        note "$(cat "$tmp/check.out")"
    done
fi

# A job that lives inside one window of the node's meter.
spin 60 50
short=$job
used() { # job: the page shows at least 0.1 s of its CPU time
    scrape && value batchjob_job_cpu_seconds_total jobid="$1" | grep -qE '^(0\.)?[1-9]'
}
check "a job of some seconds uses CPU time" wait_for 60 used $short
reap all
check "a job inside one window gets its share" wait_for 60 eval \
    "grep -qs '\"cpu\":[1-9]' $tmp/exporter/spool/*.$short.*.json"

# --- restarts ----------------------------------------------------------------

again() { # how: kill or stop; description [command to run meanwhile]
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
    # Right after the start there may be nothing to show yet.
    wait_for 60 shows batchjob_job_energy_joules_total
    check "$2: no counter has fallen" $energy falls "$tmp/before" "$tmp/page"
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
again stop "a restart" end_it
churn 4
again kill "kill -9"
sleep 1
again kill "kill -9 again"
check "a job that ended while the exporter was down has a final record" wait_for 60 eval \
    "scrape; grep -qs '\"jobid\":\"$ended\"' $tmp/exporter/spool/*.json"

# --- to the microjoule -------------------------------------------------------

touch "$tmp/node/stop" # the meters stand still
wait $node
reap all
for h in $hosts; do
    check "$h: in the end all adds up" adds_up_soon "$h" "$tmp/$h/spool"
    note "$(cat "$tmp/check.out")"
done
whole() { # all that RAPL has counted since the first sample is shown
    local zones
    scrape
    zones=$(value batchjob_meter_zone_energy_joules_total meter=rapl |
        awk '{ split($1, p, "."); s += p[1] * 1000000 + substr(p[2] "000000", 1, 6) }
            END { printf "%.0f", s }')
    echo "zones $zones uJ, the node used $(awk '{ s += $2 } END { printf "%.0f", s }' \
        "$tmp/node/truth") uJ since before"
    # Wraps lose a unit.
    awk -v told="$zones" '{ s += $2 } END { exit !(told > s - 1000 && told <= s) }' \
        "$tmp/node/truth"
}
wait_for 60 whole
check "no wrap and no restart loses energy" whole
note "$(cat "$tmp/check.out")"
is "no wrap is taken for a reset" \
    "$(value batchjob_meter_zone_resets_total meter=rapl | sort -u)" 0

# --- what can be wrong with a state ------------------------------------------

stop "$exporter"
sed -i '5s/./x/' "$tmp/exporter/state"
run_exporter
check "a damaged state is kept aside" test -s "$tmp/exporter/state.bad"
check "the log reports the damaged state" grep -q 'energy: .*state.*\.bad' "$tmp/exporter.log"
start_exporter --path.sysfs="$tmp/node/sys" --energy.interval=1 \
    --energy.state-file="$tmp/exporter/state"
check "two exporters do not share a state" wait_for 60 \
    grep -q 'another process has locked' "$tmp/exporter.log"

# --- a spool that is full ----------------------------------------------------

start_exporter --path.cgroupfs="$cg_view" --path.sysfs="$tmp/none" \
    --energy.interval=1 --energy.state-file= --record.dir="$tmp/full" \
    --record.max-bytes=4K
spin 1
spin 1
check "a full spool counts the records it loses" wait_for 60 eval \
    'reap; shows batchjob_sampler_records_lost_total && [ "$(value batchjob_sampler_records_lost_total)" = 1 ]'
is "a full spool keeps its records" "$(find "$tmp/full" -name '*.json' | wc -l)" 1
reap all
complete=1
