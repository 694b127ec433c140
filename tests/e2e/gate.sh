#!/bin/bash
# All tests of the PromQL gate with a real Prometheus; TAP.
cd "$(dirname "$0")" || exit 1
rc=0
for t in gate_*.py; do
    echo "# $t"
    python3 -W ignore "./$t" "$@" || rc=1
done
exit $rc
