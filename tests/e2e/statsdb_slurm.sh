#!/bin/bash
# Import from a real Slurm: jobs that end in different ways, array, heterogeneous and
# requeued jobs, jobs that are resized while they run, and hostile names; the store must
# have what sacct -D reports about each.  At the end, a rule warns about a real idle job
# and cancels it.  Needs root and Slurm's packages.  TAP; about three minutes.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all "not root"
missing=$("$top/tests/deps" -n test slurm) ||
    skip_all "not installed: $missing"
[ -x "$O/batchjob_stats_db" ] || skip_all "batchjob_stats_db was not built"

export SLURM_SANDBOX_DIR=/tmp/bj-stats.$$ SLURM_SANDBOX_PREFIX=bs$$n
ua=bsa$$ ub=bsb$$
export SLURM_SANDBOX_USERS="$ua:physics $ub:chemistry,physics"
export SLURM_SANDBOX_CONF='PartitionName=test Nodes=ALL MaxTime=00:30:00 OverSubscribe=FORCE:16 State=UP
PartitionName=watched Nodes=ALL MaxTime=00:30:00 OverSubscribe=FORCE:16 State=UP
Licenses=matlab:5
JobRequeue=1
AccountingStoreFlags=job_script
OverTimeLimit=0'
export SLURM_SANDBOX_NODES=3
SLURM_SANDBOX_PORT=$(free_ports 6)
export SLURM_SANDBOX_PORT
sandbox=$top/tests/sandbox/slurm
eval "$("$sandbox" env)"
on_exit "$sandbox purge"
"$sandbox" start >"$tmp/sandbox.out" 2>&1 ||
    { fail "Slurm starts" "$tmp/sandbox.out"; exit 1; }
pass "Slurm runs"

as() { "$sandbox" as "$@"; }
refuses() { # description command...
    local what=$1
    shift
    if "$@" >"$tmp/refuses.out" 2>&1; then fail "$what" "$tmp/refuses.out"; else pass "$what"; fi
}
submit() { # user sbatch-argument...: prints the job's id
    local user=$1
    shift
    as "$user" sbatch --parsable -o /dev/null -p test -n 1 --mem=20 "$@"
}

# --- jobs ----------------------------------------------------------------------

# Two jobs that are resized while they run, and then compute on what is left: one
# releases a node of two, one memory.  They end before other jobs come.
cp "$work" "$SLURM_SANDBOX_DIR/work" && chmod 755 "$SLURM_SANDBOX_DIR/work"
go=$SLURM_SANDBOX_DIR/go
computes="until [ -e $go ]; do sleep 0.1; done; $SLURM_SANDBOX_DIR/work -t 1; srun -N 1 -n 1 --mem=0 -w \$SLURMD_NODENAME --overlap true"
submit $ua -J 'shrinks' -N 2 -n 2 --mem=60 --wrap "srun true; $computes" >"$tmp/shrinks"
submit $ua -J 'frees' --mem=80 --wrap "$computes" >"$tmp/frees"
state_of() { squeue -h -j "$1" -o %T 2>/dev/null; }
running() { [ "$(state_of "$(cat "$tmp/$1")")" = RUNNING ]; }
runs() { # name: wait until it runs
    wait_for 90 running "$1" || { squeue >"$tmp/queue"; fail "$1 runs" "$tmp/queue"; }
}
for j in shrinks frees; do runs $j; done
sluids() { squeue -h -j "$(cat "$tmp/shrinks"),$(cat "$tmp/frees")" -O sluid 2>/dev/null | tr -d ' '; }
resize() { # job option of scontrol
    (cd "$tmp" && scontrol update jobid="$(cat "$tmp/$1")" "$2")
}
with_steps() { [ "$(sacct -nP -j "$(cat "$tmp/shrinks")" -o state | grep -c COMPLETED)" -ge 1 ]; }
check "the job of two nodes has run a step on both" wait_for 60 with_steps
sluids >"$tmp/sluids"
sleep 1 # each part of a run has a second at least
check "a running job releases a node" resize shrinks NumNodes=1
if slurm_since 26.05; then
    check "a running job releases memory" resize frees MinMemoryNode=40
else
    refuses "Slurm before 26.05 lowers no memory of a running job" resize frees MinMemoryNode=40
fi
sleep 1
sluids >>"$tmp/sluids"
touch "$go"
ended() { [ -z "$(state_of "$(cat "$tmp/$1")")" ] || [ "$(state_of "$(cat "$tmp/$1")")" = COMPLETED ]; }
for j in shrinks frees; do
    wait_for 60 ended $j || fail "$j ends"
done

# The third node fails, and is not used after that.
submit $ua -J 'broken' -w ${SLURM_SANDBOX_PREFIX}03 --no-requeue --wrap 'sleep 300' >"$tmp/broken"
runs broken
for state in down drain; do # it would return
    scontrol update nodename=${SLURM_SANDBOX_PREFIX}03 state=$state reason=test
done

submit $ua -J 'plain' --wrap 'srun true; true' >/dev/null
submit $ua -J 'licensed' -L matlab:2 -o "$SLURM_SANDBOX_DIR/home/$ua/out-%j" \
    -e "$SLURM_SANDBOX_DIR/home/$ua/err-%j" --wrap 'true' >/dev/null
submit $ua -J 'a|b|COMPLETED|4711|' --wrap 'true' >/dev/null
submit $ub -A physics -J $'two\nlines\n99999|99999|x' --wrap 'exit 3' >/dev/null
submit $ub -J $'\x1f\x1e "quoted" \\ \xff' --wrap 'kill -9 $$' >/dev/null
submit $ua -J 'array' -a 1-3 --wrap 'exit $((SLURM_ARRAY_TASK_ID - 1))' >/dev/null
submit $ua -J 'stopped' --wrap 'sleep 300' >"$tmp/stopped"
submit $ua -J 'again' --requeue --wrap 'sleep 300' >"$tmp/again"
submit $ua -J 'waits' -a 1-5%1 --begin=now+1hour --wrap true >/dev/null
submit $ua -J 'runs' --wrap 'sleep 600' >"$tmp/runs"
submit $ub -A chemistry -J 'late' -t 1 --wrap 'sleep 300' >"$tmp/late"
as $ua sbatch --parsable -o /dev/null -p test -J het -n 1 --mem=20 : -n 1 --mem=30 \
    --wrap 'srun true' >"$tmp/het" 2>&1 || true

# Batch scripts.  One contains the heading of another job, as sacct prints it.
script() { # name text...
    local name=$1
    shift
    printf '%s\n' "$@" | submit $ua -J "$name"
}
script 'script' '#!/bin/bash' '#SBATCH -t 7 --comment=secret' '#SBATCH -c1 # no -c 9' 'module load sw/gromacs' \
    'true' '#SBATCH --nice=5' >"$tmp/script"
script 'forged' '#!/bin/bash' '#SBATCH -t 9' "Batch Script for $(cat "$tmp/script")" \
    "$(printf '%080d' 0 | tr 0 -)" '#SBATCH --mem=99G' 'true' >/dev/null
printf '%s\n' '#!/bin/bash' '#SBATCH -t 8' 'true' | submit $ua -J scripts -a 4,7 >/dev/null

for j in stopped again runs late; do runs $j; done
scontrol update jobid="$(cat "$tmp/late")" EndTime=now+1 # a time limit of a job is at least a minute
# No source reports a job that was cancelled before it was eligible; this one waits
# for the node that failed.
submit $ua -J 'never' -w ${SLURM_SANDBOX_PREFIX}03 --wrap true >"$tmp/never"
eligible() { [ "$(sacct -nPX -j "$(cat "$tmp/never")" -o state)" = PENDING ]; }
wait_for 60 eligible || { squeue >"$tmp/queue"; fail "a job waits for its node" "$tmp/queue"; }
as $ua scancel "$(cat "$tmp/stopped")" "$(cat "$tmp/never")"
scontrol requeue "$(cat "$tmp/again")"
wait_for 120 running again || fail "the requeued job runs again"
timed_out() { [ "$(sacct -nPX -j "$(cat "$tmp/late")" -o state)" = TIMEOUT ]; }
wait_for 180 timed_out || fail "a job reaches its time limit"
# sacct prints the ids of a heterogeneous job completely when its parts have started.
het_ended() { ! sacct -nPX -j "$(cat "$tmp/het")" -o end | grep -q Unknown; }
wait_for 60 het_ended || note "the heterogeneous job has not ended"
sleep 2

# --- the store -------------------------------------------------------------------

cat >"$tmp/cluster.yml" <<END
name: elsewhere
sacct:
  slurm-conf: $SLURM_CONF
  history: 1d
  pause: 0s
  batch-scripts: true
END
db=$tmp/stats.db
stats() { "$O/batchjob_stats_db" "$@" --store.path="$db" --cluster.file="$tmp/cluster.yml"; }
check "the first import succeeds" stats run --once

run_tap "$top/tests/e2e/statsdb_slurm.py" "$db"
is "a job that never started is in the store" "$(python3 -c "
import sqlite3
print(sqlite3.connect('$db').execute('''SELECT count(*) FROM job_v WHERE name = 'never'
    AND state = 'cancelled' AND nodelist IS NULL''').fetchone()[0])")" 1
scripts="import sqlite3
for row in sqlite3.connect('$db').execute('''SELECT v.name, v.array_task, m.script_options,
    m.script_application FROM job_v AS v JOIN job_more AS m ON m.job = v.id WHERE v.name IN ('script', 'forged',
    'scripts', 'plain') ORDER BY 1, 2'''): print(*row)"
is "the options of batch scripts are known, and nothing else" "$(python3 -c "$scripts")" "forged None 2 -t 9 None
plain None none None
script None 2 -t 7; 3 -c1 gromacs
scripts 4 2 -t 8 None
scripts 7 2 -t 8 None"
is "nothing else of a batch script is in the store" "$(grep -c secret "$db")" 0
is "the script names the application" "$("$O/batchjob_acct" --store.path="$db" --job="$(cat "$tmp/script")" \
    --format=application,application_by --output=csv | tail -n 1 | tr -d '\r')" gromacs,script
check "a second import succeeds" stats run --once
run_tap "$top/tests/e2e/statsdb_slurm.py" "$db"
check "the store is consistent" stats check
run_tap "$top/tests/e2e/statsdb_resized.py" sacct "$db"
if slurm_since 26.05; then
    found() { # the jobs that the SLUIDs of squeue find, before and after the change
        local sluid
        for sluid in $(cat "$tmp/sluids"); do
            "$O/batchjob_acct" --store.path="$db" --format=jobid -n "$sluid"
        done
    }
    is "each SLUID that squeue printed finds the job" "$(found | sort | uniq -c | awk '{ print $1, $2 }')" \
        "$(printf '2 %s\n' "$(cat "$tmp/shrinks")" "$(cat "$tmp/frees")" | sort)"
fi

# --- access rules ----------------------------------------------------------------

manage() { sacctmgr -iQ "$@" >>"$tmp/sacctmgr.out" 2>&1 || fail "sacctmgr $*" "$tmp/sacctmgr.out"; }
manage add account theory parent=physics
manage add coordinator account=physics name=$ua
manage add coordinator account=chemistry name=$ua,$ub
access() { "$top/examples/slurm-access.sh" "$tmp/access" cp "$tmp/access" "$tmp/told"; }
check "slurm-access.sh queries administrators and coordinators of Slurm" access
coordinators="coordinator chemistry $ua $ub
coordinator physics $ua
coordinator theory $ua"
is "the access file holds administrators and coordinators" "$(cat "$tmp/access")" "admin root
$coordinators"
rm "$tmp/told"
check "slurm-access.sh runs again" access
check "slurm-access.sh does not call its command without a change" test ! -e "$tmp/told"
manage modify user $ub set adminlevel=operator
check "slurm-access.sh runs after an operator was added" access
is "the command of slurm-access.sh gets a file with the new operator" "$(cat "$tmp/told")" "admin $ub
admin root
$coordinators"
SLURM_CONF=$tmp/none refuses "slurm-access.sh fails without Slurm" timeout 5 "$top/examples/slurm-access.sh" "$tmp/access"
check "a failure leaves the access file unchanged" cmp "$tmp/access" "$tmp/told"
server=127.0.0.1:$(free_port)
"$O/batchjob_stats_server" --store.path="$db" --web.listen-address="$server" \
    --access.trust-loopback --access.file="$tmp/access" --script.sacct=sacct --script.scontrol=scontrol \
    >"$tmp/server.log" 2>&1 &
on_exit "kill_ours $!"
me() { curl -sf -H "X-Grafana-User: $1" "http://$server/api/v1/me" | grep -o '"admin.*"}'; }
check "the server reads the access file" wait_for 60 me $ua
is "the server knows a coordinator" "$(me $ua)" \
    '"admin":false,"coordinator":true,"accounts":"chemistry,physics,theory"}'
is "the server knows an admin" "$(me $ub)" '"admin":true,"coordinator":true,"accounts":"chemistry"}'

# --- batch scripts ---------------------------------------------------------------

# ua owns the job and coordinates its account, ub is an admin.
script_of() { # user name-of-a-job: the script, and the status
    curl -s -w '%{http_code}\n' -H "X-Grafana-User: $1" "http://$server/api/v1/jobs/$(cat "$tmp/$2")/script"
}
script_text="$(printf '%s\n' '#!/bin/bash' '#SBATCH -t 7 --comment=secret' '#SBATCH -c1 # no -c 9' 'module load sw/gromacs' \
    'true' '#SBATCH --nice=5')"
is "the owner reads the batch script of a job" "$(script_of $ua script | grep -v '^$')" "$script_text
200"
is "so does an admin" "$(script_of $ub script | tail -n 1)" 200
is "another user does not see the job" "$(script_of nobody script | tail -n 1 | tail -c 4)" 404
is "nor does a coordinator see scripts of others" "$(script_of $ua late | tr -d '\n' | grep -c 'Only the owner .*403$')" 1
is "each reading is in the log, with who read it" "$(grep -c "user .* read the batch script of job .* of user $ua (sacct)" \
    "$tmp/server.log")" 2
is "scontrol has the script of a running job that sacct does not show" "$(
    other=127.0.0.1:$(free_port)
    "$O/batchjob_stats_server" --store.path="$db" --web.listen-address="$other" --access.trust-loopback \
        --script.scontrol=scontrol >"$tmp/scontrol.log" 2>&1 &
    of=$!
    server=$other
    wait_for 60 me $ua
    script_of $ua runs | tail -n 2 | grep -v '^$' | tr '\n' ' '
    stop $of)" "sleep 600 200 "
is "a script is not in the store" "$(grep -c secret "$db")" 0
# Slurm uses numbers of jobs again: the store has a job with the same number, of another user and time.
cp "$db" "$tmp/reused.db"
is "the script of a job with the same number, of another user, is not shown" "$(
    python3 - "$tmp/reused.db" "$(cat "$tmp/script")" "$(cat "$tmp/runs")" "$ub" <<-'END'
	import sqlite3, sys
	db = sqlite3.connect(sys.argv[1])
	owner, user = db.execute("SELECT j.owner, j.user FROM job AS j JOIN user AS u ON u.id = j.user"
	                         " WHERE u.name = ?", sys.argv[4:]).fetchone()
	db.execute("UPDATE job SET owner = ?, user = ? WHERE jobid IN (?, ?)", (owner, user, int(sys.argv[2]), int(sys.argv[3])))
	db.commit()
	END
    other=127.0.0.1:$(free_port)
    "$O/batchjob_stats_server" --store.path="$tmp/reused.db" --web.listen-address="$other" --access.trust-loopback \
        --script.sacct=sacct --script.scontrol=scontrol >"$tmp/reused.log" 2>&1 &
    of=$!
    server=$other
    wait_for 60 me $ub
    for job in script runs; do script_of $ub $job | tail -c 4; done
    stop $of)" "404
404"

# --- the same from slurmrestd --------------------------------------------------

if command -v slurmrestd >/dev/null; then
    mkdir "$tmp/rest" && chmod 777 "$tmp/rest"
    cat >"$tmp/rest.yml" <<-END
		name: sandbox
		slurmrestd:
		  unix-socket: $tmp/rest/socket
		sacct:
		  history: 1d
		  pause: 0s
	END
    "$sandbox" as $ua slurmrestd -a rest_auth/local "unix:$tmp/rest/socket" \
        >"$tmp/rest.log" 2>&1 &
    restd=$!
    on_exit "kill_ours $restd"
    wait_for 60 [ -S "$tmp/rest/socket" ] || fail "slurmrestd starts" "$tmp/rest.log"
    rest() {
        "$O/batchjob_stats_db" "$@" --store.path="$tmp/rest.db" \
            --cluster.file="$tmp/rest.yml"
    }
    check "the first import from slurmrestd succeeds" rest run --once
    run_tap "$top/tests/e2e/statsdb_rest.py" "$db" "$tmp/rest.db"
    ended="import sqlite3; print(sqlite3.connect('$tmp/rest.db').execute('''SELECT * FROM job
        WHERE \"end\" IS NOT NULL ORDER BY id''').fetchall())"
    before=$(python3 -c "$ended")
    run_tap "$top/tests/e2e/statsdb_resized.py" slurmrestd "$tmp/rest.db" "$db"
    check "a second import from slurmrestd succeeds" rest run --once
    is "a second import changes no job that has ended" "$(python3 -c "$ended")" "$before"
    check "the second store is consistent" rest check
else
    skip "import from slurmrestd" "not installed: slurmrestd"
fi

# --- the same from Slurm's database --------------------------------------------

if python3 -c 'import ctypes; ctypes.CDLL("libmariadb.so.3")' 2>/dev/null; then
    socket=$SLURM_SANDBOX_DIR/run/mariadb.sock
    sql() { mariadb --no-defaults --socket="$socket" "$@"; }
    (umask 077 && echo 'a$ecret' >"$tmp/password")
    "$top/examples/slurm-database-view" sandbox <"$tmp/password" >"$tmp/view.sql"
    for n in 1 2; do
        check "views and their user are created ($n)" \
            sql --user=root slurm_acct_db -e "source $tmp/view.sql"
    done
    is "the user sees the views and nothing else" \
        "$(sql --user=batchjob --password='a$ecret' -Ne 'SHOW DATABASES' |
            grep -v information_schema)" batchjob_sandbox
    for what in 'DELETE FROM jobs' 'DROP VIEW jobs' 'SELECT * FROM slurm_acct_db.user_table'; do
        refuses "the user may not: $what" \
            sql --user=batchjob --password='a$ecret' batchjob_sandbox -e "$what"
    done
    cat >"$tmp/view.yml" <<-END
		name: sandbox
		mariadb:
		  database: batchjob_sandbox
		  unix-socket: $socket
		  password-file: $tmp/password
		sacct:
		  history: 1d
		  pause: 0s
	END
    view() {
        "$O/batchjob_stats_db" "$@" --store.path="$tmp/view.db" \
            --cluster.file="$tmp/view.yml"
    }
    check "the first import from the views succeeds" view run --once
    check "another import from sacct succeeds" stats run --once
    run_tap "$top/tests/e2e/statsdb_view.py" "$db" "$tmp/view.db"
    ended="import sqlite3; print(sqlite3.connect('$tmp/view.db').execute('''SELECT * FROM job
        WHERE \"end\" IS NOT NULL ORDER BY id''').fetchall())"
    before=$(python3 -c "$ended")
    run_tap "$top/tests/e2e/statsdb_resized.py" views "$tmp/view.db" "$db"
    check "a second import from the views succeeds" view run --once
    is "a second import changes no job that has ended" "$(python3 -c "$ended")" "$before"
    check "the second store is consistent" view check
    echo wrong >"$tmp/password"
    sleep 2 # so that there is a new interval to query
    refuses "a wrong password is refused" view run --once
else
    skip "import from Slurm's database" "not installed: libmariadb3"
fi

# --- warnings and cancelling ------------------------------------------------------

if [ "$SLURM_SANDBOX_CGROUP" != none ]; then
    scancel -p test # its jobs occupy the CPUs
    mkdir "$tmp/cancel" && cp "$work" "$tmp/cancel/work" && chmod 755 "$tmp/cancel/work"
    run_tap "$top/tests/e2e/statsdb_cancel.py" $ua "$tmp/cancel"
else
    skip "warnings and cancelling" "no cgroups to write to here"
fi
complete=1
