#!/bin/bash
# All tests of the PromQL gate with a real Prometheus, random queries with VictoriaMetrics,
# and what dashboards show.  TAP.  gate.sh [NUMBER of random queries]
cd "$(dirname "$0")" || exit 1
rc=0
for t in gate_*.py; do
    echo "# $t"
    python3 -W ignore "./$t" "$@" || rc=1
done
echo "# dashboards_truth.py"
python3 ./dashboards_truth.py || rc=1
echo "# gate_equal.py, VictoriaMetrics"
python3 -W ignore ./gate_equal.py $((${1:-3000} / 5)) gate victoria || rc=1
exit $rc
