# Jobs of many kinds whose values are compared outside of the guest with those of
# independent witnesses (tests/e2e/truth.py).  Sourced after slurm.sh.

truth_slurm() {
    local d="$here/truth"
    [ -d "$d/plan" ] || { note "no plan of jobs"; return; }
    # The first node of the plan's name; the users of the sandbox.
    export SLURM_SANDBOX_CONF='PartitionName=test Nodes=ALL Default=YES MaxTime=01:00:00 OverSubscribe=FORCE:4 State=UP
PartitionName=closed Nodes=ALL MaxTime=00:30:00 State=DOWN
JobRequeue=1
OverTimeLimit=0'
    export SLURM_SANDBOX_NODES=2
    start_slurm || return
    truth_hosts
    truth=$d programs=$here spool=$tmp/spool pause=15 port=9029 sampler_msec=100 slice=30m
    exporter_url=$exporter collectd_url=$collectd
    # shellcheck source=/dev/null
    . "$here/truth_jobs.sh"
    check "the jobs of the plan run" truth_run 2400
    check "the store is filled and read" truth_store
    stop_hosts
    "$slurm" stop
    tar -C "$here" -czf "$tmp/truth.tgz" --exclude=work --exclude=scratch --exclude='stats.db*' truth
}

# With final records, and an exporter that samples by itself as it does by default.
truth_hosts() {
    mkdir -p "$tmp/spool"
    systemd-run --quiet --unit=bj-exporter --property=StandardError="file:$tmp/exporter.log" \
        -- "$here/batchjob_exporter" --web.listen-address=127.0.0.1:9010 --job.grace=60s \
        --job.file-dir=$job_files --collector.process --sample.slow=1s --record.dir="$tmp/spool" \
        --energy.state-file= --collector.gpu=false
    start_collectd
    eventually "exporter answers" answers exporter
    eventually "collectd answers" answers collectd
}
