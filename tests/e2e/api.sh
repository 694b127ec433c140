#!/bin/bash
# All tests of batchjob_stats_server; TAP.
cd "$(dirname "$0")" || exit 1
rc=0
TIMEFORMAT='# %R s, CPU %U + %S s'
for t in api_*.py; do
    [ "$t" = api_lib.py ] && continue
    echo "# $t"
    { time python3 -W ignore "./$t" || rc=1; } 2>&1
done
exit $rc
