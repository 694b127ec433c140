#!/bin/bash
# Records that a real slurmctld sends with jobcomp/elasticsearch when jobs end: they are in
# the store before accounting is asked, and what accounting says later is the same.  Needs
# root and Slurm's packages.  TAP; about two minutes.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all "not root"
missing=$("$top/tests/deps" -n test slurm) ||
    skip_all "not installed: $missing"
ls "${SLURM_PREFIX:-/usr}"/lib/*/slurm-wlm/jobcomp_elasticsearch.so "${SLURM_PREFIX:-/usr}"/lib/slurm/jobcomp_elasticsearch.so 2>/dev/null |
    grep -q . || skip_all "not installed: slurm-wlm-elasticsearch-plugin"
[ -x "$O/batchjob_stats_db" ] || skip_all "batchjob_stats_db was not built"

export SLURM_SANDBOX_DIR=/tmp/bj-jobcomp.$$ SLURM_SANDBOX_PREFIX=bj$$n
ua=bja$$
export SLURM_SANDBOX_USERS="$ua:physics"
address=127.0.0.1:$(free_port)
export SLURM_SANDBOX_CONF="JobCompType=jobcomp/elasticsearch
JobCompLoc=http://$address/jobcomp/_doc
JobRequeue=1"
SLURM_SANDBOX_PORT=$(free_ports 5)
export SLURM_SANDBOX_PORT
sandbox=$top/tests/sandbox/slurm
eval "$("$sandbox" env)"
on_exit "$sandbox purge"
"$sandbox" start >"$tmp/sandbox.out" 2>&1 ||
    { fail "Slurm starts" "$tmp/sandbox.out"; exit 1; }
pass "Slurm runs"

cat >"$tmp/cluster.yml" <<END
name: elsewhere
sacct:
  slurm-conf: $SLURM_CONF
  history: 1d
  interval: 1h
  batch-scripts: true
END
db=$tmp/stats.db
stats=(--store.path="$db" --cluster.file="$tmp/cluster.yml" --metrics.file="$tmp/metrics")
start_stats() {
    rm -f "$tmp/stats.log" "$tmp/metrics" # of the last one
    "$O/batchjob_stats_db" "${stats[@]}" --jobcomp.listen-address="$address" >"$tmp/stats.log" 2>&1 &
    pid=$!
    on_exit "kill_ours $pid"
    wait_for 60 grep -q 'receiving records of slurmctld' "$tmp/stats.log" &&
        wait_for 60 grep -q '' "$tmp/metrics" || fail "batchjob_stats_db starts" "$tmp/stats.log"
}
rows() { # SQL: one row a line
    python3 - "$db" "$1" <<-'END'
	import sqlite3, sys
	for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]):
	    print(*row, sep="|")
	END
}
submit() { # sbatch-argument...: prints the job's id
    "$sandbox" as $ua sbatch --parsable -o /dev/null -n 1 --mem=20 "$@"
}
state_is() { [ "$(squeue -h -j "$1" -o %T 2>/dev/null)" = "$2" ]; }
begins() { wait_for 90 state_is "$1" RUNNING || fail "job $1 runs"; }

# slurmctld sends nothing that accounting would not know at the first import.
submit -J before --wrap true >"$tmp/before"
nothing_left() { [ -z "$(squeue -h)" ]; }
accounted() { [ "$(sacct -nPX -S now-1hour --name="$1" -o state)" = COMPLETED ]; }
check "the first job ends" wait_for 90 accounted before
start_stats
imported() { [ "$(rows "SELECT name FROM job_v")" = before ]; }
check "accounting is imported once" wait_for 60 imported

# --- jobs ----------------------------------------------------------------------

submit -J plain -t 7 --wrap 'i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done' >/dev/null
submit -J fails --wrap 'exit 3' >/dev/null
submit -J killed -N 2 -n 2 --wrap 'kill -9 $$' >/dev/null
submit -J array -a 3-4 --wrap 'exit 1' >/dev/null
printf '%s\n' '#!/bin/bash' '#SBATCH -t 9' 'module load sw/gromacs' 'true' | submit -J script >/dev/null
"$sandbox" as $ua sbatch --parsable -o /dev/null -J het -n 1 --mem=20 : -n 1 --mem=30 \
    --wrap 'srun true' >"$tmp/het" 2>&1
never=$(submit -J never --begin=now+1hour --wrap true)
"$sandbox" as $ua scancel "$never"
stopped=$(submit -J stopped --wrap 'sleep 600')
begins "$stopped"
"$sandbox" as $ua scancel "$stopped"
again=$(submit -J again --requeue --wrap 'sleep 600')
begins "$again"
scontrol requeue "$again"
wait_for 90 state_is "$again" PENDING || wait_for 90 state_is "$again" RUNNING || fail "a job is requeued"
scontrol hold "$again" 2>/dev/null
"$sandbox" as $ua scancel "$again"
check "all jobs end" wait_for 120 nothing_left

names="SELECT name, count(*) FROM job_v WHERE end_sec IS NOT NULL AND name NOT IN ('before', 'again') GROUP BY 1 ORDER BY 1"
complete_names="array|2
fails|1
het|2
killed|1
never|1
plain|1
script|1
stopped|1"
all_here() { [ "$(rows "$names")" = "$complete_names" ]; }
check "they are in the store, before accounting is asked" wait_for 120 all_here
is "their states, exit codes and nodes" "$(rows "SELECT name, state, exit_code, exit_signal, nodes, cpus,
    time_limit_seconds FROM job_v WHERE name IN ('plain', 'fails', 'killed', 'never', 'stopped') ORDER BY name" |
    sed 's/None/-/g')" \
    "fails|failed|3|0|1|1|1800
killed|failed|0|9|2|2|1800
never|cancelled|0|0|-|-|1800
plain|completed|0|0|1|1|420
stopped|cancelled|0|0|1|1|1800"
is "what they used is unknown" "$(rows "SELECT count(cpu_usec), count(memory_task_peak_bytes),
    count(read_bytes) FROM job_v WHERE name <> 'before'")" "0|0|0"
is "the run that was requeued has ended" "$(rows "SELECT state, end_sec IS NULL, nodes FROM job_v
    WHERE name = 'again' ORDER BY submit_sec LIMIT 1")" "requeued|0|1"
is "the options of the batch script are known, and its application" "$(rows "SELECT m.script_options,
    m.script_application FROM job_v AS v JOIN job_more AS m ON m.job = v.id WHERE v.name = 'script'")" "2 -t 9|gromacs"

# --- a server that is down ----------------------------------------------------------

stop $pid
submit -J down --wrap true >/dev/null
check "a job ends while batchjob_stats_db is down" wait_for 90 accounted down
down=$(sacct -nPX -S now-1hour --name=down -o jobidraw)
# Slurm keeps the record in its state, too, over a restart.
columns="$(python3 - <<'END'
names = """jobid display_id array_job_id array_task het_job_id het_offset user uid gid account partition qos name
submit_sec eligible_sec start_sec end_sec elapsed_seconds time_limit_seconds state exit_code exit_signal
derived_exit_code cpus cpus_requested nodes gpus nodelist tres_allocated tres_requested memory_requested_bytes
memory_allocated_bytes work_dir stdout_path""".split()
print(", ".join('"%s"' % n for n in names))
END
)"
sent="SELECT $columns FROM job_v WHERE name NOT IN ('before', 'down') ORDER BY jobid, submit_sec"
rows "$sent" >"$tmp/sent"
start_stats
received() { awk '/^batchjob_stats_jobcomp_records_total{result="stored"}/ { exit !($2 >= 1) }' "$tmp/metrics"; }
check "slurmctld sends what it kept while batchjob_stats_db was down" wait_for 150 received
is "the job is in the store" "$(rows "SELECT state FROM job_v WHERE jobid = $down")" completed
is "accounting was not asked again" "$(rows "SELECT count(cpu_usec) FROM job_v WHERE name <> 'before'")" 0

stop $pid
check "accounting is imported" "$O/batchjob_stats_db" --once "${stats[@]}"
rows "$sent" >"$tmp/accounted"
check "accounting says the same of each job that it knows" python3 - "$tmp/sent" "$tmp/accounted" <<'END'
import sys
sent, accounted = ([line.rstrip("\n").split("|") for line in open(name)] for name in sys.argv[1:])
known = {(row[0], row[13]): row for row in accounted}
bad = 0
for row in sent:
    for at, (a, b) in enumerate(zip(row, known[row[0], row[13]])):
        a, b = (sorted(v.split(",")) if "cpu=" in v else v for v in (a, b)) # the order of resources differs
        if a != "None" and a != b:
            print(row[0], "value", at, ":", a, "sent,", b, "accounted")
            bad += 1
sys.exit(bad > 0 or len(sent) < 10)
END
is "CPU time comes from accounting" "$(rows "SELECT count(cpu_usec) FROM job_v WHERE name = 'plain'")" 1

start_stats

# --- other senders -------------------------------------------------------------------

record='{"jobid":77,"user_id":0,"username":"root","cluster":"CLUSTER","state":"COMPLETED","nodes":"n1","total_cpus":1,
"total_nodes":1,"@submit":"2026-11-20T10:00:00","@start":"2026-11-20T10:00:01","@end":"2026-11-20T10:00:09","elapsed":8}'
post() { # body [command...]: the status, and what the server says
    local body=$1
    shift
    "$@" curl -s -m 60 -w ' %{http_code}\n' -H 'Content-Type: application/json' -d "$body" "http://$address/jobcomp/_doc"
}
is "root may send a record" "$(post "${record/CLUSTER/elsewhere}")" '{"result":"created"} 201'
is "it is in the store" "$(rows "SELECT jobid, state, elapsed_seconds FROM job_v WHERE cluster = 'elsewhere'")" \
    "77|completed|8"
is "a record may come twice" "$(post "${record/CLUSTER/elsewhere}")" '{"result":"created"} 201'
is "and changes nothing" "$(rows "SELECT count(*) FROM job_v WHERE jobid = 77")" 1
is "another user of this machine may not" "$(post "${record/CLUSTER/elsewhere}" setpriv --reuid=$ua --clear-groups |
    tail -c 4)" 403
counted() { # result number
    awk -v want="$2" '/^batchjob_stats_jobcomp_records_total{result="'"$1"'"}/ { exit $2 != want }' "$tmp/metrics"
}
# The kernel shows root as the user of a socket that waits after its end.
kill -STOP $pid
check "another user sends a record and closes the connection" \
    python3 - "$address" "$(sed 's/77/76/' <<<"${record/CLUSTER/elsewhere}")" "$(id -u $ua)" <<'END'
import os, socket, sys
os.setuid(int(sys.argv[3]))
host, port = sys.argv[1].split(":")
with socket.socket() as s:
    s.connect((host, int(port)))
    s.sendall(("POST /jobcomp/_doc HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s"
               % (len(sys.argv[2]), sys.argv[2])).encode())
    own = ":%04X" % s.getsockname()[1]
states = "04"  # its end is not confirmed
while states == "04":
    with open("/proc/net/tcp") as f:
        states = "".join(w[3] for w in map(str.split, f) if w[1].endswith(own))
END
kill -CONT $pid
check "it is denied, too" wait_for 60 counted denied 2
is "and not stored" "$(rows "SELECT count(*) FROM job_v WHERE jobid = 76")" 0
is "nor may a record of an unknown cluster be stored" "$(post "${record/CLUSTER/other}")" \
    "{\"result\":\"not_found\",\"error\":\"cluster 'other' is not configured and has no jobs in the store\"} 404"
is "what can never be read is not sent again" "$(post '{"jobid":78,"state":"LOST"}')" \
    '{"result":"noop","error":"jobcomp: state: expected a state of Slurm"} 200'
is "nor what is no JSON" "$(post '{"jobid":' | tail -c 4)" 200
check "denied records are counted" wait_for 60 counted denied 3
check "malformed records are counted" wait_for 60 counted malformed 2
stop $pid
if [ "${ISOLATED:-}" ]; then
    ip address add 192.0.2.1/32 dev lo
    address=192.0.2.1:${address#*:}
    stats+=(--jobcomp.from=192.0.2.1)
    start_stats
    is "root may send from an address of this machine that is listed" "$(post "${record/CLUSTER/elsewhere}")" \
        '{"result":"created"} 201'
    is "another user may not" "$(post "${record/CLUSTER/elsewhere}" setpriv --reuid=$ua --clear-groups | tail -c 4)" 403
    stop $pid
fi
check "the store is consistent" "$O/batchjob_stats_db" check "${stats[@]}"
complete=1
