# The exporter by itself: without root, as a systemd service, and when it is
# stopped. Sourced after hosts.sh.

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

# The shipped unit file and configuration, with one line added: a dynamic user,
# two capabilities, a sandbox.
exporter_as_a_service() {
    local units=/run/systemd/system
    grep -q ^batchjob: /etc/group || echo batchjob:x:990: >>/etc/group
    install -m 755 "$here/batchjob_exporter" /usr/local/bin/
    install -m 644 "$here/examples/batchjob_exporter.service" $units/
    mkdir -p /etc/batchjob
    sed "s|^job:|&\n  pattern: ['$unit_pattern']|" "$here/examples/exporter.yml" >/etc/batchjob/exporter.yml
    systemctl daemon-reload
    check "systemd finds no fault in the unit file" systemd-analyze verify --man=no $units/batchjob_exporter.service
    check "the shipped unit starts and says that it is ready" \
        timeout "$patience" systemctl start batchjob_exporter
    batch_unit user User=nobody -- "$here/work" -t 90000 -i 95
    eventually "it shows a job on the default port" shows exporter user
    both_capabilities_help user
    equal "it is in no need of root" "$(ps -o user= -p "$(systemctl show -P MainPID batchjob_exporter)" | grep -c root)" 0
    note "systemd-analyze security: $(systemd-analyze security --no-pager batchjob_exporter.service 2>/dev/null | tail -n 1)"
    systemctl stop batchjob_exporter batch-user
    equal "it ends cleanly when stopped" "$(systemctl show -P Result batchjob_exporter)" success
    rm -rf $units/batchjob_exporter.service /etc/batchjob
    sed -i '/^batchjob:/d' /etc/group
    systemctl daemon-reload
}

# I/O counters and open files of another user's process: each needs one of the
# two capabilities.
both_capabilities_help() { # job
    [ -n "$(value exporter job_io_read_bytes_total "$1")" ] &&
        ok "with CAP_SYS_PTRACE it sees the I/O of another user" ||
        not_ok "with CAP_SYS_PTRACE it sees the I/O of another user"
    [ "$(value exporter job_open_fds "$1")" -ge 3 ] 2>/dev/null &&
        ok "with CAP_DAC_READ_SEARCH it sees the descriptors of another user" ||
        not_ok "with CAP_DAC_READ_SEARCH it sees the descriptors of another user"
}
