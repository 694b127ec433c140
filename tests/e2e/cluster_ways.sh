# The same Slurm queried in other ways: with --json, and through slurmrestd over
# a Unix socket and over TCP with a token.  Sourced by cluster.sh.
# shellcheck shell=bash disable=SC2154

# --- slurmrestd, which refuses to run as root or SlurmUser --------------------

rest_dir=$tmp/rest
mkdir "$rest_dir" && chmod 777 "$rest_dir"
rest_port=$(free_port)

start_restd() { # name environment argument...: sets restd_NAME
    local name=$1 env=$2
    shift 2
    setpriv --reuid="$(id -u $ua)" --regid="$(id -g $ua)" --clear-groups \
        env -i PATH="$PATH" HOME=/ SLURM_CONF="$SLURM_CONF" SLURM_BITSTR_LEN=0 \
        $env slurmrestd "$@" >"$tmp/restd.$name.log" 2>&1 &
    eval "restd_$name=$!"
    on_exit "kill_ours $!"
}

# start_way NAME OPTION...: start an exporter; sets url_NAME and pid_NAME.
start_way() {
    local name=$1 saved=$url
    shift
    # shellcheck disable=SC2086
    start_exporter --collector.cluster --cluster.interval=2 \
        --cluster.slow-interval=2 --cluster.timeout=2 $by \
        --cluster.slurm-conf="$SLURM_CONF" --cluster.source=diag \
        --cluster.source=licenses --cluster.source=reservations \
        --cluster.source=limits "$@"
    eval "url_$name=$url pid_$name=$exporter"
    url=$saved
}

with_way() { # way command...: run it with the url of the way
    local url
    eval "url=\$url_$1"
    shift
    "$@"
}

ways="json wrapped"
start_way json --cluster.via=json --cluster.source=shares
# With a command prefix that drops the environment, as sudo and ssh do.
start_way wrapped --cluster.command-prefix='env -i' --cluster.source=shares \
    --cluster.path="$(dirname "$(command -v squeue)")"
if command -v slurmrestd >/dev/null; then
    ways="json wrapped socket tcp"
    start_restd socket "" -a rest_auth/local "unix:$rest_dir/socket"
    start_restd tcp SLURM_JWT=daemon -a rest_auth/jwt "127.0.0.1:$rest_port"
    (umask 077 && scontrol token username=root lifespan=86400 >"$tmp/token")
    check "slurmrestd listens" wait_for 60 [ -S "$rest_dir/socket" ]
    listens() { (exec 3<>"/dev/tcp/127.0.0.1/$rest_port") 2>/dev/null; }
    check "slurmrestd listens on a TCP port" wait_for 60 listens
    # slurmrestd of Slurm 22.05 has no shares.
    shares=
    slurm_since 23.02 && shares=--cluster.source=shares
    # shellcheck disable=SC2086
    start_way socket --cluster.via=rest $shares \
        --slurmrestd.unix-socket="$rest_dir/socket"
    # shellcheck disable=SC2086
    start_way tcp --cluster.via=rest $shares --slurmrestd.user=root \
        --slurmrestd.url="http://127.0.0.1:$rest_port" \
        --slurmrestd.token-file="$tmp/token"
else
    skip "the same figures by slurmrestd" "not installed: slurmrestd"
fi

# --- the same figures ----------------------------------------------------------

for way in $ways; do
    check "$way: the cluster is seen" wait_for 60 with_way $way shows \
        batchjob_cluster_source_success source=limits
done
urls=
for way in $ways; do eval "urls=\"\$urls $way=\$url_$way\""; done
# shellcheck disable=SC2086
run_tap "$top/tests/e2e/cluster_ways.py" "$url" $urls

# --- selected jobs and nodes ---------------------------------------------------

start_way some --cluster.jobs=partition=test --cluster.jobs=state=R,PD \
    --cluster.nodes=partition=big
check "the selected jobs and nodes are seen" wait_for 60 with_way some shows \
    batchjob_cluster_source_success source=limits
only() { # label metric: its values
    $prom label "$tmp/page" "$1" "$2" | sort -u | xargs
}
with_way some scrape
is "only jobs of the chosen partition are shown" \
    "$(only partition batchjob_partition_jobs)" "test test,batch"
is "only jobs in the chosen states are shown" "$(only state batchjob_cluster_jobs)" "PENDING RUNNING"
is "only nodes of the chosen partition are shown" "$(only node batchjob_cluster_node_cpus)" "bjx1 bjx2 bjx3"
kill "$pid_some"

# --- number of queries ----------------------------------------------------------

way_runs() { scrape "$tmp/page.way" &&
    $prom value "$tmp/page.way" batchjob_cluster_source_runs_total source=queue; }
for way in $ways; do
    eval "way_url=\$url_$way"
    before=$(with_way $way way_runs) start=$SECONDS
    scrapers "$way_url"
    is "$way: 20 scrapers get their pages" "$failed" 0
    more=$(($(with_way $way way_runs) - before)) allowed=$(((SECONDS - start) / 2 + 2))
    check "$way: 20 scrapers cause no more queries: $more rounds, $allowed allowed" \
        [ "$more" -le "$allowed" ]
done

failed_as() { # source kind: the source failed, with an error of this kind
    scrape "$tmp/page.way" || return
    [ "$($prom value "$tmp/page.way" batchjob_cluster_source_success \
        source="$1")" = 0 ] &&
        [ "$($prom value "$tmp/page.way" batchjob_cluster_source_errors_total \
            source="$1" kind="$2")" -gt 0 ]
}

check_hanging_controller() { # while the controller is stopped
    for way in $ways; do
        check "$way: a hanging controller is reported" wait_for 60 with_way $way \
            failed_as queue timeout
        check "$way: figures of a hanging controller disappear" wait_for 60 with_way $way shows_not \
            batchjob_cluster_jobs
    done
}

check_resumed_controller() {
    for way in $ways; do
        check "$way: figures return when the controller answers" wait_for 90 with_way $way shows \
            batchjob_cluster_jobs state=RUNNING
    done
}

# One slurmrestd ends, and a server with invalid replies takes its port.
check_missing_slurmrestd() {
    case $ways in *tcp*) ;; *) return ;; esac
    kill "$restd_tcp"
    check "tcp: a missing slurmrestd is reported" wait_for 60 with_way tcp \
        failed_as queue missing
    check "tcp: figures of a missing slurmrestd disappear" wait_for 60 with_way tcp shows_not batchjob_cluster_jobs
    check "tcp: the node's own figures stay" with_way tcp shows batchjob_node_cpus
    check "socket: figures of the other slurmrestd stay" with_way socket shows batchjob_cluster_jobs
    $python "$top/tests/e2e/cluster_ways.py" nonsense "$rest_port" &
    on_exit "kill_ours $!"
    check "tcp: an invalid reply is reported" wait_for 60 with_way tcp failed_as queue output
    check "tcp: an invalid reply gives no figures" with_way tcp shows_not batchjob_cluster_jobs
}
