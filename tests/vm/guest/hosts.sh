# The two hosts of the core in the guest, exporter and collectd: start, stop,
# and checks of their pages.  Sourced after lib.sh.

job_files=/tmp/bj-slurm/jobs # the sandbox's prolog writes them
unit_pattern='unit=batch\.slice/batch-(?<jobid>[^/]+)\.service'

exporter_options() { # one per line
    cat <<-END
		--web.listen-address=127.0.0.1:9010
		--job.grace=${grace}s
		--job.pattern=$unit_pattern
		--job.file-dir=$job_files
		--collector.process
		--collector.pressure
		--sample.slow=100ms
		--log.level=debug
	END
}

start_exporter() { # as a service, so that it is in no job's cgroup
    local args
    mapfile -t args < <(exporter_options)
    systemd-run --quiet --unit=bj-exporter --property=StandardError="file:$tmp/exporter.log" \
        -- "$here/batchjob_exporter" "${args[@]}"
}

write_collectd_conf() {
    mkdir -p "$tmp/collectd/csv"
    cat >"$tmp/collectd.conf" <<-END
		Interval $interval
		Hostname "guest"
		FQDNLookup false
		BaseDir "$tmp/collectd"
		PIDFile "$tmp/collectd/collectd.pid"
		LoadPlugin logfile
		<Plugin logfile>
		    File "$tmp/collectd.log"
		    LogLevel info
		    Timestamp true
		</Plugin>
		LoadPlugin write_prometheus
		<Plugin write_prometheus>
		    Host "127.0.0.1"
		    Port "9103"
		</Plugin>
		PluginDir "$here"
		TypesDB "/usr/share/collectd/types.db" "$here/types.db"
		LoadPlugin batchjob
		<Plugin batchjob>
		    JobGrace "${grace}s"
		    JobPattern "$(sed 's/\\/\\\\/g' <<<"$unit_pattern")"
		    JobFileDir "$job_files"
		    CollectorProcess true
		    CollectorPressure true
		    SampleSlow "100ms"
		</Plugin>
	END
}

# collectd loads a plugin from the last PluginDir before its line.
start_collectd() {
    write_collectd_conf
    systemd-run --quiet --unit=bj-collectd --property=StandardError="file:$tmp/collectd.err" \
        -- /usr/sbin/collectd -f -C "$tmp/collectd.conf"
}

answers() { # host
    page "$1" | grep -q batchjob
}

start_hosts() {
    start_exporter
    start_collectd
    eventually "exporter answers" answers exporter || tail -n 20 "$tmp/exporter.log" | sed 's/^/#   /'
    eventually "collectd answers" answers collectd || tail -n 20 "$tmp/collectd.log" "$tmp/collectd.err" | sed 's/^/#   /'
}

# Check that both still run, and stop them.
stop_hosts() {
    local unit
    for unit in bj-exporter bj-collectd; do
        equal "$unit has run all the time" "$(systemctl is-active $unit)" active
    done
    systemctl stop bj-exporter bj-collectd 2>/dev/null
    systemctl reset-failed bj-exporter bj-collectd 2>/dev/null
    return 0
}

shows() { # host job: the CPU seconds are there, so the job has been read
    [ -n "$(value "$1" job_cpu_seconds_total "$2")" ]
}
hides() { # host job: its page has no series of the job
    local label=jobid
    [ "$1" = exporter ] || label=batchjob
    page "$1" >/dev/null && ! grep -q "[{,]$label=\"$2[\"@]" "$tmp/$1.page"
}
both_show() { shows exporter "$1" && shows collectd "$1"; }

shown() { # job what-it-is
    eventually "exporter shows $2" shows exporter "$1"
    eventually "collectd shows $2" shows collectd "$1"
}

# An ended job stays for the grace time and then disappears.  since: when it was
# last seen running, in $SECONDS.
leaves() { # host job what since
    local host=$1 job=$2 what=$3 since=$4 slack=60 took
    eventually "$host: $what leaves" hides "$host" "$job" || return
    took=$((SECONDS - since))
    if [ "$took" -ge "$grace" ]; then
        ok "$host: $what stayed for its grace time"
    else
        not_ok "$host: $what stayed for its grace time" "gone after $took s, grace $grace s"
    fi
    [ "$took" -le $((grace + 3 * interval + slack)) ] ||
        not_ok "$host: $what left in time" "gone only after $took s, grace $grace s"
}

# No series is repeated, and every line is well-formed.
page_is_sound() { # host
    local twice odd
    page "$1" >/dev/null || return 1
    twice=$(grep -v '^#' "$tmp/$1.page" | sed 's/} .*/}/; t; s/ .*//' | sort | uniq -d | head -n 5)
    [ -z "$twice" ] || { echo "series there twice: $twice"; return 1; }
    odd=$(grep -vE '^#|^$|^[a-zA-Z_:][a-zA-Z0-9_:]*(\{.*\})? [-+0-9.eEnainfNIf]+( [0-9]+)?$' "$tmp/$1.page" | head -n 5)
    [ -z "$odd" ] || { echo "odd lines: $odd"; return 1; }
}
