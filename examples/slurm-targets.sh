#!/bin/sh
# Write the nodes of a Slurm cluster as scrape targets for Prometheus
# (file_sd_configs), with the label cluster.  Run it by cron or a timer on a
# host that has sinfo:
#
#   slurm-targets.sh FILE [PORT]       PORT: 9010
#
# FILE is replaced as a whole, and only when it changes.  If Slurm does not
# answer, it stays as it is.
set -eu
LC_ALL=C
export LC_ALL

file=${1:-} port=${2:-9010}
case $file:$port in
:* | *:*[!0-9]* | *:)
    echo "usage: $0 FILE [PORT]" >&2
    exit 2
    ;;
esac
cluster=$(scontrol show config | sed -n 's/^ClusterName *= *//p')
nodes=$(sinfo --noheader --Node --format=%N)
[ -n "$nodes" ] || {
    echo "$0: sinfo reports no node" >&2
    exit 1
}

new=$(mktemp "$file.XXXXXX")
trap 'rm -f "$new"' EXIT
printf '%s\n' "$nodes" | sort -u | awk -v port="$port" -v cluster="$cluster" '
    !/^[A-Za-z0-9._-]+$/ { bad = $0; exit 1 }
    { list = list (NR > 1 ? ", " : "") "\"" $0 ":" port "\"" }
    END {
        if (bad != "" || cluster !~ /^[A-Za-z0-9._-]*$/)
            exit 1
        printf "[{\"targets\": [%s], \"labels\": {\"cluster\": \"%s\"}}]\n", list, cluster
    }' >"$new" || {
    echo "$0: a name of a node or of the cluster has unexpected characters" >&2
    exit 1
}
if [ -e "$file" ] && cmp -s "$new" "$file"; then
    exit 0
fi
chmod 644 "$new"
mv "$new" "$file"
