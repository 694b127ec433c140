#!/bin/sh
# Slurm epilog: remove what slurm-prolog.sh left.
#
# It always ends with 0, because an epilog that fails drains the node.
#
# usage: slurm-epilog.sh [DIRECTORY]

PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH

dir=${1:-/run/batchjob/jobs}
id=${SLURM_JOB_ID:-${SLURM_JOBID:-}}
sluid=${SLURM_JOB_SLUID:-}

case $id in
'' | *[!0-9]*) exit 0 ;;
esac
rm -f "$dir/$id"

# 's' and letters or digits: the name of nothing else in there.
case $sluid in
'' | s*[!0-9A-Za-z]* | [!s]*) ;;
*) rm -f "$dir/$sluid" ;;
esac
exit 0
