# Helpers of the checks that run inside the guest.  Sourced, not run.
#
# Everything here is ten to twenty times slower than on a real machine, so
# nothing waits for a fixed time: tests wait for conditions, and fail after
# $patience seconds.

export LC_ALL=C
here=/opt/bj
tmp=$here/tmp
patience=${PATIENCE:-300}
grace=20    # seconds that ended jobs stay
interval=5  # of collectd
exporter=http://127.0.0.1:9010/metrics
collectd=http://127.0.0.1:9103/metrics
slurm=$here/tests/sandbox/slurm
cgroup=/sys/fs/cgroup
mkdir -p "$tmp" "$here/jobs"
chmod 1777 "$here/jobs"

# --- TAP ---------------------------------------------------------------------

tests=0 failures=0

ok() { # text
    tests=$((tests + 1))
    echo "ok $tests - $1"
}

not_ok() { # text [detail...]
    tests=$((tests + 1)) failures=$((failures + 1))
    echo "not ok $tests - $1"
    shift
    [ $# -eq 0 ] || printf '%s\n' "$@" | sed 's/^/#   /'
}

note() { printf '# %s\n' "$*"; }

check() { # text command...: ok when the command succeeds
    local text=$1 out
    shift
    if out=$("$@" 2>&1); then ok "$text"; else not_ok "$text" "failed: $*" "$out"; fi
}

done_testing() {
    echo "1..$tests"
    note "$failures of $tests failed"
    [ "$failures" = 0 ]
}

# --- waiting -----------------------------------------------------------------

within() { # seconds command...: wait until the command succeeds
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 1
    done
}

eventually() { # text command...
    local text=$1
    shift
    if within "$patience" "$@"; then
        ok "$text"
    else
        not_ok "$text" "not within $patience s: $*"
        return 1
    fi
}

# --- pages -------------------------------------------------------------------

page() { # exporter|collectd: the page, also kept in $tmp/HOST.page
    curl -sS --max-time 60 "${!1}" >"$tmp/$1.page" && cat "$tmp/$1.page"
}

# samples NAME LABEL...: values of the series with that name and all these
# labels on the page on stdin.  Labels are written as on the page: jobid="77";
# one that ends in @ also matches longer values that continue with @.
samples() {
    gawk -v name="$1" -v wanted="$(shift; printf '%s\n' "$@")" '
        BEGIN { n = split(wanted, want, "\n") }
        function has(w,  part) {
            part = substr(w, 1, length(w) - 1)
            if (w !~ /@$/) return index($0, w)
            return index($0, part "\"") || index($0, part "@")
        }
        index($0, name "{") == 1 {
            for (i = 1; i <= n; i++)
                if (want[i] != "" && !has(want[i])) next
            sub(/.*} /, ""); print $1
        }'
}

# The name that a metric of the exporter has in collectd.
collectd_name() {
    local n=$1 end=
    case $n in *_total) n=${n%_total} end=_total ;; esac
    case $n in
    *_time_seconds) ;; # seconds in both
    *_seconds) n=${n%_seconds}_usec ;;
    esac
    echo "collectd_batchjob_$n$end"
}

# value HOST NAME JOB [LABEL VALUE]: the value of NAME (without batchjob_) on
# HOST's page, in the unit that collectd counts in, so that the hosts can be
# compared; nothing if it is absent.
value() {
    local host=$1 name=$2 job=$3 label=${4:-} sub=${5:-} scale=1
    if [ "$host" = collectd ]; then
        # The plugin instance is JOB, or JOB@NODE if there are several slurmd.
        page collectd | samples "$(collectd_name "$name")" "batchjob=\"$job@" \
            ${label:+"type=\"$sub\""}
        return
    fi
    case $name in
    *_time_seconds) ;;
    *_seconds | *_seconds_total) scale=1000000 ;;
    esac
    page exporter | samples "batchjob_$name" "jobid=\"$job\"" ${label:+"$label=\"$sub\""} |
        gawk -v scale=$scale '{ printf "%.0f\n", $1 * scale }'
}

# When collectd took the newest sample of a job, in milliseconds.
collectd_stamp() { # job
    page collectd | gawk -v job="{batchjob=\"$1" '
        (index($0, job "\"") || index($0, job "@")) && $NF > t { t = $NF } END { print t + 0 }'
}

now_msec() { date +%s%3N; }
collectd_is_newer() { # job msec
    [ "$(collectd_stamp "$1")" -gt "$2" ]; }

# --- comparing ---------------------------------------------------------------

# agree HOST NAME JOB SLACK READER...: READER prints the kernel's value.  The
# host's value, taken between two readings, must lie between them, with a
# tolerance of SLACK.  An absent value does not agree.
agree() {
    local host=$1 name=$2 job=$3 slack=$4 before after v since
    shift 4
    before=$("$@") since=$(now_msec)
    [ "$host" = exporter ] || within "$patience" collectd_is_newer "$job" "$since"
    v=$(value "$host" "$name" "$job" ${sub:+$sub})
    after=$("$@")
    if gawk -v a="$before" -v b="$after" -v v="$v" -v s="$slack" 'BEGIN {
            lo = a < b ? a + 0 : b + 0; hi = a < b ? b + 0 : a + 0
            exit !(a != "" && b != "" && v ~ /^[0-9]+$/ && v >= lo - s && v <= hi + s) }'; then
        ok "$host: $name of $job agrees with the kernel ($v)"
    else
        not_ok "$host: $name of $job agrees with the kernel" "said '$v'" "kernel $before .. $after, slack $slack: $*"
    fi
}

both_agree() { agree exporter "$@"; agree collectd "$@"; }

equal() { # text got expected
    if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got      $2" "expected $3"; fi
}

# near TEXT A B PERCENT SLACK
near() {
    if gawk -v a="$2" -v b="$3" -v p="$4" -v s="$5" 'BEGIN {
            d = a > b ? a - b : b - a; m = a > b ? a : b
            exit !(a != "" && b != "" && d <= m * p / 100 + s) }'; then
        ok "$1 ($2, $3)"
    else
        not_ok "$1" "'$2' and '$3' differ by more than $4 % + $5"
    fi
}

# --- the kernel --------------------------------------------------------------

key() { gawk -v k="$2" '$1 == k { print $2 }' "$1"; }          # FILE KEY
key_usec() { key "$1" "$2"; }
read_file() { cat "$1"; }
psi() { sed -n "s/^$2 .*total=\([0-9]*\)/\1/p" "$1"; }         # FILE some|full
io_of() { # FILE KEY: summed over the devices of io.stat
    gawk -v k="$2=" '{ for (i = 2; i <= NF; i++) if (index($i, k) == 1) n += substr($i, length(k) + 1) }
        END { printf "%.0f\n", n }' "$1"
}
cpus_of() { # a list such as 0-3,7 -> number of CPUs
    gawk -F, '{ for (i = 1; i <= NF; i++) { m = split($i, r, "-"); n += m == 2 ? r[2] - r[1] + 1 : 1 } } END { print n + 0 }' "$1"
}
