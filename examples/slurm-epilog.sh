#!/bin/sh
# Slurm epilog: request the last sample of the job, and remove the file that
# slurm-prolog.sh wrote.
#
# The sample needs the job's cgroup, which Slurm keeps until the epilog has ended
# only with PrologFlags=RunInJob.
#
# The exit status is always 0, because an epilog that fails drains the node.
#
# usage: slurm-epilog.sh [DIRECTORY [REQUESTS]]

PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH

dir=${1:-/run/batchjob/jobs}
requests=${2:-/run/batchjob_sample/requests}
id=${SLURM_JOB_ID:-${SLURM_JOBID:-}}
sluid=${SLURM_JOB_SLUID:-}

case $id in
'' | *[!0-9]*) exit 0 ;;
esac
# The exporter removes the file when it has sampled the job; wait half a second at
# most.
if [ -d "$requests" ] && : >"$requests/$id"; then
    n=0
    while [ -e "$requests/$id" ] && [ $n -lt 50 ]; do
        sleep 0.01
        n=$((n + 1))
    done
    rm -f "$requests/$id"
fi 2>/dev/null
rm -f "$dir/$id"

# A SLUID is 's' followed by letters and digits.
case $sluid in
'' | s*[!0-9A-Za-z]* | [!s]*) ;;
*) rm -f "$dir/$sluid" ;;
esac
exit 0
