#!/bin/bash
# Jobs come and go for a long time: both what reads cgroups only and what reads
# processes too keep nothing of them.  TAP.
#
#   churn.sh [PASSES]    [10000]
. "$(dirname "$0")/lib.sh"

passes=${1:-10000}
cg_private=1 # nobody else's jobs are in our way, nor ours in theirs
cg_init
[ $cg_version != none ] || skip_all "not root, or no cgroups to write to here"
cg_job 0 1 # makes the directories above
cg_kill 0 1
bases=$(cg_paths 0 x | sed 's|/job_x$||')

churn() { # what, option...
    note "$1"
    shift
    start_exporter --path.cgroupfs="$cg_view" --job.grace=1 --sample.slow=1 "$@"
    # shellcheck disable=SC2046,SC2086
    absorb "$top/tests/e2e/churn.py" --pid "$exporter" --url "$url" \
        --base $bases --leaf "$(cg_leaf)" --passes "$passes"
    scrape
    is "nothing of this was a fault" "$(value batchjob_collector_errors_total | sort -u)" 0
    stop "$exporter"
}

churn "cgroups only"
churn "all that can be collected" --collector.process --collector.percore \
    --collector.pressure --collector.hugetlb --collector.steps=tasks
complete=1
