#!/bin/bash
# The exporter, started with the name and flags of jobs_exporter, pushes to a real
# Pushgateway: a group of metrics while jobs run, deleted when no job runs and when
# the exporter ends.  Needs root for cgroups, and the package prometheus-pushgateway.
# TAP; some seconds.
. "$(dirname "$0")/lib.sh"

gateway=$(command -v prometheus-pushgateway) ||
    skip_all "not installed: prometheus-pushgateway"
cg_private=1
cg_init
if [ $cg_version = none ] || [ "$(id -u)" != 0 ]; then
    skip_all "not root, or no cgroups to write to here"
fi

port=$(free_port)
gw=http://127.0.0.1:$port
"$gateway" --web.listen-address="127.0.0.1:$port" >"$tmp/gateway.log" 2>&1 &
gw_pid=$!
on_exit "stop $gw_pid"
check "a Pushgateway runs" wait_for 60 curl -sf "$gw/-/ready"
pushed() { # name label=value...
    curl -sSf --max-time 60 "$gw/metrics" >"$tmp/pushed" && $prom value "$tmp/pushed" "$@"
}
pushed_not() { curl -sSf --max-time 60 "$gw/metrics" >"$tmp/pushed" && ! $prom value "$tmp/pushed" "$@"; }

ln -s "$(realpath "$O/batchjob_exporter")" "$tmp/jobs_exporter.py"
echo 999999 >"$tmp/blacklist"
port=$(free_port)
url=http://127.0.0.1:$port
"$tmp/jobs_exporter.py" -t1 --blacklist "$tmp/blacklist" -- \
    --push.url="$gw/" --path.cgroupfs="$cg_view" --energy.state-file= \
    --web.listen-address="127.0.0.1:$port" --job.grace=1 >"$tmp/exporter.log" 2>&1 &
exporter=$!
on_exit "stop $exporter"
check "the exporter runs under the name jobs_exporter.py" wait_for 60 curl -sf "$url/health"

nobody=$(id -u nobody)
id=4711
cg_job "$nobody" $id
SLURM_JOB_ID=$id cg_run "$nobody" $id "$work" -t 600 -m 20 -n 2 -i 95
host=$(uname -n)
check "a job is pushed, in the group of jobs_exporter" wait_for 60 \
    pushed jobs_cpu_time_total slurm_job=$id job=jobs_exporter instance="${host%%.*}"
check "the exporter's page has the job" shows jobs_cpu_time_total slurm_job=$id
check "the exporter's page has as many series of the job as were pushed" [ "$(grep -c "^jobs_.*slurm_job=\"$id\"" "$tmp/pushed")" = \
    "$(grep -c "^jobs_.*slurm_job=\"$id\"" "$tmp/page")" ]

kill -STOP "$gw_pid"
sleep 1.5 # until a push waits for the stopped Pushgateway
check "a Pushgateway that hangs does not delay a scrape" shows jobs_cpu_time_total slurm_job=$id
kill -CONT "$gw_pid"
check "the Pushgateway has the job again when it continues" wait_for 60 pushed jobs_cpu_time_total slurm_job=$id

kill -KILL "$cg_pid"
cg_kill "$nobody" $id
check "an ended job leaves nothing at the Pushgateway" wait_for 60 pushed_not jobs_cpu_time_total

id=4712
cg_job "$nobody" $id
SLURM_JOB_ID=$id cg_run "$nobody" $id "$work" -t 600 -m 20 -i 95
check "another job is pushed" wait_for 60 pushed jobs_cpu_time_total slurm_job=$id
stop "$exporter"
check "an exporter that ends leaves nothing at the Pushgateway" pushed_not jobs_cpu_time_total
kill -KILL "$cg_pid"
cg_kill "$nobody" $id
complete=1
