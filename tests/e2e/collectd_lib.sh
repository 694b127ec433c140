# Runs collectd with the plugin, for its tests; sourced after lib.sh.
# shellcheck shell=bash disable=SC2154

so_dir=${so_dir:-$O}
typesdb_lines="TypesDB \"/usr/share/collectd/types.db\" \"$top/types.db\""

need_collectd() {
    [ -e "$so_dir/batchjob.so" ] ||
        skip_all "collectd-dev is not installed: no batchjob.so in $so_dir"
    command -v collectd >/dev/null || skip_all "collectd is not installed"
    plugins=$(collectd_plugins) ||
        skip_all "collectd's write_prometheus is not installed"
}

# daemon_conf NAME TYPESDB-LINES PLUGIN-LINES [MORE-LINES]: write
# $tmp/NAME/collectd.conf; sets dir, port and page (the URL).
daemon_conf() {
    dir=$tmp/$1
    port=$(free_port)
    page=http://127.0.0.1:$port/metrics
    mkdir -p "$dir"
    cat >"$dir/collectd.conf" <<-END
		Hostname "e2e"
		FQDNLookup false
		BaseDir "$dir"
		PIDFile "$dir/pid"
		Interval 1
		$2
		LoadPlugin logfile
		<Plugin logfile>
		  LogLevel info
		  File "$dir/log"
		</Plugin>
		PluginDir "$so_dir"
		LoadPlugin batchjob
		<Plugin batchjob>
		EnergyStateFile ""
		$3
		</Plugin>
		PluginDir "$plugins"
		LoadPlugin write_prometheus
		<Plugin write_prometheus>
		  Host "127.0.0.1"
		  Port "$port"
		</Plugin>
		${4:-}
	END
}

# daemon_run [command before collectd...]: start what daemon_conf wrote last;
# sets daemon (its pid).
daemon_run() {
    "$@" collectd -f -C "$dir/collectd.conf" >"$dir/out" 2>&1 &
    daemon=$!
    on_exit "stop $daemon"
}

daemon_answers() {
    wait_for 60 curl -sf "$page" || {
        cat "$dir/out" >>"$dir/log"
        fail "collectd answers" "$dir/log"
        exit 1
    }
}

# Write the page to a file.
scrape_daemon() { curl -sSf --max-time 60 "$page" >"$dir/page" 2>"$dir/curl.err"; }
daemon_value() { $prom value "$dir/page" "$@"; }
daemon_shows() { scrape_daemon && daemon_value "$@"; }
daemon_shows_not() { scrape_daemon && ! daemon_value "$@"; }

# The number of passes of the plugin so far.
passes() { scrape_daemon && daemon_value collectd_batchjob_sampler_passes_total; }
passes_above() { [ "$(passes)" -gt "$1" ]; }

logged() { grep -q -- "$*" "$dir/log"; }
