#!/bin/bash
# The exporter's memory and descriptors do not grow with thousands of jobs, with
# the default collectors and with all.  TAP.
#
#   churn.sh [PASSES]    [10000]
. "$(dirname "$0")/lib.sh"

passes=${1:-10000}
cg_private=1 # no jobs of other tests here, and none of this test there
cg_init
[ $cg_version != none ] || skip_all "not root, or no cgroups to write to here"
cg_job 0 1 # makes the parent directories
cg_kill 0 1
bases=$(cg_paths 0 x | sed 's|/job_x$||')

churn() { # what, option...
    note "$1"
    shift
    start_exporter --path.cgroupfs="$cg_view" --job.grace=1 --sample.slow=1 "$@"
    # shellcheck disable=SC2046,SC2086
    run_tap "$top/tests/e2e/churn.py" --pid "$exporter" --url "$url" \
        --base $bases --leaf "$(cg_leaf)" --passes "$passes"
    scrape
    is "no collector had an error" "$(value batchjob_collector_errors_total | sort -u)" 0
    stop "$exporter"
}

churn "cgroups only"
churn "all collectors" --collector.process --collector.percore \
    --collector.pressure --collector.hugetlb --collector.steps=tasks
complete=1
