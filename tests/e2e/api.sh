#!/bin/bash
# All tests of batchjob_stats_server; TAP.
cd "$(dirname "$0")" || exit 1
rc=0
for t in api_*.py; do
    [ "$t" = api_lib.py ] && continue
    echo "# $t"
    python3 -W ignore "./$t" || rc=1
done
exit $rc
