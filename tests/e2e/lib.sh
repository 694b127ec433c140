# What the end-to-end tests share; sourced.  Results are TAP.
#
# Environment: O (build folder), KEEP=1 leaves the scratch folder.
# shellcheck shell=bash disable=SC2034

set -u
umask 022
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
export PATH=$PATH:/usr/sbin:/sbin
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
O=${O:-build}
case $O in /*) ;; *) O=$top/$O ;; esac
python=/usr/bin/python3
[ -x $python ] || python=python3
prom="$python $top/tests/e2e/prom.py"
work=$O/e2e/work
tmp=$(mktemp -d "${TMPDIR:-/tmp}/bj-e2e.XXXXXX") || exit 1
chmod 755 "$tmp"

# --- results -----------------------------------------------------------------

tests=0 failures=0

pass() { tests=$((tests + 1)); echo "ok $tests - $*"; }

fail() { # description [file with the reason]
    tests=$((tests + 1)) failures=$((failures + 1))
    echo "not ok $tests - $1"
    [ $# -lt 2 ] || head -n 60 "$2" | sed 's/^/# /'
}

skip() { # description, why
    tests=$((tests + 1))
    echo "ok $tests - $1 # SKIP $2"
}

note() { sed 's/^/# /' <<<"$*"; }

check() { # description command...
    local what=$1
    shift
    if "$@" >"$tmp/check.out" 2>&1; then
        pass "$what"
    else
        { echo "failed ($?): $*"; cat "$tmp/check.out"; } >"$tmp/check.why"
        fail "$what" "$tmp/check.why"
    fi
}

is() { # description got want
    if [ "$2" = "$3" ]; then
        pass "$1"
    else
        printf 'got:  %s\nwant: %s\n' "$2" "$3" >"$tmp/is.why"
        fail "$1" "$tmp/is.why"
    fi
}

near() { # description got want relative absolute: is got near want?
    if $prom near "$3" "${2:-nan}" "$4" "$5" 2>/dev/null; then
        pass "$1 ($2, want $3)"
    else
        fail "$1: got ${2:-nothing}, want $3 within $4 of it or $5"
    fi
}

# Take over the results of a program that prints "ok - ..." and "not ok - ...".
absorb() { # command...
    local line rc seen=0
    "$@" >"$tmp/absorb.out" 2>&1
    rc=$?
    while IFS= read -r line; do
        case $line in
        'ok - '*) seen=1; pass "${line#ok - }" ;;
        'not ok - '*) seen=1; fail "${line#not ok - }" ;;
        *) echo "# $line" ;;
        esac
    done <"$tmp/absorb.out"
    [ $rc = 0 ] && [ $seen = 1 ] || fail "ran: $* (code $rc)" "$tmp/absorb.out"
}

skip_all() { # why
    echo "1..0 # SKIP $*"
    exit 0
}

# --- the end -----------------------------------------------------------------

at_exit=()
later() { at_exit=("$*" "${at_exit[@]}"); }

finish() {
    local rc=$? c
    trap '' INT TERM
    trap - EXIT
    for c in "${at_exit[@]}"; do eval "$c"; done
    # A test that ends early is no test that passed.
    [ -n "${complete:-}" ] || fail "ran to its end (it stopped with code $rc)"
    echo "1..$tests"
    if [ -n "${KEEP:-}" ]; then note "kept $tmp"; else rm -rf "$tmp"; fi
    [ $failures = 0 ]
    exit
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- waiting and processes ---------------------------------------------------

wait_for() { # seconds command...: until it succeeds
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}

free_port() { # one that nobody listens on now
    $python -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

dead() { ! kill -0 "$1" 2>/dev/null; }

stop() { # pid: politely, then not
    local n
    kill "$1" 2>/dev/null || return 0
    for n in $(seq 100); do
        dead "$1" && break
        sleep 0.05
    done
    kill -KILL "$1" 2>/dev/null && note "had to kill $1"
    wait "$1" 2>/dev/null
    return 0
}

# --- hosts -------------------------------------------------------------------

# start_exporter OPTION...: sets exporter (its pid) and url.
start_exporter() {
    local port
    port=$(free_port)
    url=http://127.0.0.1:$port
    ${EXPORTER_UNDER:-} "$O/batchjob_exporter" \
        --web.listen-address="127.0.0.1:$port" "$@" >>"$tmp/exporter.log" 2>&1 &
    exporter=$!
    later "stop $exporter"
    wait_for 20 curl -sf "$url/health" ||
        { fail "the exporter answers" "$tmp/exporter.log"; exit 1; }
}

scrape() { # [path of the page [curl option...]]
    local to=${1:-$tmp/page}
    [ $# -eq 0 ] || shift
    curl -sSf --max-time 20 "$@" "$url/metrics" >"$to" 2>"$tmp/scrape.err"
}

value() { $prom value "$tmp/page" "$@"; } # of the last scrape

# 0 when a scrape has that sample; for wait_for.
shows() { scrape && $prom value "$tmp/page" "$@"; }
shows_not() { scrape && ! $prom value "$tmp/page" "$@"; }

promtool_clean() { # file
    promtool check metrics <"$1" >"$tmp/promtool.out" 2>&1 && return
    cat "$tmp/promtool.out"
    return 1
}

# start_collectd INTERVAL "lines of <Plugin batchjob>": sets collectd (its
# pid) and collectd_url (of write_prometheus).
start_collectd() {
    local port dir=$tmp/collectd
    port=$(free_port)
    collectd_url=http://127.0.0.1:$port
    mkdir -p "$dir"
    cat >"$dir/collectd.conf" <<-END
		Hostname "e2e"
		FQDNLookup false
		BaseDir "$dir"
		PIDFile "$dir/pid"
		PluginDir "$(collectd_plugins)"
		TypesDB "/usr/share/collectd/types.db"
		TypesDB "$top/types.db"
		Interval $1
		MaxReadInterval 10
		LoadPlugin logfile
		<Plugin logfile>
		  LogLevel info
		  File "$dir/log"
		</Plugin>
		PluginDir "$O"
		LoadPlugin batchjob
		<Plugin batchjob>
		$2
		</Plugin>
		PluginDir "$(collectd_plugins)"
		LoadPlugin write_prometheus
		<Plugin write_prometheus>
		  Host "127.0.0.1"
		  Port "$port"
		</Plugin>
	END
    collectd -f -C "$dir/collectd.conf" >"$dir/out" 2>&1 &
    collectd=$!
    later "stop $collectd"
    wait_for 20 curl -sf "$collectd_url/metrics" ||
        { fail "collectd answers" "$dir/log"; exit 1; }
}

collectd_plugins() {
    local d
    for d in /usr/lib/collectd /usr/lib/*/collectd /usr/lib64/collectd; do
        [ -e "$d/write_prometheus.so" ] && echo "$d" && return
    done
    return 1
}

scrape_collectd() { # [path of the page]
    curl -sSf --max-time 20 "$collectd_url/metrics" >"${1:-$tmp/cpage}" \
        2>"$tmp/scrape.err"
}
cvalue() { $prom value "$tmp/cpage" "$@"; }
collectd_shows() { scrape_collectd && $prom value "$tmp/cpage" "$@"; }
collectd_shows_not() { scrape_collectd && ! $prom value "$tmp/cpage" "$@"; }

# --- cgroups -----------------------------------------------------------------
# Jobs as Slurm would make them, below a node name that is ours alone.

cg=/sys/fs/cgroup
cg_node=bje2e$$
cg_controllers=
cg_slice=bje2e$$.slice

# Which hierarchies can be used: sets cg_version to v1, v2 or none.
cg_init() {
    local c
    cg_version=none
    if [ -e $cg/cgroup.controllers ]; then
        mkdir $cg/$cg_slice 2>/dev/null || return 0
        cg_version=v2
        for c in cpu memory pids cpuset io; do
            echo +$c >$cg/cgroup.subtree_control 2>/dev/null
            echo +$c >$cg/$cg_slice/cgroup.subtree_control 2>/dev/null
        done
    else
        for c in cpuacct memory cpuset pids cpu blkio freezer devices; do
            mkdir "$cg/$c/slurm_$cg_node" 2>/dev/null || continue
            cg_controllers="$cg_controllers $c"
            [ $c != cpuset ] ||
                echo 1 >$cg/$c/slurm_$cg_node/cgroup.clone_children
            cg_version=v1
        done
        # clone_children copies what the parent has: that must be set first.
        [ ! -d $cg/cpuset/slurm_$cg_node ] || for c in cpus mems; do
            cat $cg/cpuset/cpuset.$c >$cg/cpuset/slurm_$cg_node/cpuset.$c
        done
    fi
    [ $cg_version = none ] || later cg_end
}

cg_paths() { # uid job: the job's directories
    local c
    if [ $cg_version = v2 ]; then
        echo "$cg/$cg_slice/${cg_node}_slurmstepd.scope/job_$2"
    else
        for c in $cg_controllers; do echo "$cg/$c/slurm_$cg_node/uid_$1/job_$2"; done
    fi
}

cg_path() { # controller uid job
    if [ $cg_version = v2 ]; then cg_paths "$2" "$3"; else
        echo "$cg/$1/slurm_$cg_node/uid_$2/job_$3"
    fi
}

# Where processes go: on v2 only leaves may have some.
cg_leaf() { [ $cg_version = v2 ] && echo /step_0/user/task_0; }

cg_job() { # uid job...: make them
    local uid=$1 job p
    shift
    for job in "$@"; do
        for p in $(cg_paths "$uid" "$job"); do
            mkdir -p "$p$(cg_leaf)" || return
            [ $cg_version != v2 ] || cg_delegate "$p"
        done
    done
}

cg_delegate() { # v2 directory: switch on below what is on here
    local d c
    for d in "${1%/*}" "$1" "$1/step_0" "$1/step_0/user"; do
        for c in $(cat "$d/cgroup.controllers" 2>/dev/null); do
            echo "+$c" >"$d/cgroup.subtree_control" 2>/dev/null
        done
    done
}

cg_enter() { # uid job pid
    local p
    for p in $(cg_paths "$1" "$2"); do
        echo "$3" >"$p$(cg_leaf)/cgroup.procs" || return
    done
}

# Start a command inside a job, as its user: sets cg_pid.
cg_run() { # uid job command...
    local uid=$1 job=$2
    shift 2
    (
        cg_enter "$uid" "$job" "$BASHPID" || exit 1
        cd / && exec setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
    ) >>"$tmp/jobs.out" 2>&1 &
    cg_pid=$!
}

cg_kill() { # uid job: its processes, then its directories
    local p
    for p in $(cg_paths "$1" "$2"); do
        cg_remove "$p"
    done
}

cg_remove() { # directory
    local n d
    for n in $(seq 200); do
        [ -d "$1" ] || return 0
        find "$1" -depth -name cgroup.procs -exec cat {} + 2>/dev/null |
            sort -u | xargs -r kill -KILL 2>/dev/null
        find "$1" -depth -type d 2>/dev/null |
            while read -r d; do rmdir "$d" 2>/dev/null; done
        [ -d "$1" ] || return 0
        sleep 0.05
    done
    note "cannot remove $1"
    return 1
}

cg_end() {
    local d
    for d in $cg/*/"slurm_$cg_node" "$cg/$cg_slice"; do
        [ ! -d "$d" ] || cg_remove "$d"
    done
}
