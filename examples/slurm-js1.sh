#!/bin/sh
# EpilogSlurmctld: write jobstats' summary (JS1) of an ended job into its
# AdminComment, so that jobstats, reportseff and portals can read it.
#
# slurm.conf:  EpilogSlurmctld=/etc/slurm/slurm-js1.sh
# batchjob_acct needs the store or a server: /etc/batchjob/acct.yml.
#
# The summary is complete when the final records of all nodes have arrived, so a
# copy of the script waits for them in the background, for ten minutes at most.
#
# usage: slurm-js1.sh [JOBID [CLUSTER]]

PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH

id=${1:-${SLURM_JOB_ID:-}}
cluster=${2:-${SLURM_CLUSTER_NAME:-}}
wait=${JS1_WAIT:-60}
tries=${JS1_TRIES:-10}

case $id in
'' | *[!0-9]*) exit 0 ;;
esac

# All tasks of an array have the id of the first of them in sacctmgr.
if [ $# = 0 ] && [ -n "${SLURM_ARRAY_JOB_ID:-}" ]; then
    id=${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID:-0}
fi

store() {
    n=0
    js1=
    while [ "$n" -lt "$tries" ]; do
        js1=$(batchjob_acct report ${cluster:+--cluster="$cluster"} --format=js1 \
            "$id" 2>/dev/null | tail -n 1)
        case $js1 in
        JS1:None | '') ;;
        JS1:*) break ;;
        esac
        n=$((n + 1))
        [ "$n" -lt "$tries" ] && sleep "$wait"
    done
    case $js1 in
    JS1:*) ;;
    *) return ;;
    esac
    # A job of which nothing is known keeps the comment that it has.
    [ "$js1" = JS1:None ] ||
        sacctmgr -i -Q update job where jobid="$id" \
            ${cluster:+cluster="$cluster"} set AdminComment="$js1"
}

# Slurm waits for the script, but not for the copy.
store >/dev/null 2>&1 </dev/null &
exit 0
