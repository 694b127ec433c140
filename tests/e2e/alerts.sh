#!/bin/bash
# The alert rules: their tests by promtool, and that their metrics exist; TAP.
. "$(dirname "$0")/lib.sh"
cd "$top" || exit 1

command -v promtool >/dev/null || skip_all "promtool is not installed"
cp examples/alerts.yml examples/prometheus.yml tests/fixtures/alerts/cases.yml "$tmp"
check "promtool accepts the alert rules" promtool check rules "$tmp/alerts.yml"
check "promtool accepts the scrape configuration" promtool check config --syntax-only "$tmp/prometheus.yml"
check "each alert fires where it should" promtool test rules "$tmp/cases.yml"
mkdir "$tmp/collectd"
cp examples/rules-collectd.yml tests/fixtures/collectd-rules/cases.yml "$tmp/collectd"
check "the rules for collectd give the exporter's labels" promtool test rules "$tmp/collectd/cases.yml"
while IFS= read -r alert; do
    check "$alert has a test that fires" grep -qF "alertname: $alert" "$tmp/cases.yml"
done < <(sed -n 's/.*alert: //p' examples/alerts.yml)
known() { # metric: is it in a table of docs/, or in the source of a program?
    grep -qE "^\| \`$1\` " docs/*.md ||
        grep -rqF "${1#batchjob_api_}\"" --include='*.c' statsdb apiserver standalone
}
while IFS= read -r metric; do
    check "$metric is a metric" known "$metric"
done < <(grep -oE 'batchjob_[a-z_]+' <(grep -vE '^ +(summary|description|- name)' examples/alerts.yml) |
    grep -vxE 'batchjob_(cluster|stats|exporter|stats_db|stats_server)' | sort -u)
complete=1
