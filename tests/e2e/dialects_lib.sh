# Helpers of the tests of job dialects; sourced after lib.sh.
# shellcheck shell=bash disable=SC2034
dialects='slurm-job-exporter jobs_exporter jobstats cgroup_exporter
    batchjob_monitoring ceems'

dialects_node() { $python "$top/tests/e2e/dialects_node.py" "$@"; }

# start_with_dialects OPTION...: an exporter with every collector that a page needs.
start_with_dialects() {
    local d also=
    for d in $dialects; do also="$also --dialect.also=$d"; done
    # shellcheck disable=SC2086
    start_exporter --path.sysfs="$tmp/sys" $also \
        --web.dialect=slurm-job-exporter --dialect.exe-count --collector.pressure \
        --job.grace=15 --sample.slow=0.1 --identity.wait=2 \
        --collector.process.place="files=/" --collector.process.place="scratch=$tmp" \
        --collector.steps=tasks --log.level=debug --energy.interval=1 \
        --energy.meter=rapl --energy.meter=cray --energy.meter=command \
        --energy.command="/bin/echo Current Power : 415 Watts" \
        --collector.emissions --emissions.provider=constant --emissions.factor=56.25 "$@"
}

# Start an exporter with --dialect.strict and one without; sets strict_url,
# strict_exporter, lenient_url and lenient_exporter.
start_strict_and_lenient() { # option...
    dialects_node meters "$tmp/sys"
    start_with_dialects --dialect.strict "$@"
    strict_url=$url strict_exporter=$exporter
    start_with_dialects "$@"
    lenient_url=$url lenient_exporter=$exporter
}

scrape_both() {
    local u
    for u in "$lenient_url" "$strict_url"; do
        curl -sSf --max-time 60 "$u/metrics/native" >"$tmp/native"
    done
}

# Scrape until all figures are newer than the stop of the job.  A rate covers 10 s
# between two scrapes, and the first may be too early for a kernel that counts CPU
# time late.  The last scrape has files that no page needed before, and values that
# are read at the slow interval.
scrape_until_current() {
    scrape_both
    sleep 10.1
    scrape_both
    sleep 10.1
    scrape_both
    sleep 0.3
    scrape_both
}
