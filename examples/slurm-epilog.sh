#!/bin/sh
# Slurm epilog: remove the file that slurm-prolog.sh wrote.
#
# The exit status is always 0, because an epilog that fails drains the node.
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

# A SLUID is 's' followed by letters and digits.
case $sluid in
'' | s*[!0-9A-Za-z]* | [!s]*) ;;
*) rm -f "$dir/$sluid" ;;
esac
exit 0
