#!/bin/sh
# Slurm prolog: write the owner, account and other attributes of a job to a file.
#
# batchjob_exporter and the collectd plugin read /run/batchjob/jobs/JOBID once for
# each job.  Without it they read the environment of the job's processes, which
# the user of the job can change.
#
#   slurm.conf:  Prolog=/etc/slurm/slurm-prolog.sh
#                Epilog=/etc/slurm/slurm-epilog.sh
#                PrologFlags=Alloc
#
# To call it from an existing prolog:  /path/slurm-prolog.sh || :
# The exit status is always 0, because a prolog that fails drains the node.
#
# usage: slurm-prolog.sh [DIRECTORY]

PATH=/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL
umask 022

dir=${1:-/run/batchjob/jobs}
id=${SLURM_JOB_ID:-${SLURM_JOBID:-}}
sluid=${SLURM_JOB_SLUID:-}
newline='
'

# Only a valid id becomes a file name.
case $id in
'' | *[!0-9]*) exit 0 ;;
esac
case $sluid in
s*[!0-9A-Za-z]* | [!s]*) sluid= ;;
esac

# put KEY VALUE: print one line of the file, or nothing without a value.
put() {
    value=$2
    case $value in
    '') return ;;
    *\\* | *"$newline"*)
        # \ becomes \\, and the end of every line but the last becomes \n
        value=$(printf '%s\n' "$value" |
            sed -e 's/\\/\\\\/g' -e '$!s/$/\\n/' | tr -d '\n')
        ;;
    esac
    printf '%s=%s\n' "$1" "$value"
}

# Newer versions of Slurm set the start time; otherwise it is now.
start=${SLURM_JOB_START_TIME:-$(date +%s)}
# When the time limit ends the job (Slurm 26.05), and how often it was requeued.
latest=${SLURM_JOB_END_TIME:-}
restarts=${SLURM_JOB_RESTART_COUNT:-}
case $start in *[!0-9]*) start= ;; esac
case $latest in *[!0-9]*) latest= ;; esac
case $restarts in *[!0-9]*) restarts= ;; esac

content() {
    put jobid "$id"
    put sluid "$sluid"
    put cluster "${SLURM_CLUSTER_NAME:-}"
    put uid "${SLURM_JOB_UID:-${SLURM_UID:-}}"
    put user "${SLURM_JOB_USER:-}"
    put account "${SLURM_JOB_ACCOUNT:-}"
    put partition "${SLURM_JOB_PARTITION:-}"
    put qos "${SLURM_JOB_QOS:-}"
    put name "${SLURM_JOB_NAME:-}"
    put array_job_id "${SLURM_ARRAY_JOB_ID:-}"
    put array_task "${SLURM_ARRAY_TASK_ID:-}"
    put het_job_id "${SLURM_HET_JOB_ID:-}"
    put het_offset "${SLURM_HET_JOB_OFFSET:-}"
    put nodelist "${SLURM_JOB_NODELIST:-}"
    put gpus "${SLURM_JOB_GPUS:-}"
    put start "$start"
    put latest_end "$latest"
    put restarts "$restarts"
}

# A reader sees the whole file or none: it is written under a temporary name and
# then renamed.
tmp=$dir/.$id.$$
if mkdir -p "$dir" && content >"$tmp" && mv -f "$tmp" "$dir/$id"; then
    [ -z "$sluid" ] || ln -f "$dir/$id" "$dir/$sluid"
else
    rm -f "$tmp"
fi
exit 0
