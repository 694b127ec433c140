#!/bin/sh
# Run a command of a job, and report to batchjob_exporter (--trace.enabled) every
# few seconds what it and its child processes use.  Needs only curl.
#
#   batchjob_trace.sh [-e ENDPOINT] [-r SECONDS] [-j JOBID] [-t TOKEN_FILE]
#                     COMMAND [ARGUMENT]...
#
# ENDPOINT is HOST:PORT or a URL [SLURM_EXPORTER, else localhost:9010], with the
# path /trace by default.  SECONDS [SAMPLE_RATE, else 5] must be less than the
# exporter's --trace.rate.  JOBID [SLURM_JOB_ID].  The command keeps its input,
# signals and exit status, also when the exporter does not answer.
set -u
endpoint=${SLURM_EXPORTER:-localhost:9010} rate=${SAMPLE_RATE:-5}
job=${SLURM_JOB_ID:-${SLURM_JOBID:-}} token=

usage() {
    sed -n '5,6s/^# *//p' "$0" >&2
    exit 2
}
while getopts e:r:j:t: option; do
    case $option in
    e) endpoint=$OPTARG ;;
    r) rate=$OPTARG ;;
    j) job=$OPTARG ;;
    t) token=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || usage
case $job in
'' | *[!0-9]*) echo "$0: no job id: not in a job, and no -j" >&2 && exit 2 ;;
esac
case $endpoint in http://* | https://*) ;; *) endpoint=http://$endpoint ;; esac
case ${endpoint#*://} in */*) ;; *) endpoint=$endpoint/trace ;; esac

tree() { # pid: print it and its descendants
    echo "$1"
    # shellcheck disable=SC2046
    set -- $(cat "/proc/$1/task/"*/children 2>/dev/null)
    for pid; do tree "$pid"; done
}

# Print "ticks threads memory read written" of a process and its descendants.
measure() { # pid
    for pid in $(tree "$1"); do
        cat "/proc/$pid/stat" "/proc/$pid/status" "/proc/$pid/io"
    done 2>/dev/null | awk '
        /^[0-9]+ \(.*\) [A-Z] / { sub(/^.*\) /, ""); ticks += $12 + $13 }
        $1 == "Threads:" { threads += $2 }
        $1 == "VmRSS:" { memory += $2 * 1024 }
        $1 == "read_bytes:" { read += $2 }
        $1 == "write_bytes:" { written += $2 }
        END { printf "%.0f %d %.0f %.0f %.0f\n", ticks, threads, memory, read, written }'
}

# The start time of a living process, which identifies it.
birth() { # pid
    sed -n 's/^.*) [^ZX] //p' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f19
}

quoted() { printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g'; }

# curl reads its options from standard input, so no secret is on a command line.
post() { # JSON
    {
        [ -z "$token" ] || printf 'header = "Authorization: Bearer %s"\n' "$(quoted "$(cat "$token")")"
        printf 'header = "Content-Type: application/json"\n'
        printf 'data = "%s"\n' "$(quoted "$1")"
    } | curl -s -m 5 -o /dev/null -K - "$endpoint"
}

watch() { # pid
    hz=$(getconf CLK_TCK)
    user=$(quoted "$(id -un 2>/dev/null || id -u)") host=$(quoted "$(uname -n)")
    born=$(birth "$1") before=
    while [ -n "$born" ] && [ "$(birth "$1")" = "$born" ]; do
        now=$(cut -d' ' -f1 /proc/uptime)
        # shellcheck disable=SC2046
        set -- "$1" $(measure "$1")
        cpus=$(echo "$before $2 $now" | awk -v hz="$hz" '
            NF == 4 && $4 > $2 && $3 >= $1 {
                printf "\"cpus\":%.2f,", ($3 - $1) / hz / ($4 - $2) * 100 }')
        before="$2 $now"
        post "{\"job_id\":$job,\"pid\":$1,$cpus\"threads\":$3,\"mem\":$4,\
\"read_bytes\":$5,\"write_bytes\":$6,\"username\":\"$user\",\"hostname\":\"$host\"}"
        sleep "$rate"
    done
}

# Detached, so that the command gets no child process that it did not start.
(watch $$ </dev/null >/dev/null 2>&1 &)
exec "$@"
