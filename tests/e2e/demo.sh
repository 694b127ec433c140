#!/bin/bash
# The demo shows jobs in the exporter and in collectd, and leaves nothing behind.  TAP.
#
#   demo.sh          the demo without a scheduler
#   demo.sh slurm    the demo with Slurm
. "$(dirname "$0")/lib.sh"
kind=${1:-}

# Another demo may run at the same time.
export DEMO_NAME=bjdemo$$

# What a demo could leave behind: its cgroups, files, processes and users.
traces() {
    find /sys/fs/cgroup -maxdepth 5 -type d -name "*$DEMO_NAME*" 2>/dev/null
    find "${TMPDIR:-/tmp}" -maxdepth 1 -name "$DEMO_NAME*"
    grep -lsz "$tmp/mark" /proc/[0-9]*/environ 2>/dev/null | grep -v "/$$/"
    grep -F "/$DEMO_NAME." /etc/passwd # homes of its users
}

out() { cat "$tmp/demo.out"; }
says() { grep -qE "$1" "$tmp/demo.out" || { out; return 1; }; }
table_rows() { grep -cE '^[^ ]+ +[^ ]+ +[^ ]+ +[0-9.]+ +-?[0-9]+ +[0-9.]+ +[0-9]+ ' "$tmp/demo.out"; }
before=$(traces)

run_demo() { # seconds: how long it runs
    DEMO_SECONDS=$1 DEMO_MARK=$tmp/mark O=$O timeout 200 "$top/tests/demo" $kind \
        >"$tmp/demo.out" 2>&1
}

check "the demo runs and ends by itself" run_demo 12
check "the demo prints the address of the exporter's page" says 'http://127.0.0.1:[0-9]+/metrics'
if [ "$(id -u)" = 0 ] || [ "$kind" = slurm ]; then
    check "the demo's table has jobs ($(table_rows) lines)" test "$(table_rows)" -ge 6
fi
if command -v collectd >/dev/null && [ -e "$O/batchjob.so" ]; then
    check "collectd's page has the jobs" says 'collectd_batchjob_job_'
fi
if command -v snmpd >/dev/null && { [ "$(id -u)" = 0 ] || [ "$kind" = slurm ]; }; then
    check "a table by SNMP has jobs with CPU time and memory" says '^[0-9]+(@[a-z0-9]+)? +[1-9][0-9]* microseconds +[1-9][0-9]* bytes$'
else
    skip "a table by SNMP has jobs" "not root, or snmpd is not installed"
fi
api_rows() { grep -cE '^[0-9]+,[a-z]+,[a-z]+,(running|completed),[0-9]+,' "$tmp/demo.out"; }
if [ -x "$O/batchjob_stats_server" ] && { [ "$(id -u)" = 0 ] || [ "$kind" = slurm ]; }; then
    check "the demo prints the address of the web pages" says 'http://[^ ]*127.0.0.1:[0-9]+/jobs$'
    check "the API has the jobs ($(api_rows) of them)" test "$(api_rows)" -ge 4
    [ "$kind" = slurm ] || ! grep -q 'sample jobs run in cgroups' "$tmp/demo.out" ||
        check "a job in the API has measured values" says '^105,.*,completed,.*,[0-9.]+,nodes'
    if command -v prometheus >/dev/null; then
        check "the demo prints a time series of a job" says '^20[0-9T:-]*Z,[0-9]+,,,[0-9.]*,[0-9]+,[0-9]+'
        [ "$kind" = slurm ] || ! grep -q 'sample jobs run in cgroups' "$tmp/demo.out" || {
            check "the gate shows an admin all jobs" says '^demo       101 102 103 104'
            check "the gate shows a user own jobs" says '^daemon     102 104$'
        }
    else
        skip "the demo prints a time series of a job" "prometheus is not installed"
    fi
fi
is "the demo leaves nothing behind" "$(traces)" "$before"

# SIGTERM while it runs.
DEMO_MARK=$tmp/mark O=$O "$top/tests/demo" $kind >"$tmp/demo.out" 2>&1 &
demo=$!
on_exit "kill_ours $demo"
wait_for 60 says 'Ctrl-C to end'
kill -TERM $demo
wait $demo
is "SIGTERM ends the demo with status 0" $? 0
is "a demo that is interrupted leaves nothing behind" "$(traces)" "$before"
complete=1
