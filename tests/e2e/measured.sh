#!/bin/bash
# Measured values of jobs from a real Prometheus: jobs in real cgroups, our
# exporter, Prometheus that scrapes it each second, batchjob_stats_db that asks
# for many jobs at once.  What the store then holds is what the kernel, the
# exporter's page and Prometheus' own samples say.  The meters are a made sysfs;
# GPUs, long jobs and factors of hours ago are made up, and brought into
# Prometheus by promtool.  TAP.
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

scraped() { curl -sf "$prometheus_url/api/v1/query?query=sum(up)" | grep -q ',"2"\]'; }
check "Prometheus has scraped both targets" wait_for 60 scraped

# --- a job that is requeued, on the same node, at once -------------------------

begin1=$(date +%s)
cg_job 1002 4714
cg_run 1002 4714 "$work" -m 10 -t 600
used() { cg_cpu_seconds 1002 4714 | awk '{ exit !($1 >= 6) }'; }
check "a job uses some seconds of CPU time" wait_for 300 used
kill -STOP "$cg_pid"
told() { # Prometheus has what the kernel has
    curl -sf "$prometheus_url/api/v1/query" --data-urlencode \
        'query=batchjob_job_cpu_seconds_total{jobid="4714",cluster="alpha"}' |
        $python -c 'import json, sys
got = [float(s["value"][1]) for s in json.load(sys.stdin)["data"]["result"]]
sys.exit(not (got and abs(got[0] - float(sys.argv[1])) < 0.01))' \
        "$(cg_cpu_seconds 1002 4714)"
}
check "Prometheus has the job's CPU time" wait_for 60 told
cpu1=$(cg_cpu_seconds 1002 4714)
cg_kill 1002 4714
end1=$(date +%s)
# A run whose end nobody saw has no energy.
ended() {
    curl -sf "$prometheus_url/api/v1/query" --data-urlencode \
        'query=batchjob_job_end_time_seconds{jobid="4714",cluster="alpha"}' | grep -q '"value"'
}
check "Prometheus has the end of the job" wait_for 60 ended
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

$measured site "$tmp" "$prometheus_url" "$begin" "$over" \
    "$begin1" "$end1" "$begin2" "$over" || exit 1
run() { "$stats" "$@" --config.file="$tmp/site.yml" >"$tmp/stats.log" 2>&1; }
check "the configuration is fine" run check-config
check "batchjob_stats_db queries all jobs" run --once --log.level=debug
note "$(grep -c 'queried prometheus for' "$tmp/stats.log") batches"
absorb $measured check "$tmp" "$prometheus_url" "$cpu" "$cpu1" "$cpu2"
cp "$tmp/stats.db" "$tmp/first.db"
check "a second round has nothing to query" run --once --log.level=debug
is "no job is queried twice" "$(grep -c 'queried prometheus for' "$tmp/stats.log")" 0
absorb $measured same "$tmp/first.db" "$tmp/stats.db"
check "the store is consistent" run check

absorb $measured marginal "$tmp" 300 true

# What was an estimate comes late: jobs of its time follow.
$measured factors "$tmp" 412.5 false
check "a run with a new file of factors succeeds" run --once
absorb $measured marginal "$tmp" 412.5 false
cp "$tmp/stats.db" "$tmp/first.db"

# Accounting learns that a job has ended at another time.
cpu=$($python -c "import sqlite3; print(sqlite3.connect('$tmp/stats.db').execute(
    'SELECT job_prom.cpu_usec FROM job_prom JOIN job ON id = job WHERE jobid = 4712').fetchone()[0])")
moved() { # seconds
    $measured moved "$tmp" 4712 "$1"
    sleep 1.1 # in the same second the scheduler is not asked again
}
moved -1
check "a run that ended earlier than reported before" run --once --log.level=debug
is "only the job whose end changed is queried again" "$(grep -c 'queried prometheus for' "$tmp/stats.log")" 1
absorb $measured check-moved "$tmp" 4712 "$cpu"
sleep 1.1
check "a third round succeeds" run --once --log.level=debug
is "a third round queries nothing" "$(grep -c 'queried prometheus for' "$tmp/stats.log")" 0
moved 1
check "a run after accounting restores the end succeeds" run --once
absorb $measured same "$tmp/first.db" "$tmp/stats.db"

# --- what goes wrong ---------------------------------------------------------------

$measured forget "$tmp/stats.db"
check "smaller queries follow where Prometheus refuses large ones" \
    $measured small "$tmp" "$stats"
absorb $measured same "$tmp/first.db" "$tmp/stats.db"
$measured forget "$tmp/stats.db"
sed -i "s|$prometheus_url|http://127.0.0.1:1|" "$tmp"/*.yml
check "a missing Prometheus is an error" eval '! run --once'
check "the error names the address of Prometheus" grep -q 'http://127.0.0.1:1/api/v1/query' "$tmp/stats.log"
absorb $measured waiting "$tmp/stats.db"

complete=1
