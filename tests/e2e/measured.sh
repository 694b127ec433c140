#!/bin/bash
# Import of measured values by batchjob_stats_db from a real Prometheus and a real
# VictoriaMetrics, which scrape the exporter with jobs in real cgroups each second.  The
# store must agree with the kernel, the exporter's page and the server's samples.  The
# meters are simulated; so are series of GPUs, long jobs and emission factors of some
# hours ago, imported by promtool and VictoriaMetrics.  TAP.
. "$(dirname "$0")/lib.sh"
measured="$python $top/tests/e2e/measured.py"
stats=$O/batchjob_stats_db
NOW=$(date +%s)
export NOW
cg_private=1
. "$(dirname "$0")/cgroup.sh"

command -v prometheus >/dev/null && command -v promtool >/dev/null ||
    skip_all "prometheus is not installed"
[ -x "$stats" ] || skip_all "no batchjob_stats_db"
cg_init
[ $cg_version != none ] || skip_all "not root, or no cgroups to write to here"
[ -x "$work" ] || skip_all "no $work"

# --- a node, and the servers that scrape it ------------------------------------

$python "$top/tests/e2e/energy.py" node "$tmp/node" &
on_exit "stop $!"
wait_for 60 test -s "$tmp/node/watts"
touch "$tmp/node/go"
start_exporter --path.cgroupfs="$cg_view" --path.sysfs="$tmp/node/sys" \
    --energy.interval=1 --energy.slow-interval=2 --energy.idle-watts=10 \
    --energy.state-file="$tmp/energy" --job.grace=60s --collector.process

mkdir "$tmp/data"
$measured openmetrics >"$tmp/old.om" || exit 1
check "promtool imports the simulated series" \
    promtool tsdb create-blocks-from openmetrics "$tmp/old.om" "$tmp/data"
port=$(free_port)
prometheus_url=http://127.0.0.1:$port
# The same node twice: samples of another cluster must not count.
cat >"$tmp/prometheus.yml" <<END
global: {scrape_interval: 1s}
scrape_configs:
- job_name: alpha
  static_configs: [{targets: ["${url#http://}"], labels: {cluster: alpha}}]
- job_name: beta
  static_configs: [{targets: ["${url#http://}"], labels: {cluster: beta, instance: other}}]
END
prometheus --config.file="$tmp/prometheus.yml" --storage.tsdb.path="$tmp/data" \
    --storage.tsdb.retention.time=20d --query.max-samples=200000 \
    --web.listen-address="127.0.0.1:$port" >"$tmp/prometheus.log" 2>&1 &
on_exit "stop $!"
check "Prometheus answers" wait_for 60 curl -sf "$prometheus_url/-/ready"
servers=$prometheus_url

# VictoriaMetrics imports the same samples as text, with times in milliseconds.
if command -v victoria-metrics >/dev/null; then
    port=$(free_port)
    victoria_url=http://127.0.0.1:$port
    victoria-metrics -promscrape.config="$tmp/prometheus.yml" -storageDataPath="$tmp/victoria" \
        -httpListenAddr="127.0.0.1:$port" -search.maxSamplesPerQuery=200000 \
        -search.latencyOffset=1s >"$tmp/victoria.log" 2>&1 &
    on_exit "stop $!"
    check "VictoriaMetrics answers" wait_for 60 curl -sf "$victoria_url/health"
    sed '/^#/d; s/$/000/' "$tmp/old.om" >"$tmp/old.prom"
    check "VictoriaMetrics imports the simulated series" \
        curl -sf --data-binary @"$tmp/old.prom" "$victoria_url/api/v1/import/prometheus"
    servers="$servers $victoria_url"
else
    skip "values measured by VictoriaMetrics" "not installed: victoria-metrics"
fi

# Whether the responses of all servers to the query match the pattern.
all_servers_match() { # query pattern
    local server
    for server in $servers; do
        curl -sf "$server/api/v1/query" --data-urlencode "query=$1" | grep -q "$2" || return
    done
}
scraped() { all_servers_match 'sum(up)' ',"2"\]'; }
check "each server has scraped both targets" wait_for 60 scraped

# --- a job that is requeued at once on the same node ---------------------------

begin1=$(date +%s)
cg_job 1002 4714
cg_run 1002 4714 "$work" -m 10 -t 600
used() { cg_cpu_seconds 1002 4714 | awk '{ exit !($1 >= 6) }'; }
check "a job uses some seconds of CPU time" wait_for 300 used
kill -STOP "$cg_pid"
kernel=$(cg_cpu_seconds 1002 4714)
scraped_job() {
    all_servers_match "abs(batchjob_job_cpu_seconds_total{jobid='4714',cluster='alpha'} - $kernel) < 0.01" '"value"'
}
check "each server has the job's CPU time" wait_for 60 scraped_job
cpu1=$(cg_cpu_seconds 1002 4714)
cg_kill 1002 4714
end1=$(date +%s)
# A run whose end was not scraped has no energy.
ended() { all_servers_match 'batchjob_job_end_time_seconds{jobid="4714",cluster="alpha"}' '"value"'; }
check "each server has the end of the job" wait_for 60 ended
# Runs that begin within ten seconds cannot be distinguished.
distinguishable() { [ "$(date +%s)" -ge $((begin1 + 12)) ]; }
check "the second run begins 12 s after the first" wait_for 60 distinguishable
begin2=$(date +%s)
cg_job 1002 4714
cg_run 1002 4714 sleep 600

# --- two jobs ------------------------------------------------------------------

begin=$(date +%s)
cg_job 1000 4711
cg_prefix="nice -n 19" cg_run 1000 4711 "$work" -m 40 -p 1 -i 20 -t 600
cg_job 1001 4712
cg_run 1001 4712 sleep 600
check "the exporter shows both jobs" wait_for 60 shows batchjob_job_cpu_seconds_total jobid=4712
sleep 8
cpu=$(cg_cpu_seconds 1000 4711)
cg_kill 1000 4711
cg_kill 1001 4712
cpu2=$(cg_cpu_seconds 1002 4714)
cg_kill 1002 4714
jobs_end=$(date +%s)
check "the exporter shows the end of the jobs" wait_for 60 shows batchjob_job_end_time_seconds jobid=4711
settled() { # the energy of the jobs no longer changes, and was scraped
    scrape "$tmp/a" && sleep 3 && scrape "$tmp/page" &&
        [ "$($prom value "$tmp/a" batchjob_job_energy_joules_total)" = "$(value batchjob_job_energy_joules_total)" ]
}
check "the energy of the ended jobs is final" wait_for 120 settled
time_passed() { [ "$(date +%s)" -gt $((jobs_end + 6)) ]; }
check "6 s have passed since the end of the jobs" wait_for 60 time_passed

# --- import of the values --------------------------------------------------------

run() { "$stats" "$@" --config.file="$folder/site.yml" >"$tmp/stats.log" 2>&1; }
queries() { grep -c 'queried prometheus for' "$tmp/stats.log"; }
change_end() { # seconds
    $measured change-end "$folder" 4712 "$1"
    sleep 1.1 # the scheduler is queried at most once in a second
}
compare_stores() { run_tap $measured compare-stores "$folder/first.db" "$folder/stats.db"; }
save_store() { cp "$folder/stats.db" "$folder/first.db"; }

import_from() { # server URL
    local server=$1 server_url=$2 cpu4712 folder=$tmp/$1
    mkdir "$folder" && cp "$tmp/page" "$folder/page"
    $measured configure "$folder" "$server_url" "$begin" "$jobs_end" \
        "$begin1" "$end1" "$begin2" "$jobs_end" || exit 1
    check "$server: the configuration is valid" run check-config
    check "$server: batchjob_stats_db imports the values of all jobs" run --once --log.level=debug
    note "$(queries) batches"
    run_tap $measured check "$folder" "$server_url" "$cpu" "$cpu1" "$cpu2"
    save_store
    check "$server: a second round has nothing to query" run --once --log.level=debug
    is "$server: no job is queried twice" "$(queries)" 0
    compare_stores
    check "$server: the store is consistent" run check
    run_tap $measured check-marginal "$folder" 300 true

    # The measured factors arrive after estimates: jobs of that time are derived again.
    $measured factors "$folder" 412.5 false
    check "$server: a round with a new file of factors succeeds" run --once
    run_tap $measured check-marginal "$folder" 412.5 false
    save_store

    # The scheduler now reports another end of a job.
    cpu4712=$($python -c "import sqlite3; print(sqlite3.connect('$folder/stats.db').execute(
        'SELECT job_prom.cpu_usec FROM job_prom JOIN job ON id = job WHERE jobid = 4712').fetchone()[0])")
    change_end -1
    check "$server: a round after a change of a job's end succeeds" run --once --log.level=debug
    is "$server: only the job whose end changed is queried again" "$(queries)" 1
    run_tap $measured check-changed-end "$folder" 4712 "$cpu4712"
    sleep 1.1
    check "$server: a third round succeeds" run --once --log.level=debug
    is "$server: a third round queries nothing" "$(queries)" 0
    change_end 1
    check "$server: a round after the job's old end is restored succeeds" run --once
    compare_stores

    $measured delete-measured "$folder/stats.db"
    check "$server: large queries that the server refuses are replaced by smaller ones" \
        $measured import-with-large-queries "$folder" "$stats"
    compare_stores
    $measured delete-measured "$folder/stats.db"
    sed -i "s|$server_url|http://127.0.0.1:1|" "$folder"/*.yml
    check "$server: a missing server is an error" eval '! run --once'
    check "$server: the error names the address" \
        grep -q 'http://127.0.0.1:1/api/v1/query' "$tmp/stats.log"
    run_tap $measured check-waiting "$folder/stats.db"
}
import_from Prometheus "$prometheus_url"
[ "$servers" = "$prometheus_url" ] || import_from VictoriaMetrics "$victoria_url"

complete=1
