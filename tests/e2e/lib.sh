# Functions for the end-to-end tests in shell; sourced.  Results are TAP.
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
prom="$python -S $top/tests/e2e/prom.py" # -S: it starts in less time
work=$O/e2e/work
tmp=$(mktemp -d "${TMPDIR:-/tmp}/bj-e2e.XXXXXX") || exit 1
chmod 755 "$tmp"

slurm_since() { # version: Slurm is of this version or a later one
    local version
    version=$(sinfo --version)
    ! [[ ${version#* } < $1 ]]
}

# --- results -----------------------------------------------------------------

tests=0 failures=0

pass() { tests=$((tests + 1)); echo "ok $tests - $*"; }

fail() { # description [file with the reason]
    tests=$((tests + 1)) failures=$((failures + 1))
    echo "not ok $tests - $1"
    # The reason is at the end of the file.
    [ $# -lt 2 ] || tail -n 60 "$2" | sed 's/^/# /'
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
        { cat "$tmp/check.out"; samples "$@"; echo "failed: $*"; } >"$tmp/check.why"
        fail "$what" "$tmp/check.why"
    fi
}

# Print samples, from the last pages, of the metrics that a command names.
samples() { # argument...
    local word
    for word in "$@"; do
        case $word in *_*)
            grep -hsE -m 8 "^$word[{ ]" "$tmp/page" "$tmp/collectd_page" ${dir:+"$dir/page"} ;;
        esac
    done
}

is() { # description got want
    if [ "$2" = "$3" ]; then
        pass "$1"
    else
        printf 'got:  %s\nwant: %s\n' "$2" "$3" >"$tmp/is.why"
        fail "$1" "$tmp/is.why"
    fi
}

near() { # description got want relative absolute: got is want within a tolerance
    if $prom near "$3" "${2:-nan}" "$4" "$5" 2>/dev/null; then
        pass "$1 ($2, want $3)"
    else
        fail "$1: got ${2:-nothing}, want $3 within $4 of it or $5"
    fi
}

# Report the results of a program that prints TAP, numbered or not.
run_tap() { # command...
    local line rc seen=0 bad=0
    "$@" >"$tmp/run_tap.out" 2>&1
    rc=$?
    while IFS= read -r line; do
        case $line in
        'ok '*) seen=1; pass "${line#*- }" ;;
        'not ok '*) seen=1 bad=1; fail "${line#*- }" ;;
        '#'*) echo "$line" ;;
        *) echo "# $line" ;;
        esac
    done <"$tmp/run_tap.out"
    [ $seen = 1 ] && { [ $rc = 0 ] || [ $bad = 1 ]; } || fail "ran: $* (code $rc)" "$tmp/run_tap.out"
}

skip_all() { # why
    complete=1
    echo "1..0 # SKIP $*"
    exit 0
}

# --- the end -----------------------------------------------------------------

at_exit=()
on_exit() { at_exit=("$*" "${at_exit[@]}"); }

finish() {
    local rc=$? c
    trap '' INT TERM
    trap - EXIT
    for c in "${at_exit[@]}"; do eval "$c"; done
    # A test that ends early fails.
    [ -n "${complete:-}" ] || fail "ran to its end (it stopped with code $rc)"
    echo "1..$tests"
    if [ -n "${KEEP:-}" ]; then note "kept $tmp"; else rm -rf "$tmp"; fi
    exit $((failures > 0))
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- waiting and processes ---------------------------------------------------

# Repeat a command until it succeeds; give up after so many seconds of an idle
# machine: five times as many on this one.
wait_for() { # seconds command...
    local end=$((SECONDS + 5 * $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}

free_ports() { $python "$top/tests/e2e/ports.py" "$@"; } # number: print the first of as many successive ports
free_port() { free_ports 1; }

dead() { ! kill -0 "$1" 2>/dev/null; }

# Another test may have a process with this id by now; each test has its own network
# namespace.
is_ours() { [ "$(readlink "/proc/$1/ns/net")" = "$(readlink /proc/self/ns/net)" ]; }
kill_ours() { # pid [signal]
    is_ours "$1" && kill "${2:--TERM}" "$1" 2>/dev/null
}

stop() { # pid: SIGTERM, after 60 s SIGKILL
    local n
    kill_ours "$1" || return 0
    for n in $(seq 1200); do
        is_ours "$1" || break
        sleep 0.05
    done
    kill_ours "$1" -KILL && note "had to kill $1"
    wait "$1" 2>/dev/null
    return 0
}

# --- hosts -------------------------------------------------------------------

# start_exporter OPTION...: sets exporter (its pid) and url.
start_exporter() {
    local log=$tmp/exporter.log first_line
    touch "$log"
    first_line=$(($(wc -l <"$log") + 1))
    ${EXPORTER_UNDER:-} "$O/batchjob_exporter" \
        --web.listen-address=127.0.0.1:0 --energy.state-file= "$@" >>"$log" 2>&1 &
    exporter=$!
    on_exit "stop $exporter"
    url() { tail -n "+$first_line" "$log" | sed -n 's/.*"listening on \(127[^"]*\)".*/http:\/\/\1/p' | grep -m 1 .; }
    wait_for 60 eval "dead $exporter || url"
    url=$(url)
    [ -n "$url" ] && wait_for 60 curl -sf "$url/health" ||
        { fail "the exporter answers" "$log"; exit 1; }
}

scrape() { # [path of the page [curl option...]]
    local to=${1:-$tmp/page}
    [ $# -eq 0 ] || shift
    curl -sSf --max-time 60 "$@" "$url/metrics" >"$to" 2>"$tmp/scrape.err"
}

value() { $prom value "$tmp/page" "$@"; } # of the last scrape

# Whether a scrape has that sample; for wait_for.
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
		EnergyStateFile ""
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
    on_exit "stop $collectd"
    wait_for 60 curl -sf "$collectd_url/metrics" ||
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
    curl -sSf --max-time 60 "$collectd_url/metrics" >"${1:-$tmp/collectd_page}" \
        2>"$tmp/scrape.err"
}
collectd_value() { $prom value "$tmp/collectd_page" "$@"; }
collectd_shows() { scrape_collectd && $prom value "$tmp/collectd_page" "$@"; }
collectd_shows_not() { scrape_collectd && ! $prom value "$tmp/collectd_page" "$@"; }

. "$top/tests/e2e/cgroup.sh"
