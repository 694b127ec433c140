#!/bin/bash
# Measured values of jobs from a real Prometheus, and from a real VictoriaMetrics:
# jobs in real cgroups, the exporter, both servers that scrape it each second,
# batchjob_stats_db that queries many jobs at once.  The store must hold what the
# kernel, the exporter's page and the server's own samples say.  The meters are
# files of a test; GPUs, long jobs and factors of hours ago are made up, and
# imported by promtool and VictoriaMetrics' own endpoint.  TAP.
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

# --- a node, and who scrapes it ------------------------------------------------

$python "$top/tests/e2e/energy.py" node "$tmp/node" &
later "stop $!"
wait_for 60 test -s "$tmp/node/watts"
touch "$tmp/node/go"
start_exporter --path.cgroupfs="$cg_view" --path.sysfs="$tmp/node/sys" \
    --energy.interval=1 --energy.slow-interval=2 --energy.idle-watts=10 \
    --energy.state-file="$tmp/energy" --job.grace=60s --collector.process

mkdir "$tmp/data"
$measured openmetrics >"$tmp/old.om" || exit 1
check "promtool takes the made-up past" \
    promtool tsdb create-blocks-from openmetrics "$tmp/old.om" "$tmp/data"
port=$(free_port)
prometheus_url=http://127.0.0.1:$port
# The same node twice: what is another cluster's must not count.
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
later "stop $!"
check "Prometheus answers" wait_for 60 curl -sf "$prometheus_url/-/ready"
servers=$prometheus_url

# VictoriaMetrics takes the same samples as text, with milliseconds.
if command -v victoria-metrics >/dev/null; then
    port=$(free_port)
    victoria_url=http://127.0.0.1:$port
    victoria-metrics -promscrape.config="$tmp/prometheus.yml" -storageDataPath="$tmp/victoria" \
        -httpListenAddr="127.0.0.1:$port" -search.maxSamplesPerQuery=200000 \
        -search.latencyOffset=1s >"$tmp/victoria.log" 2>&1 &
    later "stop $!"
    check "VictoriaMetrics answers" wait_for 60 curl -sf "$victoria_url/health"
    sed '/^#/d; s/$/000/' "$tmp/old.om" >"$tmp/old.prom"
    check "VictoriaMetrics imports the made-up past" \
        curl -sf --data-binary @"$tmp/old.prom" "$victoria_url/api/v1/import/prometheus"
    servers="$servers $victoria_url"
else
    skip "values measured by VictoriaMetrics" "not installed: victoria-metrics"
fi

# Both servers answer the query with what grep finds.
answer() { # query pattern
    local server
    for server in $servers; do
        curl -sf "$server/api/v1/query" --data-urlencode "query=$1" | grep -q "$2" || return
    done
}
scraped() { answer 'sum(up)' ',"2"\]'; }
check "each server has scraped both targets" wait_for 60 scraped

# --- a job that is requeued, on the same node, at once -------------------------

begin1=$(date +%s)
cg_job 1002 4714
cg_run 1002 4714 "$work" -m 10 -t 600
used() { cg_cpu_seconds 1002 4714 | awk '{ exit !($1 >= 6) }'; }
check "a job uses some seconds of CPU time" wait_for 300 used
kill -STOP "$cg_pid"
kernel=$(cg_cpu_seconds 1002 4714)
scraped_job() {
    answer "abs(batchjob_job_cpu_seconds_total{jobid='4714',cluster='alpha'} - $kernel) < 0.01" '"value"'
}
check "each server has the job's CPU time" wait_for 60 scraped_job
cpu1=$(cg_cpu_seconds 1002 4714)
cg_kill 1002 4714
end1=$(date +%s)
# A run whose end nobody saw has no energy.
ended() { answer 'batchjob_job_end_time_seconds{jobid="4714",cluster="alpha"}' '"value"'; }
check "each server has the end of the job" wait_for 60 ended
# Runs that begin within ten seconds are not told apart.
apart() { [ "$(date +%s)" -ge $((begin1 + 12)) ]; }
check "the second run begins 12 s after the first" wait_for 60 apart
begin2=$(date +%s)
cg_job 1002 4714
cg_run 1002 4714 sleep 600

# --- two jobs ------------------------------------------------------------------

begin=$(date +%s)
cg_job 1000 4711
cg_by="nice -n 19" cg_run 1000 4711 "$work" -m 40 -p 1 -i 20 -t 600
cg_job 1001 4712
cg_run 1001 4712 sleep 600
check "the exporter shows both jobs" wait_for 60 shows batchjob_job_cpu_seconds_total jobid=4712
sleep 8
cpu=$(cg_cpu_seconds 1000 4711)
cg_kill 1000 4711
cg_kill 1001 4712
cpu2=$(cg_cpu_seconds 1002 4714)
cg_kill 1002 4714
over=$(date +%s)
check "the exporter shows the end of the jobs" wait_for 60 shows batchjob_job_end_time_seconds jobid=4711
settled() { # their energy does not change any more, and was scraped
    scrape "$tmp/a" && sleep 3 && scrape "$tmp/page" &&
        [ "$($prom value "$tmp/a" batchjob_job_energy_joules_total)" = "$(value batchjob_job_energy_joules_total)" ]
}
check "the energy of the ended jobs is final" wait_for 120 settled
late() { [ "$(date +%s)" -gt $((over + 6)) ]; }
check "accounting reports the jobs" wait_for 60 late

# --- accounting of them ----------------------------------------------------------

run() { "$stats" "$@" --config.file="$folder/site.yml" >"$tmp/stats.log" 2>&1; }
queries() { grep -c 'queried prometheus for' "$tmp/stats.log"; }
moved() { # seconds
    $measured moved "$folder" 4712 "$1"
    sleep 1.1 # in the same second the scheduler is not asked again
}
same() { absorb $measured same "$folder/first.db" "$folder/stats.db"; }
remember() { cp "$folder/stats.db" "$folder/first.db"; }

walk() { # server URL
    local server=$1 server_url=$2 cpu4712 folder=$tmp/$1
    mkdir "$folder" && cp "$tmp/page" "$folder/page"
    $measured site "$folder" "$server_url" "$begin" "$over" \
        "$begin1" "$end1" "$begin2" "$over" || exit 1
    check "$server: the configuration is fine" run check-config
    check "$server: batchjob_stats_db queries all jobs" run --once --log.level=debug
    note "$(queries) batches"
    absorb $measured check "$folder" "$server_url" "$cpu" "$cpu1" "$cpu2"
    remember
    check "$server: a second round has nothing to query" run --once --log.level=debug
    is "$server: no job is queried twice" "$(queries)" 0
    same
    check "$server: the store is consistent" run check
    absorb $measured marginal "$folder" 300 true

    # What was an estimate comes late: jobs of its time follow.
    $measured factors "$folder" 412.5 false
    check "$server: a run with a new file of factors succeeds" run --once
    absorb $measured marginal "$folder" 412.5 false
    remember

    # Accounting learns that a job has ended at another time.
    cpu4712=$($python -c "import sqlite3; print(sqlite3.connect('$folder/stats.db').execute(
        'SELECT job_prom.cpu_usec FROM job_prom JOIN job ON id = job WHERE jobid = 4712').fetchone()[0])")
    moved -1
    check "$server: a run that ended earlier than reported before" run --once --log.level=debug
    is "$server: only the job whose end changed is queried again" "$(queries)" 1
    absorb $measured check-moved "$folder" 4712 "$cpu4712"
    sleep 1.1
    check "$server: a third round succeeds" run --once --log.level=debug
    is "$server: a third round queries nothing" "$(queries)" 0
    moved 1
    check "$server: a run after accounting restores the end succeeds" run --once
    same

    $measured forget "$folder/stats.db"
    check "$server: smaller queries follow where the server refuses large ones" \
        $measured small "$folder" "$stats"
    same
    $measured forget "$folder/stats.db"
    sed -i "s|$server_url|http://127.0.0.1:1|" "$folder"/*.yml
    check "$server: a missing server is an error" eval '! run --once'
    check "$server: the error names the address" \
        grep -q 'http://127.0.0.1:1/api/v1/query' "$tmp/stats.log"
    absorb $measured waiting "$folder/stats.db"
}
walk Prometheus "$prometheus_url"
[ "$servers" = "$prometheus_url" ] || walk VictoriaMetrics "$victoria_url"

complete=1
