#!/bin/bash
# The plugin in Debian's collectd, on jobs in real cgroups.
#
#   collectd.sh run        the values that it writes, and its handling of errors
#   collectd.sh valgrind   memcheck of collectd -T, and of collectd while a job ends
#   collectd.sh asan       the same with the address and undefined sanitizers
# shellcheck disable=SC2154
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/collectd_lib.sh"
http="$python $top/tests/e2e/collectd_http.py"
mode=${1:-run}
need_collectd
[ -x "$work" ] || skip_all "$work is not built: make e2e-tools"
cg_init
[ $cg_version != none ] || skip_all "not root, or no cgroups to write to"

uid=$(id -u nobody)
user=nobody
# Slurm is built here for several slurmd, so the node is part of the name.
id1=4711 id2=4712
name1=$id1@$cg_node name2=$id2@$cg_node
cpu=collectd_batchjob_job_cpu_usec_total
mem=collectd_batchjob_job_memory_used_bytes

# A job with a step and a task below it, as Slurm makes them.
step_job() { # job
    local p
    cg_job "$uid" "$1" || return
    [ $cg_version = v2 ] || for p in $(cg_paths "$uid" "$1"); do
        mkdir -p "$p/step_batch/task_0" || return
    done
}

start_job1() {
    cg_job "$uid" $id1 && cg_run "$uid" $id1 "$work" -m 30 -i 100 -t 600
    job1=$cg_pid
    on_exit "stop $job1"
}

start_jobs() {
    step_job $id2 ||
        { fail "jobs can be made in $cg"; exit 1; }
    start_job1
    cg_run "$uid" $id2 "$work" -i 90 -t 600
    job2=$cg_pid
    on_exit "stop $job2"
    [ $cg_version = v2 ] || for p in $(cg_paths "$uid" $id2); do
        echo "$job2" >"$p/step_batch/task_0/cgroup.procs"
    done
}

end_job() { # job pid
    kill "$2" 2>/dev/null
    wait "$2" 2>/dev/null
    cg_kill "$uid" "$1"
}

# The kernel's values of a job, in the plugin's units.
job_file() { # job file...: the path of the first of these files that exists
    local p f
    for p in $(cg_paths "$uid" "$1"); do
        for f in "${@:2}"; do
            [ ! -e "$p/$f" ] || { echo "$p/$f" && return; }
        done
    done
}
kernel_memory() { cat "$(job_file "$1" memory.usage_in_bytes memory.current)"; }
kernel_cpu() {
    awk 'NF == 1 { printf "%.0f\n", $1 / 1000 } $1 == "usage_usec" { print $2 }' \
        "$(job_file "$1" cpuacct.usage cpu.stat)"
}

# --- values --------------------------------------------------------------------

test_symbols() {
    is "only module_register is exported" \
        "$(nm -D --defined-only "$so_dir/batchjob.so" | awk '{ print $3 }')" \
        module_register
}

test_page() {
    local families
    check "both jobs are on the page" wait_for 60 eval \
        "daemon_shows $cpu batchjob=$name1 && daemon_shows $cpu batchjob=$name2"
    check "a second pass follows" wait_for 60 passes_above 2
    scrape_daemon
    is "the labels of a job's series" \
        "$($prom labels "$dir/page" $cpu batchjob="$name1")" \
        "{\"batchjob\": \"$name1\", \"instance\": \"e2e\"}"
    is "the labels of a job's attribute" \
        "$($prom labels "$dir/page" collectd_batchjob_job_user batchjob="$name1")" \
        "{\"batchjob\": \"$name1\", \"instance\": \"e2e\", \"type\": \"$user\"}"
    is "the uid is the job's" "$($prom label "$dir/page" type \
        collectd_batchjob_job_uid batchjob="$name1")" "$uid"
    is "the batch system is Slurm" "$($prom label "$dir/page" type \
        collectd_batchjob_job_batch_system batchjob="$name2")" slurm
    near "memory is that of the cgroup file" "$(daemon_value $mem batchjob="$name1")" \
        "$(kernel_memory $id1)" 0.02 1000000
    near "CPU time of an idle job is that of the cgroup file" \
        "$(daemon_value $cpu batchjob="$name1")" "$(kernel_cpu $id1)" 0.02 50000
    near "CPU time of a busy job is that of the cgroup file" \
        "$(daemon_value $cpu batchjob="$name2")" "$(kernel_cpu $id2)" 0.02 2500000
    is "the number of the node's CPUs is shown" "$(daemon_value collectd_batchjob_node_cpus)" "$(nproc --all)"
    check "a step is shown" daemon_value collectd_batchjob_step_cpu_usec_total \
        batchjob="$name2.$(step_of_job2)"
    check "processes are shown" wait_for 60 daemon_shows collectd_batchjob_job_state_threads \
        batchjob="$name1" type=sleeping
    check "executables are shown" wait_for 60 daemon_shows collectd_batchjob_job_exe_cpu_usec_total \
        batchjob="$name2" type="${work//\//:}"
    families=$(grep -c '^# TYPE collectd_batchjob_' "$dir/page")
    check "there are many families ($families)" [ "$families" -gt 50 ]
    check "every sample of the plugin begins with collectd_batchjob_" \
        [ -z "$(grep -v '^#' "$dir/page" | grep -i batchjob |
            grep -v '^collectd_batchjob_')" ]
    grep -E '^(# (HELP|TYPE) )?collectd_batchjob_' "$dir/page" >"$dir/ours"
    check "promtool finds no problem" promtool_clean "$dir/ours"
}

step_of_job2() { [ $cg_version = v2 ] && echo 0 || echo batch; }

test_json() {
    local meta="{\"jobid\": \"$id1\", \"user\": \"$user\"}"
    check "write_http sends JSON" eval "[ \$($http check $dir/posts) -gt 100 ]"
    is "every list of a job has its meta data" \
        "$($http meta "$dir/posts" "$name1")" "$meta"
    is "no list of the node has meta data" "$($http meta "$dir/posts" -)" null
    near "JSON has the value, too" \
        "$($http value "$dir/posts" "$name1" job_memory_used_bytes '')" \
        "$(kernel_memory $id1)" 0.02 1000000
}

test_csv() {
    local f
    f=$(echo "$dir/csv/e2e/batchjob-$name1/job_cpu_usec-"*)
    check "CSV has a file for the job" [ -s "$f" ]
    is "the CSV file begins with the names of its columns" "$(head -n 1 "$f")" epoch,value
    check "the CSV file has numbers" grep -qE '^[0-9.]+,[0-9]+$' "$f"
}

test_end() {
    local before
    end_job $id1 "$job1"
    check "an ended job keeps its final values" \
        daemon_shows $cpu batchjob="$name1"
    # grace 15 s, then Timeout (2) times Interval (1 s), checked once a second
    check "an ended job disappears after the grace period" wait_for 60 daemon_shows_not $cpu batchjob="$name1"
    # collectd removes one value after the other
    check "all values of an ended job disappear" wait_for 60 eval \
        "scrape_daemon; ! grep -q '\"$name1\"' $dir/page"
    check "the other job stays" daemon_value $cpu batchjob="$name2"
    check "write_http has its end time" $http value "$dir/posts" "$name1" \
        job_end_time_seconds ''
    # the same id again is another job
    start_job1
    check "a job that reuses an id is shown" wait_for 60 daemon_shows $cpu batchjob="$name1"
    before=$(daemon_value $cpu batchjob="$name1")
    # The kernel's value of the new cgroup, read later, is larger or the same.
    check "the CPU time of the new job begins at 0" \
        [ "${before%.*}" -le "$(kernel_cpu $id1)" ]
}

quiet_log() { # no message above INFO, and none of collectd about the plugin
    ! grep -E '\[(error|warning|notice)\]|Value too old|read-function' "$dir/log"
}

test_main() {
    local receiver http_port
    http_port=$(free_port)
    $http serve "$tmp/posts" "$http_port" &
    receiver=$!
    on_exit "stop $receiver"
    daemon_conf main "$typesdb_lines" "
        PathProcfs \"/proc\"
        PathCgroupfs \"$cg\"
        CollectorProcess true
        CollectorPercore true
        CollectorSteps \"tasks\"
        JobGrace 15
        SampleSlow 0.5" "
        LoadPlugin csv
        <Plugin csv>
          DataDir \"$tmp/main/csv\"
        </Plugin>
        LoadPlugin write_http
        <Plugin write_http>
          <Node \"test\">
            URL \"http://127.0.0.1:$http_port/\"
            Format \"JSON\"
            BufferSize 4096
          </Node>
        </Plugin>"
    ln -s "$tmp/posts" "$dir/posts"
    daemon_run
    daemon_answers
    check "types come from the TypesDB" logged ", 0 registered by the plugin"
    test_page
    test_json
    test_csv
    test_prometheus
    test_end
    check "collectd's log has no warning" quiet_log
    stop_collectd
}

stop_collectd() {
    kill "$daemon"
    wait "$daemon"
    is "SIGTERM ends collectd with status 0" $? 0
}

# --- with Prometheus -----------------------------------------------------------

query() { # expression: its value; nothing when there is none
    curl -sG --max-time 60 --data-urlencode "query=$1" "$prom_url/api/v1/query" |
        $python -c 'import json, sys
for r in json.load(sys.stdin)["data"]["result"]: print(r["value"][1])'
}
answered() { [ -n "$(query "$1")" ]; }

panels_filled() {
    $python "$top/tests/e2e/dashboards_collectd.py" "$prom_url" $id1 >"$d/panels" && [ "$(wc -l <"$d/panels")" = 1 ]
}

# Scrape configuration and rules of examples/ give the exporter's names.
test_prometheus() {
    local d=$tmp/prometheus p which labels
    command -v prometheus >/dev/null ||
        { skip "the exporter's names by rules" "prometheus is not installed"; return; }
    mkdir "$d"
    cp "$top/examples/rules-collectd.yml" "$d"
    sed "s/localhost:9103/127.0.0.1:$port/
        s/_interval: .*/_interval: 1s/" \
        "$top/examples/prometheus-collectd.yml" >"$d/prometheus.yml"
    p=$(free_port)
    prom_url=http://127.0.0.1:$p
    prometheus --config.file="$d/prometheus.yml" --storage.tsdb.path="$d/data" \
        --web.listen-address="127.0.0.1:$p" >"$d/log" 2>&1 &
    which=$!
    on_exit "stop $which"
    labels="jobid=\"$id1\",slurm_node=\"$cg_node\",user=\"$user\",instance=\"e2e\""
    check "rules give the exporter's names and labels" wait_for 60 answered \
        "batchjob_job_memory_used_bytes{$labels}"
    near "the rules convert to base units" \
        "$(query "batchjob_job_cpu_seconds_total{$labels} * 1e6")" \
        "$(kernel_cpu $id1)" 0.02 50000
    check "the rules give the job's attributes" answered \
        "batchjob_job_info{$labels,uid=\"$uid\",batch_system=\"slurm\"}"
    check "the rules give the steps" answered \
        "batchjob_step_cpu_seconds_total{jobid=\"$id2\",step=\"$(step_of_job2)\",user=\"$user\"}"
    check "the rules give the node's CPU modes" answered \
        "batchjob_node_cpu_seconds_total{mode=\"idle\",batchjob=\"\"}"
    check "the rules give the version" answered 'batchjob_build_info{version!="",compiler!=""}'
    curl -sf "$prom_url/api/v1/rules" >"$d/rules.json"
    is "every rule works" "$($python -c 'import json, sys
for g in json.load(open(sys.argv[1]))["data"]["groups"]:
    for r in g["rules"]:
        if r["health"] != "ok": print(r["name"], r.get("lastError"))' \
        "$d/rules.json")" ""
    wait_for 60 panels_filled
    is "dashboards: no panel lacks data where its metrics exist" "$(sed '$d' "$d/panels")" ""
    check "dashboards: 30 queries have data" [ "$(sed -n '$s/ .*//p' "$d/panels")" -ge 30 ]
    is "no series has two labels with the same meaning" \
        "$(query 'count({__name__=~"batchjob_.*",type!=""})')" ""
    prometheus=$which
}

# --- errors --------------------------------------------------------------------

# The plugin continues while the hierarchies are missing, and then finds jobs again.
test_root_vanishes() {
    local c n
    ln -s $cg "$tmp/root"
    [ $cg_version = v2 ] || {
        rm "$tmp/root" && mkdir "$tmp/root"
        for c in "$cg"/*; do ln -s "$c" "$tmp/root/${c##*/}"; done
    }
    daemon_conf vanish "$typesdb_lines" "
        PathCgroupfs \"$tmp/root\"
        JobGrace 1
        SampleSlow 0.5"
    daemon_run
    daemon_answers
    check "a job is seen below a root of links" wait_for 60 \
        daemon_shows $cpu batchjob="$name2"
    mv "$tmp/root" "$tmp/away"
    end_job $id1 "$job1"
    check "a job that ends without a cgroup root disappears" wait_for 60 \
        daemon_shows_not $cpu batchjob="$name1"
    n=$(passes)
    check "passes continue without a cgroup root" wait_for 60 passes_above $((n + 3))
    start_job1
    n=$(passes)
    check "three passes follow" wait_for 60 passes_above $((n + 3))
    check "a new job is not seen without the root" daemon_shows_not $cpu batchjob="$name1"
    mv "$tmp/away" "$tmp/root"
    check "jobs return with the cgroup root" wait_for 60 eval \
        "daemon_shows $cpu batchjob=$name1 && daemon_value $cpu batchjob=$name2"
    check "collectd never suspends the plugin" eval "! grep -q 'read-function of plugin' $dir/log"
    stop_collectd
}

test_self_registration() {
    daemon_conf bare "" "JobGrace 15"
    daemon_run
    daemon_answers
    check "jobs are shown without a TypesDB line" wait_for 60 \
        daemon_shows $cpu batchjob="$name2"
    check "the plugin registered its types" logged \
        "batchjob plugin: 0 types from the TypesDB, "
    stop_collectd
}

test_wrong_type() {
    echo "job_cpu_usec value:GAUGE:0:U" >"$tmp/wrong.db"
    daemon_conf wrong "TypesDB \"/usr/share/collectd/types.db\" \"$tmp/wrong.db\"" ""
    daemon_run
    check "a wrong type in the TypesDB is named" wait_for 60 logged \
        "batchjob plugin: .*job_cpu_usec"
    daemon_answers
    check "collectd shows no value of the plugin" eval \
        "scrape_daemon && ! grep -q collectd_batchjob_ $dir/page"
    check "collectd continues" kill -0 "$daemon"
    kill "$daemon"
    wait "$daemon"
    is "collectd ends without a crash after the failed start" $? 1
}

refused() { # lines of <Plugin batchjob>, text that the log must have
    daemon_conf refused "$typesdb_lines" "$1"
    timeout 60 collectd -f -C "$dir/collectd.conf" >"$dir/out" 2>&1
    [ $? = 1 ] && cat "$dir/log" "$dir/out" | grep -- "$2"
}

test_config_errors() {
    check "an unknown option stops the start" refused 'NoSuch 1' \
        "batchjob plugin: unknown option 'NoSuch'"
    check "a bad value stops the start" refused 'LimitJobs 0' \
        'batchjob plugin: .*limit.jobs'
    check "two values for one option stop the start" refused 'LimitJobs 1 2' \
        'batchjob plugin: LimitJobs takes one value'
    check "a bad pattern is named at the start" refused_at_init
}

refused_at_init() {
    daemon_conf pattern "$typesdb_lines" 'JobPattern "x=("'
    daemon_run
    wait_for 60 logged "batchjob plugin: job.pattern x: "
    local rc=$?
    cat "$dir/log"
    kill "$daemon"
    wait "$daemon"
    return $rc
}

kept() { # numbers of descriptors on cgroup files
    find "/proc/$daemon/fd" -lname "$cg/*" -printf '%f\n' | sort -n
}

test_descriptors() {
    local n
    daemon_conf many "$typesdb_lines" "SampleSlow 0.5"
    daemon_run prlimit --nofile=8192:8192
    daemon_answers
    check "a job is shown with a high limit" wait_for 60 daemon_shows $cpu batchjob="$name2"
    # Values of a pass reach the page one after the other.
    wait_for 60 daemon_shows collectd_batchjob_sampler_fds_kept
    n=$(daemon_value collectd_batchjob_sampler_fds_kept)
    check "descriptors are kept ($n)" [ "$n" -gt 5 ]
    check "descriptors are kept above those that select(2) needs" [ "$(kept | head -n 1)" -ge 1024 ]
    is "the limit of descriptors does not change" \
        "$(awk '/^Max open files/ { print $4 }' "/proc/$daemon/limits")" 8192
    stop_collectd
    daemon_conf few "$typesdb_lines" "SampleSlow 0.5"
    daemon_run prlimit --nofile=540:540
    daemon_answers
    check "a job is shown with a low limit" wait_for 60 \
        daemon_shows $cpu batchjob="$name2"
    check "at most limit / 2 - 256 descriptors are kept" \
        [ "$(kept | wc -l)" -le 14 ]
    stop_collectd
}

# --- examples ------------------------------------------------------------------

test_chain() {
    daemon_conf chain "" "JobGrace 15" "
        LoadPlugin load
        LoadPlugin csv
        <Plugin csv>
          DataDir \"$tmp/chain/csv\"
        </Plugin>
        Include \"$top/examples/collectd-chain.conf\""
    daemon_run
    daemon_answers
    check "with the chain jobs reach write_prometheus" wait_for 60 \
        daemon_shows $cpu batchjob="$name2"
    check "with the chain other plugins reach CSV" wait_for 60 test -d "$dir/csv/e2e/load"
    is "with the chain jobs do not reach CSV" "$(ls "$dir/csv/e2e" | grep -c batchjob)" 0
    check "other plugins reach write_prometheus only where a rule says so" wait_for 60 \
        daemon_shows collectd_load_shortterm
    check "with the chain collectd's log has no warning" quiet_log
    stop_collectd
}

# collectd, not the plugin, refuses a file that is a symbolic link (docs/operations.md).
test_link() {
    local dir=$tmp/link
    mkdir "$dir"
    ln -s "$so_dir/batchjob.so" "$dir/batchjob.so"
    printf '%s\n' "PluginDir \"$dir\"" 'LoadPlugin batchjob' >"$dir/conf"
    check "collectd ends if a plugin is a symbolic link" eval "! collectd -T -C '$dir/conf' >'$dir/out' 2>&1"
    check "and says why" grep -q "$dir/batchjob.so is not a regular file" "$dir/out"
}

# The same chain over values of the plugin load, which needs no job.
test_chain_thresholds() {
    dir=$tmp/thresholds
    mkdir "$dir"
    {
        printf '%s\n' "BaseDir \"$dir\"" "PIDFile \"$dir/pid\"" 'FQDNLookup false' 'Interval 1' \
            'LoadPlugin logfile' '<Plugin logfile>' "  File \"$dir/log\"" '</Plugin>' \
            'LoadPlugin csv' '<Plugin csv>' "  DataDir \"$dir/csv\"" '</Plugin>' 'LoadPlugin load' \
            'LoadPlugin threshold' '<Plugin threshold>' '  <Plugin load>' '    <Type load>' \
            '      FailureMax -1' '    </Type>' '  </Plugin>' '</Plugin>'
        sed 's/\^batchjob\$/^load$/; s/write_prometheus/csv/; s/^    #\(<\|  Plugin\)/    \1/' "$top/examples/collectd-chain.conf"
    } >"$dir/conf"
    collectd -f -C "$dir/conf" >/dev/null 2>&1 &
    on_exit stop $!
    check "with the chain thresholds are checked" wait_for 20 grep -q 'severity = FAILURE' "$dir/log"
    stop $!
}

# The shipped configuration; only paths, port, interval and log plugin differ.
test_example_conf() {
    dir=$tmp/example
    mkdir "$dir"
    port=$(free_port)
    page=http://127.0.0.1:$port/metrics
    {
        echo "Hostname \"e2e\""
        echo "BaseDir \"$dir\""
        echo "PIDFile \"$dir/pid\""
        sed "s|/usr/local/lib/collectd|$so_dir|; s|\"/usr/lib/collectd\"|\"$plugins\"|
            s|9103\"|$port\"|; s|^Interval 30|Interval 1|
            s|^#Include .*|Include \"$top/examples/collectd-chain.conf\"|
            s|LoadPlugin syslog|LoadPlugin logfile|; s|<Plugin syslog>|<Plugin logfile>\n  File \"$dir/log\"|" \
            "$top/examples/collectd.conf"
    } >"$dir/collectd.conf"
    daemon_run
    daemon_answers
    check "examples/collectd.conf shows jobs" wait_for 60 \
        daemon_shows $cpu batchjob="$name2"
    check "the log of examples/collectd.conf has no warning" quiet_log
    # every option that is commented out there is valid
    sed -i 's/^  # \([A-Z][A-Za-z]* \)/  \1/' "$dir/collectd.conf"
    stop_collectd
    daemon_run
    daemon_answers
    check "examples/collectd.conf with all its options shows jobs" wait_for 60 \
        daemon_shows $cpu batchjob="$name2"
    check "the cluster is shown" wait_for 60 daemon_shows collectd_batchjob_job_cluster type=alpha
    stop_collectd
}

# --- memory --------------------------------------------------------------------

# Runs collectd's test of all readers, then collectd with a job that ends, under
# a checker.
under() { # checker...
    daemon_conf memory "$typesdb_lines" "
        CollectorProcess true
        CollectorPercore true
        CollectorSteps \"tasks\"
        JobGrace 1
        SampleSlow 0.5"
    check "collectd -T" timeout 200 "$@" collectd -T -f -C "$dir/collectd.conf"
    cp "$tmp/check.out" "$dir/test.out"
    daemon_run "$@"
    daemon_answers
    check "a job is shown" wait_for 60 daemon_shows $cpu batchjob="$name1"
    end_job $id1 "$job1"
    check "the ended job disappears" wait_for 60 daemon_shows_not $cpu batchjob="$name1"
    kill "$daemon"
    wait "$daemon"
    is "collectd ends with status 0" $? 0
}

test_valgrind() {
    command -v valgrind >/dev/null || skip_all "valgrind is not installed"
    under valgrind --leak-check=full --show-leak-kinds=definite \
        --errors-for-leak-kinds=definite --error-exitcode=99 \
        --log-file="$tmp/valgrind.%p"
    local f n=0
    for f in "$tmp"/valgrind.*; do
        n=$((n + 1))
        check "memcheck of run $n has no error" grep -q 'ERROR SUMMARY: 0 errors' "$f"
        check "memcheck of run $n finds no memory lost" grep -qE \
            'definitely lost: 0 bytes|All heap blocks were freed' "$f"
        grep -qE 'ERROR SUMMARY: 0 ' "$f" || sed 's/^/# /' "$f"
    done
    is "two runs were checked" $n 2
}

# The sanitizers' runtime of the compiler that built the plugin: gcc links it with
# the plugin, clang only with programs.
sanitizer_runtime() {
    local cc=clang libs="libclang_rt.asan-$(uname -m).so" l
    ! readelf -d "$so_dir/batchjob.so" | grep -q 'NEEDED.*libasan' ||
        { cc=gcc; libs="libasan.so libubsan.so"; }
    for l in $libs; do
        l=$($cc -print-file-name="$l")
        [ -e "$l" ] && printf '%s ' "$l" || return 1
    done
}

test_asan() {
    local runtime
    runtime=$(sanitizer_runtime) || skip_all "the sanitizers' runtime is not installed"
    under env LD_PRELOAD="${runtime% }" \
        ASAN_OPTIONS=detect_leaks=0:log_path="$tmp/asan" \
        UBSAN_OPTIONS=print_stacktrace=1:log_path="$tmp/ubsan"
    cat "$tmp"/asan.* "$tmp"/ubsan.* >"$tmp/reports" 2>/dev/null
    grep -hE "runtime error|AddressSanitizer" "$dir"/*out >>"$tmp/reports"
    is "no sanitizer reports an error" "$(head -n 40 "$tmp/reports")" ""
    check "the plugin that ran has a sanitizer" \
        eval "nm -D $so_dir/batchjob.so | grep -q __asan_"
}

case $mode in
run)
    start_jobs
    test_symbols
    test_main
    test_root_vanishes
    test_self_registration
    test_wrong_type
    test_config_errors
    test_descriptors
    test_chain
    test_chain_thresholds
    test_link
    test_example_conf ;;
valgrind)
    start_jobs
    test_valgrind ;;
asan)
    [ "$so_dir" = "$O" ] && so_dir=$O/san
    [ -e "$so_dir/batchjob.so" ] || skip_all "$so_dir/batchjob.so is not built"
    start_jobs
    test_asan ;;
*)
    echo "usage: collectd.sh run|valgrind|asan" >&2
    complete=1
    exit 2 ;;
esac
complete=1
