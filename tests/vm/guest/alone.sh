# The exporter by itself: without root, under systemd's eyes, and its end.
# Sourced after hosts.sh.

other=http://127.0.0.1:9011/metrics

other_shows() { curl -sS --max-time 60 "$other" | grep -q "^batchjob_job_cpu_seconds_total{.*jobid=\"$1\""; }

exporter_without_root() {
    batch_unit plain -- "$here/work" -t 90000 -i 95
    systemd-run --quiet --unit=bj-other --property=User=nobody --property=StandardError="file:$tmp/other.log" \
        -- "$here/batchjob_exporter" --web.listen-address=127.0.0.1:9011 "--job.pattern=$unit_pattern"
    eventually "an exporter without root shows jobs" other_shows plain
    if grep -qi cap_ "$tmp/other.log"; then
        ok "it says which capability would help"
    else
        not_ok "it says which capability would help" "$(cat "$tmp/other.log")"
    fi
    systemctl stop bj-other
    equal "it ends cleanly" "$(systemctl show -P Result bj-other)" success
    systemctl stop batch-plain
}

# The unit file that is shipped, with this guest's paths and port.
exporter_as_a_service() {
    local unit=$here/examples/batchjob_exporter.service
    [ -e "$unit" ] || { note "no unit file in examples: not tried"; return; }
    install -m 755 "$here/batchjob_exporter" /usr/local/bin/
    sed "s|/usr/bin/batchjob_exporter|/usr/local/bin/batchjob_exporter|" "$unit" >/run/systemd/system/bj-shipped.service
    mkdir -p /run/systemd/system/bj-shipped.service.d
    systemctl daemon-reload
    check "systemd finds no fault in the unit file" systemd-analyze verify /run/systemd/system/bj-shipped.service
    check "the shipped unit starts and says that it is ready" timeout "$patience" systemctl start bj-shipped
    eventually "it answers on the default port" curl -sS --max-time 60 -o /dev/null http://127.0.0.1:9010/metrics
    systemctl stop bj-shipped
    equal "it ends cleanly when stopped" "$(systemctl show -P Result bj-shipped)" success
    rm -rf /run/systemd/system/bj-shipped.service{,.d}
    systemctl daemon-reload
}
