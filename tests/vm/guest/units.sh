# systemd units as jobs, found by a configured pattern: with controllers that
# Slurm does not enable (io, pids, CPU quota), and with names that need
# unescaping.  Sourced after hosts.sh.

batch_unit() { # name properties... -- command...
    local name=$1 args=()
    shift
    while [ "$1" != -- ]; do
        args+=("--property=$1")
        shift
    done
    systemd-run --quiet --slice=batch.slice --unit="batch-$name.service" "${args[@]}" "$@"
}
unit_dir() { echo "$cgroup/batch.slice/batch-$1.service"; }

disk() { # the device that the root file system is on
    lsblk -ndo NAME "$(findmnt -no SOURCE /)" 2>/dev/null || basename "$(findmnt -no SOURCE /)"
}

# Writes without the page cache, so that the block layer counts it at once.
write_once() {
    cat >"$here/jobs/writer" <<-END
		#!/bin/bash
		dd if=/dev/zero of=$here/jobs/block.dat bs=64k count=64 oflag=direct status=none
		dd if=$here/jobs/block.dat of=/dev/null bs=64k iflag=direct status=none
		touch $here/jobs/written
		exec $here/work -t 90000
	END
    chmod 755 "$here/jobs/writer"
}

unit_io_and_quota() {
    local dir dev sub
    write_once
    batch_unit 77 IOAccounting=yes TasksAccounting=yes TasksMax=50 CPUQuota=15% MemoryMax=96M -- "$here/jobs/writer"
    shown 77 "a unit with io, pids and a CPU quota"
    dir=$(unit_dir 77) dev=$(disk)
    eventually "it has done its I/O" test -e "$here/jobs/written"
    eventually "exporter has the device $dev" eval '[ -n "$(value exporter job_device_write_bytes_total 77 device '"$dev"')" ]'
    sub="device $dev"
    both_agree job_device_write_bytes_total 77 0 io_of "$dir/io.stat" wbytes
    both_agree job_device_read_bytes_total 77 0 io_of "$dir/io.stat" rbytes
    both_agree job_device_write_operations_total 77 0 io_of "$dir/io.stat" wios
    both_agree job_device_read_operations_total 77 0 io_of "$dir/io.stat" rios
    sub=
    [ "$(value exporter job_device_write_bytes_total 77 device "$dev")" -ge 4194304 ] 2>/dev/null &&
        ok "all 4 MiB are there" || not_ok "all 4 MiB are there"
    both_agree job_cpu_throttled_seconds_total 77 0 key "$dir/cpu.stat" throttled_usec
    both_agree job_cpu_throttled_periods_total 77 0 key "$dir/cpu.stat" nr_throttled
    both_agree job_cpu_periods_total 77 0 key "$dir/cpu.stat" nr_periods
    [ "$(value exporter job_cpu_throttled_seconds_total 77)" -gt 1000000 ] 2>/dev/null &&
        ok "its quota held it back" || not_ok "its quota held it back"
    both_agree job_pids 77 1 read_file "$dir/pids.current"
    both_agree job_memory_limit_bytes 77 0 read_file "$dir/memory.max"
    both_agree job_pressure_cpu_some_seconds_total 77 0 psi "$dir/cpu.pressure" some
    both_agree job_pressure_cpu_full_seconds_total 77 0 psi "$dir/cpu.pressure" full
    both_agree job_pressure_io_some_seconds_total 77 0 psi "$dir/io.pressure" some
    stop_unit 77
}

stop_unit() { # name
    local since=$SECONDS
    systemctl stop "batch-$1.service"
    leaves exporter "$1" "unit $1" "$since"
    leaves collectd "$1" "unit $1" "$since"
}

unit_oom() {
    local dir
    cat >"$here/jobs/eater" <<-END
		#!/bin/bash
		$here/work -t 9 -m 80
		exec $here/work -t 90000 -i 95
	END
    chmod 755 "$here/jobs/eater"
    batch_unit oom MemoryMax=48M MemorySwapMax=0 OOMPolicy=continue -- "$here/jobs/eater"
    shown oom "a unit that wants too much"
    dir=$(unit_dir oom)
    eventually "exporter counts its OOM kill" oom_counted exporter oom
    eventually "collectd counts its OOM kill" oom_counted collectd oom
    both_agree job_oom_kills_total oom 0 key "$dir/memory.events" oom_kill
    both_agree job_memory_limit_hits_total oom 0 key "$dir/memory.events" max
    both_agree job_memory_charged_peak_bytes oom 0 read_file "$dir/memory.peak"
    systemctl stop batch-oom.service
}

# A limit of a parent cgroup applies to its children.
unit_parent_limit() {
    mkdir -p /run/systemd/system
    printf '[Slice]\nMemoryMax=300M\n' >/run/systemd/system/batch.slice
    systemctl daemon-reload
    batch_unit 'odd:a_b\x2dc' -- "$here/work" -t 90000 -i 95
    shown odd:a_b-c "a unit with an escaped name"
    both_agree job_memory_limit_bytes odd:a_b-c 0 read_file "$cgroup/batch.slice/memory.max"
    systemctl stop 'batch-odd:a_b\x2dc.service'
    rm -f /run/systemd/system/batch.slice
    systemctl daemon-reload
}

# The directories of Slurm 26.05, named by SLUID.  This guest's Slurm is older,
# so the test creates them.  Their controllers are disabled: CPU time is known,
# memory is not.
unit_sluid() {
    local top=$cgroup/system.slice/slurmstepd.scope sluid=sEKNKTV3WPV500 dir pid
    dir=$top/$sluid/step_0/user/task_0
    mkdir -p "$dir"
    setsid bash -c "echo \$\$ >$dir/cgroup.procs
        exec env SLURM_JOB_ID=4242 SLURM_JOB_ACCOUNT=physics $here/work -t 90000 -i 95" </dev/null >/dev/null 2>&1 &
    shown 4242 "a job whose directory is named by a SLUID"
    equal "its SLUID" "$(info_of 4242 sluid)" "sluid=\"$sluid\""
    equal "its account" "$(labels_of 4242)" 'account="physics" user="root" '
    both_agree job_cpu_seconds_total 4242 0 key "$top/$sluid/cpu.stat" usage_usec
    equal "memory that nobody counts is absent" "$(value exporter job_memory_used_bytes 4242)" ""
    for pid in $(cat "$dir/cgroup.procs"); do kill "$pid"; done
    within "$patience" eval "! grep -q . $dir/cgroup.procs"
    (cd "$top" && rmdir -p "$sluid/step_0/user/task_0"; rmdir "$top") 2>/dev/null
    eventually "exporter: it leaves" hides exporter 4242
}
