# Real Slurm jobs under systemd and cgroup v2.  Sourced after hosts.sh.

export SLURM_SANDBOX_NODES=3 SLURM_SANDBOX_TIMEOUT=$patience SLURM_SANDBOX_LAUNCH=120
[ -e "$here/examples/slurm-prolog.sh" ] && export SLURM_SANDBOX_HOOKS=$here/examples

start_slurm() {
    "$slurm" start || { not_ok "Slurm runs"; return 1; }
    eval "$("$slurm" env)"
    ok "Slurm runs"
}

# The programs of the jobs.  A job runs until its release file exists.
write_programs() {
    cat >"$here/jobs/step" <<-END
		#!/bin/bash
		# step RELEASE WORK-ARGUMENTS...
		release=\$1
		shift
		$here/work "\$@" &
		until [ -e "\$release" ]; do sleep 2; done
		kill \$!
	END
    cat >"$here/jobs/three" <<-END
		#!/bin/bash
		# The first of three steps ends, the other two go on.
		srun -n1 -c1 --exact --mem=80 $here/jobs/step $here/jobs/go.first -t 90000 -i 90 -d \$HOME -w 4
		srun -n1 -c1 --exact --mem=80 $here/jobs/step $here/jobs/go.three -t 90000 -i 90 -m 24 &
		srun -n1 -c1 --exact --mem=80 $here/jobs/step $here/jobs/go.three -t 90000 -i 90 -n 3 -d \$HOME -w 8 &
		wait
	END
    cat >"$here/jobs/one" <<-END
		#!/bin/bash
		exec $here/jobs/step $here/jobs/go.one -t 90000 -i 95
	END
    cat >"$here/jobs/oom" <<-END
		#!/bin/bash
		srun -n1 $here/work -t 9 -m 150
		exec $here/jobs/step $here/jobs/go.oom -t 90000 -i 95
	END
    cat >"$here/jobs/two_nodes" <<-END
		#!/bin/bash
		srun $here/jobs/step $here/jobs/go.two_nodes -t 90000 -i 95
	END
    chmod 755 "$here"/jobs/{step,three,one,oom,two_nodes}
}

submit() { # user sbatch-arguments...: job id
    local user=$1
    shift
    "$slurm" as "$user" sbatch --parsable -o "$here/jobs/out.%j" "$@"
}
release() { touch "$here/jobs/go.$1"; }

state() { squeue -h -j "$1" -o %T 2>/dev/null; }
runs() { [ "$(state "$1")" = RUNNING ]; }
over() { [ -z "$(state "$1")" ] || [[ $(state "$1") != *RUNNING* && $(state "$1") != *COMPLETING* ]]; }
job_dir() { ls -d $cgroup/system.slice/*_slurmstepd.scope/job_"$1" 2>/dev/null; }
accounted() { [ -n "$(sacct -nXP -j "$1" -o End | grep -v Unknown)" ]; }

# The CPU time of a job's steps in Slurm's accounting, in microseconds.
sacct_cpu() { # job
    sacct -nP -j "$1" -o JobID,TotalCPU | gawk -F'|' '
        $1 ~ /\./ && $2 != "" {
            d = 0; t = $2
            if (split(t, a, "-") == 2) { d = a[1]; t = a[2] }
            n = split(t, p, ":"); s = 0
            for (i = 1; i <= n; i++) s = s * 60 + p[i]
            sum += s + d * 86400
        }
        END { printf "%.0f\n", sum * 1000000 }'
}
sstat_cpu() { # job: the running steps' CPU time, microseconds
    sstat -anP -j "$1" -o AveCPU,NTasks | gawk -F'|' '
        $1 != "" { n = split($1, p, ":"); s = 0; for (i = 1; i <= n; i++) s = s * 60 + p[i]; sum += s * $2 }
        END { printf "%.0f\n", sum * 1000000 }'
}

labels_of() { # job: user and account in the exporter's samples
    page exporter | sed -n "s/^batchjob_job_cpu_seconds_total{\(.*jobid=\"$1\".*\)} .*/\1/p" |
        tr ',' '\n' | grep -E '^(user|account)=' | sort | tr '\n' ' '
}
info_of() { # job key
    page exporter | sed -n "s/^batchjob_job_info{\(.*jobid=\"$1\".*\)} 1$/\1/p" | grep -o "\b$2=\"[^\"]*\""
}
# In collectd, attributes are separate series.
collectd_has() { # job attribute value
    [ "$(value collectd "job_$2" "$1" x "$3")" = 1 ]
}

processes_of() { # job directory: number of the user's processes
    find "$1" -path '*/user/*' -name cgroup.procs -exec cat {} + 2>/dev/null | sort -un | wc -l
}
threads_of() {
    find "$1" -path '*/user/*' -name cgroup.threads -exec cat {} + 2>/dev/null | sort -un | wc -l
}

# --- a batch job with three steps, and an array ------------------------------

figures_agree() { # job directory
    local job=$1 dir=$2
    both_agree job_cpu_seconds_total "$job" 0 key "$dir/cpu.stat" usage_usec
    both_agree job_cpu_user_seconds_total "$job" 0 key "$dir/cpu.stat" user_usec
    both_agree job_cpu_system_seconds_total "$job" 0 key "$dir/cpu.stat" system_usec
    both_agree job_memory_used_bytes "$job" 4194304 read_file "$dir/memory.current"
    both_agree job_memory_rss_bytes "$job" 2097152 key "$dir/memory.stat" anon
    both_agree job_memory_cache_bytes "$job" 2097152 key "$dir/memory.stat" file
    both_agree job_memory_charged_peak_bytes "$job" 0 read_file "$dir/memory.peak"
    both_agree job_memory_limit_bytes "$job" 0 read_file "$dir/memory.max"
    both_agree job_oom_kills_total "$job" 0 key "$dir/memory.events" oom_kill
    both_agree job_cpus "$job" 0 cpus_of "$dir/cpuset.cpus.effective"
    both_agree job_pressure_cpu_some_seconds_total "$job" 0 psi "$dir/cpu.pressure" some
    both_agree job_pressure_memory_full_seconds_total "$job" 0 psi "$dir/memory.pressure" full
    both_agree job_processes "$job" 3 processes_of "$dir"
    both_agree job_threads "$job" 3 threads_of "$dir"
}

wrote() { [ "$(value exporter job_io_write_bytes_total "$1")" -ge "$2" ]; }

# slurmstepd is in a job's cgroup, but not in Slurm's usage.
stepd_cpu() { # job directory
    cat "$1"/step_*/slurm/cpu.stat | gawk '$1 == "usage_usec" { n += $2 } END { printf "%.0f\n", n }'
}

three_steps_runs() { [ "$(squeue -hs -j "$1" -o %i | grep -c '\.[12]$')" = 2 ]; }

check_three() { # job
    local job=$1 dir
    eventually "the first step of the batch job has written its file" wrote "$job" 4194304
    release first
    eventually "two steps run after the first" three_steps_runs "$job"
    eventually "what all three wrote is there, though one has ended" wrote "$job" 12582912
    dir=$(job_dir "$job")
    figures_agree "$job" "$dir"
    equal "user and account of the batch job" "$(labels_of "$job")" 'account="physics" user="bjanna" '
    eventually "collectd knows the user" collectd_has "$job" user bjanna
    eventually "collectd knows the account" collectd_has "$job" account physics
    equal "its uid" "$(info_of "$job" uid)" "uid=\"$(id -u bjanna)\""
    equal "its partition" "$(info_of "$job" partition)" 'partition="batch"'
    near "its start time is Slurm's" "$(value exporter job_start_time_seconds "$job")" \
        "$(date -d "$(squeue -h -j "$job" -o %S)" +%s)" 0 30
    near "its CPU time but slurmstepd's is sstat's" \
        $(($(value exporter job_cpu_seconds_total "$job") - $(stepd_cpu "$dir"))) "$(sstat_cpu "$job")" 10 6000000
}

check_three_end() { # job
    local job=$1 since=$SECONDS last stepd
    stepd=$(stepd_cpu "$(job_dir "$job")")
    release three
    eventually "Slurm says that the batch job is over" over "$job"
    last=$(value exporter job_cpu_seconds_total "$job")
    eventually "sacct knows it" accounted "$job"
    near "its final CPU time but slurmstepd's is sacct's" $((last - stepd)) "$(sacct_cpu "$job")" 10 10000000
    [ -n "$(value exporter job_end_time_seconds "$job")" ] &&
        ok "it has an end time" || not_ok "it has an end time"
    leaves exporter "$job" "the batch job" "$since"
    leaves collectd "$job" "the batch job" "$since"
}

array_runs() { [ "$(squeue -h -r -j "$1" -t R -o %i | wc -l)" = 3 ]; }

check_array() { # array's job id
    local array=$1 job task
    eventually "three tasks of the array run" array_runs "$array"
    while read -r job task; do
        shown "$job" "array task $task"
        equal "array task $task knows its array" "$(info_of "$job" array_job_id)" "array_job_id=\"$array\""
        equal "array task $task knows its number" "$(info_of "$job" array_task)" "array_task=\"$task\""
    done < <(squeue -h -r -j "$array" -o '%A %K')
}

slurm_three_steps_and_array() {
    local three array
    rm -f "$here"/jobs/go.*
    three=$(submit bjanna -n2 -c1 --mem=240 -w bjnode01 "$here/jobs/three")
    array=$(submit bjboris -A physics -n1 --mem=60 --array=0-2 -x bjnode01 "$here/jobs/one")
    note "batch job $three, array $array"
    eventually "the batch job runs" runs "$three"
    shown "$three" "the batch job"
    check_three "$three"
    check_array "$array"
    release one
    check_three_end "$three"
}

# --- out of memory, two nodes, requeue, odd names ----------------------------

oom_counted() { [ "$(value "$1" job_oom_kills_total "$2")" -ge 1 ]; }

slurm_oom() {
    local job dir
    job=$(submit bjboris -n1 --mem=64 -J $'od"d\\na\tme' "$here/jobs/oom")
    note "out-of-memory job $job"
    shown "$job" "the out-of-memory job"
    eventually "exporter counts its OOM kill" oom_counted exporter "$job"
    eventually "collectd counts its OOM kill" oom_counted collectd "$job"
    dir=$(job_dir "$job")
    both_agree job_oom_kills_total "$job" 0 key "$dir/memory.events" oom_kill
    both_agree job_memory_limit_bytes "$job" 0 read_file "$dir/memory.max"
    check "a hostile job name harms no page of the exporter" page_is_sound exporter
    check "a hostile job name harms no page of collectd" page_is_sound collectd
    release oom
    eventually "the out-of-memory job is over" over "$job"
    eventually "sacct saw the same" eval '[ -n "$(sacct -nP -j '"$job"' -o State | grep OUT_OF_ME)" ]'
}

slurm_two_nodes() {
    local job
    job=$(submit bjanna -N2 --ntasks-per-node=1 --mem=60 "$here/jobs/two_nodes")
    note "job $job on two of the nodes of this one host"
    eventually "a job runs on two slurmd of one host" eval '[ "$(ls -d '"$cgroup"'/system.slice/*/job_'"$job"' | wc -l)" = 2 ]'
    shown "$job" "the job on two nodes"
    check "exporter shows no series of it twice" page_is_sound exporter
    check "collectd shows no series of it twice" page_is_sound collectd
    release two_nodes
    eventually "the job on two nodes is over" over "$job"
}

# Less CPU time than before, since the counters are those of the second run.
restarted() { local v; v=$(value exporter job_cpu_seconds_total "$1"); [ -n "$v" ] && [ "$v" -lt "$2" ]; }

slurm_requeue() {
    local job before
    rm -f "$here/jobs/go.one"
    job=$(submit bjanna -n1 --mem=60 --requeue "$here/jobs/one")
    shown "$job" "the job to be requeued"
    sleep 10
    before=$(value exporter job_cpu_seconds_total "$job")
    scontrol requeue "$job"
    # Slurm holds a requeued job back for SLURM_SANDBOX_LAUNCH seconds.
    eventually "the requeued job runs again" runs "$job"
    eventually "its counters begin again" restarted "$job" "$before"
    check "and each series of it is there once" page_is_sound exporter
    release one
    eventually "the requeued job is over" over "$job"
}

slurm_without_slurmd() {
    local job pid
    rm -f "$here/jobs/go.one"
    job=$(submit bjanna -n1 --mem=60 -w bjnode02 "$here/jobs/one")
    shown "$job" "a job"
    pid=$(cat "$SLURM_SANDBOX_DIR/run/slurmd.bjnode02.pid")
    kill -KILL "$pid"
    sleep $((2 * interval))
    check "its slurmd is killed, and exporter shows it" shows exporter "$job"
    check "its slurmd is killed, and collectd shows it" shows collectd "$job"
    "$slurm" start >/dev/null 2>&1
    release one
    eventually "a new slurmd ends the job" over "$job"
    eventually "and it leaves the exporter" hides exporter "$job"
}
