# Run the jobs of a plan (truth_plan.py) on a sandbox of Slurm, and keep all that
# several witnesses say of them, for truth.py compare.  Sourced, also in the guest
# of tests/vm; has no output but progress.
#
# Variables: truth (directory of the plan; the users of the jobs can write to
# $truth/results and $truth/scratch), slurm (path of the sandbox), programs
# (directory of ours), spool (final records of the exporter), exporter_url,
# collectd_url (of pages), pause (seconds between pages), port (free, for the API), slice
# (of sacct).
#
#   plan/list    a job a line: NUMBER|USER|ACTION|OPTIONS OF sbatch
#   plan/N.sh    its script
#   ids          NUMBER JOBID
#   pages/       of exporter and collectd; pages/index: NAME T0 T1 T2 (begin, end of
#                the first, end of the second request)
#   samples      of sampler.c; kernel: the kernel's log; sacct, acct.json, api.json
# shellcheck shell=bash disable=SC2154

truth_columns=JobIDRaw,JobID,State,ExitCode,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw
truth_columns=$truth_columns,AllocCPUS,NNodes,AllocTRES,TotalCPU,UserCPU,SystemCPU,MaxRSS
truth_columns=$truth_columns,User,Account,Partition,TRESUsageInTot

# Columns of batchjob_acct that are also keys of the API.
truth_fields=key,jobid,display_id,user,account,partition,name,state,state_raw,exit_code,exit_signal
truth_fields=$truth_fields,cancelled_by,submit_ms,eligible_ms,start_ms,end_ms,elapsed_seconds
truth_fields=$truth_fields,time_limit_seconds,cpus,nodes,gpus,memory_allocated_bytes,array_job_id,array_task
truth_fields=$truth_fields,het_job_id,het_offset,cpu_used_seconds,cpu_efficiency_percent,cpu_efficiency_source
truth_fields=$truth_fields,memory_task_peak_bytes,memory_peak_bytes,memory_charged_peak_bytes
truth_fields=$truth_fields,memory_efficiency_percent,memory_efficiency_source,time_efficiency_percent
truth_fields=$truth_fields,gpu_held_seconds,gpus_measured,energy_joules,io_read_bytes,io_write_bytes,measured_nodes

truth_now() { date +%s.%N; }

truth_submit() {
    local n user action options id
    while IFS='|' read -r n user action options; do
        # shellcheck disable=SC2086
        id=$("$slurm" as "$user" sbatch --parsable -o /dev/null -J "truth$n" $options \
            "$truth/plan/$n.sh" </dev/null) || { echo "# cannot submit job $n"; return 1; }
        echo "$n $id" >>"$truth/ids"
        echo "$n $id $user $action" >>"$truth/actions"
        # Pending jobs are cancelled when all have been submitted.
    done <"$truth/plan/list"
}

# Do to jobs what the plan says, once they have started.
truth_act() {
    local n id user action left=$truth/actions.left
    : >"$left"
    while read -r n id user action; do
        case $action in
        none) ;;
        cancel-pending) scancel "$id" ;;
        cancel) [ -e "$truth/results/$id.0.ready" ] && "$slurm" as "$user" scancel "$id" ||
            echo "$n $id $user $action" >>"$left" ;;
        requeue) [ -e "$truth/results/$id.0.ready" ] && scontrol requeue "$id" ||
            echo "$n $id $user $action" >>"$left" ;;
        esac
    done <"$truth/actions"
    mv "$left" "$truth/actions"
}

truth_pages() {
    local n=0 t0 t1
    while :; do
        n=$((n + 1))
        t0=$(truth_now)
        curl -sS --max-time 60 "$exporter_url" >"$truth/pages/$n.exporter"
        t1=$(truth_now)
        curl -sS --max-time 60 "$collectd_url" >"$truth/pages/$n.collectd"
        echo "$n $t0 $t1 $(truth_now)" >>"$truth/pages/index"
        sleep "$pause"
    done
}

truth_ended() { [ -z "$(squeue -h -o %A -t PD,R,CG,S,CF)" ]; }
truth_records() { # number of final records that must come
    [ "$(find "$spool" -name '*.json' | wc -l)" -ge "$1" ]
}
truth_accounted() { ! sacct -aXnP -S now-1days -o End | grep -q Unknown; }

# A sample of a job for each of its nodes that ran.
truth_wanted() {
    sacct -aXDnP -S now-1days -o Start,NNodes |
        awk -F'|' '$1 != "Unknown" && $1 != "None" && $1 != "" { n += $2 } END { print n + 0 }'
}

truth_run() {
    local roots pids='' limit=${1:-900}
    mkdir -p "$truth/pages"
    for d in results scratch; do mkdir -p "$truth/$d" && chmod 1777 "$truth/$d"; done
    if [ -d /sys/fs/cgroup/memory ]; then roots=/sys/fs/cgroup/memory; else roots=/sys/fs/cgroup/system.slice; fi
    "$programs/sampler" "${sampler_msec:-20}" "$truth/samples" $roots &
    pids="$pids $!" sampler_pid=$!
    dmesg --follow >"$truth/kernel" 2>/dev/null &
    pids="$pids $!"
    truth_pages &
    pids="$pids $!"
    truth_submit || { kill $pids; return 1; }
    local end=$((SECONDS + limit))
    until [ ! -s "$truth/actions" ] && truth_ended; do
        truth_act
        [ $SECONDS -lt $end ] || { echo "# jobs still run after $limit s"; squeue; break; }
        sleep 1
    done
    until truth_accounted || [ $SECONDS -ge $end ]; do sleep 1; done
    end=$((SECONDS + 90))
    until truth_records "$(truth_wanted)" || [ $SECONDS -ge $end ]; do sleep 1; done
    kill $pids
    wait "$sampler_pid" 2>/dev/null
    mkdir -p "$truth/records"
    cp "$spool"/*.json "$truth/records/"
    SLURM_TIME_FORMAT=%s sacct -aDP --noconvert -S now-1days -o "$truth_columns" >"$truth/sacct"
}

truth_store() {
    local stats=$programs/batchjob_stats_db db=$truth/stats.db server
    cat >"$truth/cluster.yml" <<-END
		name: sandbox
		sacct:
		  slurm-conf: $SLURM_CONF
		  history: 2h
		  slice: ${slice:-2m}
		  pause: 0s
		records:
		  dir: $spool
	END
    for _ in 1 2; do
        "$stats" run --once --store.path="$db" --cluster.file="$truth/cluster.yml" \
            >>"$truth/stats.log" 2>&1 || { tail -n 20 "$truth/stats.log"; return 1; }
        sleep 1.1
    done
    "$programs/batchjob_acct" --store.path="$db" --since=1d --output=json \
        --format=$truth_fields \
        >"$truth/acct.json" || return 1
    "$programs/batchjob_stats_server" --store.path="$db" --web.listen-address="127.0.0.1:$port" \
        --access.trust-loopback --access.admins=root >"$truth/server.log" 2>&1 &
    server=$!
    for _ in $(seq 600); do
        curl -sf -H 'X-Grafana-User: root' "http://127.0.0.1:$port/api/v1/me" >/dev/null && break
        sleep 0.1
    done
    curl -sSf -H 'X-Grafana-User: root' "http://127.0.0.1:$port/api/v1/jobs?from=now-1d&limit=1000&fields=$truth_fields" \
        >"$truth/api.json" || { tail -n 5 "$truth/server.log"; kill $server; return 1; }
    curl -sSf -H 'X-Grafana-User: root' "http://127.0.0.1:$port/api/v1/usage?from=now-2d&group_by=user" \
        >"$truth/usage.json" || echo "# no usage"
    kill $server
    wait $server 2>/dev/null
    return 0
}
