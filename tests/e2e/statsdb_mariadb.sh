#!/bin/bash
# Options mariadb.* of batchjob_stats_db with a private MariaDB on a loopback port: TCP
# with a password, TLS, verification of the server's certificate, and the rights of the
# database user.  The tables are those of slurmdbd 22.05, with invented rows
# (statsdb_slurm.sh tests a real slurmdbd, by the socket).  TAP; a quarter minute.
. "$(dirname "$0")/lib.sh"
stats=$O/batchjob_stats_db
for c in mariadbd mariadb-install-db mariadb openssl; do
    command -v $c >/dev/null || skip_all "not installed: $c"
done
python3 -c 'import ctypes; ctypes.CDLL("libmariadb.so.3")' 2>/dev/null ||
    skip_all "not installed: libmariadb3"
[ -x "$stats" ] || skip_all "no batchjob_stats_db"

# --- certificates ----------------------------------------------------------------

ca() { # name
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$tmp/$1.key" -out "$tmp/$1.pem" \
        -subj "/CN=$1" -days 30 2>/dev/null
}
cert() { # name subject-alternative-names
    openssl req -newkey rsa:2048 -nodes -keyout "$tmp/$1.key" -out "$tmp/$1.csr" -subj "/CN=$1" \
        2>/dev/null
    echo "subjectAltName=$2" >"$tmp/$1.ext"
    openssl x509 -req -in "$tmp/$1.csr" -CA "$tmp/ca.pem" -CAkey "$tmp/ca.key" -CAcreateserial \
        -out "$tmp/$1.pem" -extfile "$tmp/$1.ext" -days 10 2>/dev/null
}
ca ca && ca foreign && cert own IP:127.0.0.1,IP:127.0.0.2,DNS:localhost && cert other DNS:db.example

# --- the server ------------------------------------------------------------------

port=$(free_port) socket=$tmp/db.sock server=
sql() { mariadb --no-defaults --skip-ssl --default-character-set=utf8mb4 --socket="$socket" "$@"; }
stop_server() { [ -z "$server" ] || { kill "$server" && wait "$server"; server=; } 2>/dev/null; }
on_exit stop_server
start_server() { # option...
    stop_server
    mariadbd --no-defaults --user="$(id -un)" --datadir="$tmp/db" --tmpdir="$tmp/db.tmp" \
        --socket="$socket" \
        --port="$port" --bind-address=127.0.0.1 --skip-name-resolve --skip-log-bin \
        --innodb-flush-log-at-trx-commit=0 "$@" >"$tmp/server.log" 2>&1 &
    server=$!
    wait_for 60 sql --user=root -e 'SELECT 1' || { fail "MariaDB starts" "$tmp/server.log"; exit 1; }
}
tls() { # certificate [option...]
    local name=$1
    shift
    start_server --ssl-cert="$tmp/$name.pem" --ssl-key="$tmp/$name.key" "$@"
}
# A starting server removes every temporary table in tmpdir, also other servers'.
mkdir "$tmp/db.tmp"
mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$tmp/db" --tmpdir="$tmp/db.tmp" \
    --skip-test-db --auth-root-authentication-method=normal >"$tmp/install.log" 2>&1 ||
    { fail "a database is created" "$tmp/install.log"; exit 1; }
tls own

now=$(date +%s)
{
    echo 'CREATE DATABASE slurm_acct_db; USE slurm_acct_db;'
    cat "$top/tests/fixtures/sched/slurm-acct-22.05.sql"
    cat <<-END
		INSERT INTO tres_table(creation_time, id, type, name) VALUES (1, 1, 'cpu', ''),
		  (1, 2, 'mem', ''), (1, 4, 'node', '');
		INSERT INTO alpha_assoc_table(creation_time, mod_time, id_assoc, user, acct, lft, rgt)
		  VALUES (1, 1, 7, 'ada', 'physics', 1, 2);
		INSERT INTO alpha_job_table(id_job, job_name, id_assoc, account, cpus_req, id_resv, id_wckey,
		  id_user, id_group, het_job_id, het_job_offset, state_reason_prev, nodes_alloc, \`partition\`,
		  priority, state, time_submit, time_eligible, time_start, time_end, tres_alloc, nodelist)
		  VALUES (41, 'naïve|job', 7, 'physics', 2, 0, 0, 1000, 100, 0, 4294967294, 0, 1, 'long', 5, 3,
		  $now - 900, $now - 900, $now - 800, $now - 200, '1=2,2=512,4=1', 'n1');
		INSERT INTO alpha_step_table(job_db_inx, id_step, nodelist, nodes_alloc, state, step_name,
		  task_cnt, task_dist, time_start, time_end, user_sec, user_usec, sys_sec, sys_usec,
		  tres_alloc) VALUES (1, -5, 'n1', 1, 3, 'batch', 1, 0, $now - 800, $now - 200, 12, 345678, 1,
		  2, '1=2,2=512,4=1');
	END
} >"$tmp/tables.sql"
check "the tables of Slurm are created" sql --user=root -e "source $tmp/tables.sql"
(umask 077 && echo 'p#ss wörd' >"$tmp/password" && echo wrong >"$tmp/wrong")
"$top/examples/slurm-database-view" alpha 127.0.0.1 <"$tmp/password" >"$tmp/view.sql"
check "the views, and a user for TCP, are created" \
    sql --user=root slurm_acct_db -e "source $tmp/view.sql"

# --- exit codes by version -------------------------------------------------------

# A job that ended with exit 137, and one with exit 3: what sacct prints.
exits() { # version
    "$top/examples/slurm-database-view" alpha 127.0.0.1 "$1" <"$tmp/password" >"$tmp/exits.sql"
    sql --user=root slurm_acct_db -e "source $tmp/exits.sql"
    for code in 137 3; do
        sql --user=root slurm_acct_db \
            -e "UPDATE alpha_job_table SET exit_code = $code * 256, derived_ec = 9"
        sql --user=root slurm_acct_db -Ne \
            'SELECT concat(ExitCode, " ", DerivedExitCode) FROM batchjob_alpha.jobs'
    done
    sql --user=root slurm_acct_db -e "UPDATE alpha_job_table SET exit_code = 0, derived_ec = 0"
}
# Columns that slurmdbd 23.02 to 24.11 added.
check "the table of jobs gets the columns of later versions" sql --user=root slurm_acct_db -e \
    "ALTER TABLE alpha_job_table ADD licenses text, ADD failed_node tinytext, ADD std_out text, ADD std_err text,
    ADD restart_cnt smallint unsigned DEFAULT 0"
is "up to Slurm 25.05, exit codes from 128 on are less by 128" "$(exits 25.05.3 | xargs)" \
    "9:0 0:9 3:0 0:9"
is "from Slurm 25.11 on, exit codes are whole" "$(exits 25.11 | xargs)" "137:0 0:9 3:0 0:9"
is "a version must be one" "$("$top/examples/slurm-database-view" alpha 127.0.0.1 new \
    <"$tmp/password" 2>&1 >/dev/null | sed 's/.*: //')" "new is not a version of Slurm, such as 25.11"

# --- accounts and TLS ------------------------------------------------------------

conf() { # line-of-mariadb...: other options have correct values
    local k
    {
        printf 'name: alpha\nsacct:\n  history: 1d\n  slice: 1d\n  pause: 0s\nmariadb:\n'
        printf '  %s\n' "database: batchjob_alpha" "$@"
        for k in "port: $port" "password-file: $tmp/password"; do
            case "$*" in *"${k%% *}"*) ;; *) echo "  $k" ;; esac
        done
    } >"$tmp/alpha.yml"
    rm -f "$tmp"/stats.db*
}
run() {
    timeout 60 "$stats" run --once --store.path="$tmp/stats.db" --cluster.file="$tmp/alpha.yml" \
        >"$tmp/stats.log" 2>&1
}
accepts() { # description line-of-mariadb...
    local what=$1
    shift
    conf "$@"
    check "$what" run
    is "$what: the job is imported" "$(python3 -c "
import sqlite3
for r in sqlite3.connect('$tmp/stats.db').execute('''SELECT jobid, name, user, cpus, state,
    cpu_usec, (SELECT count(*) FROM step_v) FROM job_v'''): print(*r)")" \
        "41 naïve|job ada 2 completed 13345680 1"
}
refuses() { # description expression line-of-mariadb...
    local what=$1 why=$2
    shift 2
    conf "$@"
    if run; then fail "$what"; elif grep -Eqi "$why" "$tmp/stats.log"; then pass "$what"
    else fail "$what: the message names the reason" "$tmp/stats.log"; fi
}

accepts "TCP with a password" 'host: 127.0.0.1'
accepts "localhost without a socket uses TCP" 'host: localhost'
refuses "a wrong password is refused" "alpha: mariadb: 1045" 'host: 127.0.0.1' \
    "password-file: $tmp/wrong"
refuses "a closed port is an error" "alpha: mariadb: 200[23]" 'host: 127.0.0.1' "port: $(free_port)"
accepts "TLS" 'host: 127.0.0.1' "ca-file: $tmp/ca.pem"
accepts "TLS with the name localhost" 'host: localhost' "ca-file: $tmp/ca.pem"
refuses "another CA is not trusted" "alpha: mariadb: 2026.*(certificate|verif)" \
    'host: 127.0.0.1' "ca-file: $tmp/foreign.pem"
refuses "a CA file that is not one is refused" "ca-file|mariadb: 2026" 'host: 127.0.0.1' \
    "ca-file: $tmp/none.pem"
sql --user=root -e "ALTER USER 'batchjob'@'127.0.0.1' REQUIRE SSL"
refuses "a user who needs TLS is refused without TLS" "mariadb: 1045" 'host: 127.0.0.1'
accepts "a user who needs TLS connects with TLS" 'host: 127.0.0.1' "ca-file: $tmp/ca.pem"
by_tcp() {
    mariadb --no-defaults --default-character-set=utf8mb4 --host=127.0.0.1 --port="$port" --user=batchjob \
        --password="$(cat "$tmp/password")" --ssl-ca="$tmp/ca.pem" batchjob_alpha -e "$1"
}
check "the user may read" by_tcp 'SELECT count(*) FROM jobs'
for what in 'DELETE FROM jobs' 'SELECT * FROM slurm_acct_db.alpha_job_table' \
    'CREATE TABLE x(a INT)' 'SELECT * FROM mysql.user' "SELECT 1 INTO OUTFILE '$tmp/x'"; do
    check "the user may not: $what" eval '! by_tcp "$what"'
done
sql --user=root -e "ALTER USER 'batchjob'@'127.0.0.1' REQUIRE NONE"
# The client library of MariaDB 11.4 and later does not compare names with 127.0.0.1.
tls own --bind-address=127.0.0.2
accepts "a server with its own name is trusted" 'host: 127.0.0.2' "ca-file: $tmp/ca.pem"
tls other --bind-address=127.0.0.2
refuses "a server with another name is not trusted" "mariadb: 2026.*" 'host: 127.0.0.2' \
    "ca-file: $tmp/ca.pem"
start_server --skip-ssl
refuses "a server without TLS is refused where a CA is named" "mariadb: 2026|SSL|TLS" 'host: 127.0.0.1' \
    "ca-file: $tmp/ca.pem"
accepts "a server without TLS is accepted where no CA is named" 'host: 127.0.0.1'
# --- any cutting into windows ------------------------------------------------------

[ -z "${BJ_TEST_LONG:-}" ] || # some minutes, as the daemon queries one window in a second
    run_tap $python "$top/tests/e2e/statsdb_cuts.py" "$socket" "$port" "$tmp/password"
complete=1
