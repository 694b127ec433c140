#!/bin/bash
# The service units: their exposure by systemd-analyze is at most 2.0, and their filters
# permit the system calls of the programs, which strace records.  TAP.
. "$(dirname "$0")/lib.sh"
cd "$top" || exit 1

command -v systemd-analyze >/dev/null || skip_all "systemd-analyze is not installed"

# Prints system calls, one per line: @NAME is a set of systemd.
calls() { # word...
    local w
    for w; do
        case $w in
        @*) calls $(systemd-analyze syscall-filter "$w" | sed '1d; s/#.*//') ;;
        *) echo "$w" ;;
        esac
    done
}

# The system calls that a unit permits.
permitted() { # file
    local allow deny
    allow=$(sed -n 's/^SystemCallFilter=\([^~].*\)/\1/p' "$1")
    deny=$(sed -n 's/^SystemCallFilter=~\(.*\)/\1/p' "$1")
    # shellcheck disable=SC2086
    comm -23 <(calls $allow @default | sort -u) <(calls $deny | sort -u)
}

# The system calls in strace's output that the unit does not permit.
refused() { # unit
    sed -nE 's/^[0-9]* *([a-z0-9_]+)\(.*/\1/p' "$tmp/$1.calls" | sort -u |
        comm -23 - <(permitted "examples/$1.service")
}

score() { # file: prints its exposure in tenths
    systemd-analyze security --offline=yes --no-pager "$1" 2>/dev/null |
        sed -nE 's/.*Overall exposure level[^:]*: ([0-9]+)\.([0-9]).*/\1\2/p'
}

for f in examples/*.service; do
    s=$(score "$f")
    if [ -z "$s" ]; then
        skip "${f##*/} is exposed at 2.0 at most" "systemd-analyze cannot read files (systemd 250)"
    else
        check "${f##*/} is exposed at 2.0 at most ($((s / 10)).$((s % 10)))" [ "$s" -le 20 ]
    fi
done

# As a user without privileges: as root SQLite also calls fchown.
drop=
[ "$(id -u)" != 0 ] || drop='setpriv --reuid=65534 --regid=65534 --clear-groups'
traced() { # unit command...
    local unit=$1
    shift
    # shellcheck disable=SC2086
    $drop strace -qq -f -o "$tmp/$unit.calls" "$@" >"$tmp/$unit.log" 2>&1
}
all_permitted() { # unit
    check "$1 makes system calls" grep -q 'exit_group(' "$tmp/$1.calls"
    is "the filter of $1 permits the program's system calls" "$(refused "$1")" ""
}
answers() { curl -sf -o "$tmp/answer" "$@"; }
serve() { # unit url program argument...: runs the program under strace until the
    # URL responds, and until the system call $awaited, if set
    local unit=$1 url=$2 pid
    shift 2
    traced "$unit" "$@" &
    wait_for 60 answers "$url"
    check "$unit responds under strace" answers "$url"
    [ -z "${awaited:-}" ] || wait_for 60 grep -q "$awaited" "$tmp/$unit.calls"
    pid=$(sed -nE '1s/^([0-9]+) .*/\1/p' "$tmp/$unit.calls")
    kill "$pid"
    wait $!
}

if ! strace -qq -o /dev/null true 2>/dev/null; then
    skip "filters permit the programs' system calls" "strace is not installed"
    complete=1
    exit
fi
mkdir -p "$tmp/spool" "$tmp/bin" "$tmp/programs"
# The build folder may be in a folder that only its owner may enter.
cp "$O"/batchjob_{exporter,snmp,stats_db,stats_server} "$tmp/programs"
chmod 777 "$tmp" "$tmp/spool"
port=$(free_port)
echo '{}' >"$tmp/spool/x.json"
awaited="connect.*htons($port)" serve batchjob_exporter "http://127.0.0.1:$port/metrics" "$tmp/programs/batchjob_exporter" \
    "--web.listen-address=127.0.0.1:$port" "--energy.state-file=$tmp/energy.state" "--record.dir=$tmp/spool" \
    "--record.url=http://127.0.0.1:$port" --record.send-interval=0.1
check "the exporter keeps a record that no receiver has taken" [ -e "$tmp/spool/x.json" ]
rm -f "$tmp/spool/x.json"
all_permitted batchjob_exporter

# A simulated master walks the MIB and closes the session.
$python tests/e2e/agentx.py walk "$tmp/agentx" >"$tmp/walked" 2>&1 &
walker=$!
wait_for 60 test -S "$tmp/agentx"
traced batchjob_snmp "$tmp/programs/batchjob_snmp" "--agentx.socket=$tmp/agentx" "--energy.state-file=$tmp/energy.state" &
wait_for 60 dead $walker
kill "$(sed -nE '1s/^([0-9]+) .*/\1/p' "$tmp/batchjob_snmp.calls")"
wait $!
check "batchjob_snmp answers under strace" grep -qE '^[1-9][0-9]+ values$' "$tmp/walked"
all_permitted batchjob_snmp

cp tests/e2e/statsdb_sacct.py "$tmp/bin/sacct"
echo '{"seed": 7, "now": 1700000000, "count": 50, "days": 1}' >"$tmp/bin/sacct.env"
cat >"$tmp/alpha.yml" <<END
name: alpha
sacct: {command: $tmp/bin/sacct, history: 2d, pause: 0s}
records: {dir: $tmp/spool}
END
traced batchjob_stats_db "$tmp/programs/batchjob_stats_db" --once "--store.path=$tmp/stats.db" "--cluster.file=$tmp/alpha.yml" \
    "--web.listen-address=127.0.0.1:$(free_port)"
check "batchjob_stats_db imports under strace" [ -s "$tmp/stats.db" ]
all_permitted batchjob_stats_db

echo '* the-token-of-any-node' >"$tmp/tokens"
chmod 600 "$tmp/tokens"
[ -z "$drop" ] || chown 65534 "$tmp/tokens"
port=$(free_port)
traced batchjob_stats_db "$tmp/programs/batchjob_stats_db" "--store.path=$tmp/stats.db" "--cluster.file=$tmp/alpha.yml" \
    "--record.listen-address=127.0.0.1:$port" "--record.token-file=$tmp/tokens" &
receives() {
    answers -H 'Authorization: Bearer the-token-of-any-node' --data-binary \
        '{"format":1,"host":"node07","jobid":"7","end":9}' "http://127.0.0.1:$port/records"
}
wait_for 60 receives
is "batchjob_stats_db receives a record under strace" "$(cat "$tmp/answer")" '{"refused":[],"stored":1}'
kill "$(sed -nE '1s/^([0-9]+) .*/\1/p' "$tmp/batchjob_stats_db.calls")"
wait $!
all_permitted batchjob_stats_db

# Simulated commands of Slurm: they print nothing except one administrator.
for c in squeue sinfo scontrol sdiag sacctmgr; do
    printf '#!/bin/sh\n%s\n' "case \$0\$* in */sacctmgr*AdminLevel) echo 'root|Administrator' ;; esac" >"$tmp/bin/$c"
    chmod 755 "$tmp/bin/$c"
done
port=$(free_port)
awaited='execve.*/squeue' serve batchjob_exporter_cluster "http://127.0.0.1:$port/metrics" "$tmp/programs/batchjob_exporter" \
    --config.file=examples/exporter_cluster.yml "--cluster.path=$tmp/bin" "--web.listen-address=127.0.0.1:$port"
check "batchjob_exporter_cluster runs Slurm's commands" grep -q 'execve.*/squeue' "$tmp/batchjob_exporter_cluster.calls"
all_permitted batchjob_exporter_cluster
PATH=$tmp/bin:$PATH traced batchjob_slurm_access examples/slurm-access.sh "$tmp/access"
is "slurm-access.sh writes its file under strace" "$(cat "$tmp/access")" "admin root"
all_permitted batchjob_slurm_access
check "systemd accepts the timer" systemd-analyze verify examples/batchjob_slurm_access.timer

port=$(free_port)
serve batchjob_stats_server "http://127.0.0.1:$port/api/v1/openapi.json" "$tmp/programs/batchjob_stats_server" \
    "--web.listen-address=127.0.0.1:$port" "--web.unix-socket=$tmp/api.sock" "--store.path=$tmp/stats.db"
all_permitted batchjob_stats_server
complete=1
