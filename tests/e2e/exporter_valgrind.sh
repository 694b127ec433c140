#!/bin/bash
# The exporter under valgrind's memcheck while jobs start and end: no invalid access,
# no leak, no descriptor left open at exit.  TAP.
. "$(dirname "$0")/lib.sh"

command -v valgrind >/dev/null || skip_all "valgrind is not installed"
cg_private=1 # no jobs of other tests here, and none of this test there
cg_init
[ $cg_version != none ] || skip_all "not root, or no cgroups to write to here"

log=$tmp/valgrind.log
EXPORTER_UNDER="valgrind --quiet --error-exitcode=99 --leak-check=full
    --show-leak-kinds=definite,indirect,possible --errors-for-leak-kinds=definite,indirect,possible
    --track-fds=yes --log-file=$log"
start_exporter --path.cgroupfs="$cg_view" --job.grace=1 --sample.slow=1 \
    --collector.process --collector.percore --collector.pressure --collector.hugetlb \
    --collector.steps=tasks
cg_job 0 $(seq 1 20)
cg_run 0 1 "$work" -t 600 -i 95 -p 3 -n 3
check "the exporter shows a job" shows batchjob_job_cpu_seconds_total jobid=1
check "the exporter serves OpenMetrics" scrape "$tmp/om" -H 'Accept: application/openmetrics-text'
check "the exporter serves a compressed page" scrape "$tmp/page" --compressed
for i in $(seq 1 20); do
    cg_kill 0 "$i"
    cg_job 0 $((100 + i))
    scrape || break
done
is "the exporter answers while jobs start and end" "$i" 20
"$top/tests/e2e/hammer.py" -t 5 "$url/metrics" "$url/" "$url/health" >"$tmp/hammer.out" 2>&1
check "the exporter answers several clients" test -s "$tmp/hammer.out"
kill -TERM "$exporter"
wait "$exporter"
is "the exporter ends with status 0 and memcheck finds no error" $? 0
grep -E 'Invalid|ninitialised|lost:' "$log" >"$tmp/bad"
# Open descriptors, without those that the exporter inherited.
awk '/Open file descriptor/ { held = $0; next }
    held != "" && !/inherited from parent/ { print held }
    { held = "" }' "$log" >>"$tmp/bad"
check "memcheck finds no open descriptor" test ! -s "$tmp/bad"
sed 's/^/# /' "$tmp/bad" | head -n 40
complete=1
