# The Debian packages under a real systemd: installed, used by a Slurm job, upgraded,
# removed and purged.  Sourced after slurm.sh.

debs=$here/debs # newer/, and older.COMMIT/ for each version to upgrade from
python=python3
. "$here/unit.sh"
stats_db() { runuser -u batchjob -- batchjob_stats_db "$@" --config.file=/etc/batchjob/stats_db.yml; }
services="batchjob_exporter batchjob_exporter_cluster batchjob_stats_db batchjob_stats_server"

# The state of each service, in one line.
are() { # enabled|active
    local s
    for s in $services; do echo -n "$(systemctl "is-$1" "$s" 2>/dev/null) "; done | sed 's/ $//'
}
pid_of() { systemctl show -P MainPID "$1"; }

# Slurm's directory is not in /tmp, since the units have a private one.
export_slurm() { export SLURM_SANDBOX_DIR=$here/slurm SLURM_SANDBOX_NODES=1; }

packages_install() { # directory
    check "the packages install" dpkg -i "$1"/*.deb
    equal "only the exporter is enabled" "$(are enabled)" "enabled disabled disabled disabled"
    equal "only the exporter runs" "$(are active)" "active inactive inactive inactive"
    eventually "it answers at its port" answers exporter
}

# Configure as the comments of the installed files and docs/quickstart.md
# describe.
packages_configure() {
    sed -i 's/^# record:/record:/; s,^#   dir: /var/spool,  dir: /var/spool,' /etc/batchjob/exporter.yml
    { echo "name: sandbox"; echo "sacct: {interval: 1s, history: 1d, slurm-conf: $SLURM_CONF}"
        sed -n '/^records:/,/^    -/p' "$here/examples/cluster.yml"; } >/etc/batchjob/cluster.yml
    printf '#!/bin/sh\necho 120 W\n' >/usr/local/bin/watts && chmod 755 /usr/local/bin/watts
    printf 'energy:\n  command: /usr/local/bin/watts\n  slow-interval: 1s\n' >>/etc/batchjob/exporter.yml
    # Without web.yml: requests come through the Unix socket.
    sed -i '/^  config:/,/^    file:/d' /etc/batchjob/stats_server.yml
    echo "server: unix:/run/batchjob_stats_server/api.sock" >/etc/batchjob/acct.yml
    systemctl restart batchjob_exporter
    check "the import starts" timeout "$patience" systemctl enable --now batchjob_stats_db
    check "the server starts" timeout "$patience" systemctl enable --now batchjob_stats_server
    equal "they run" "$(are active)" "active inactive active active"
}

acct_has() { # job: batchjob_acct prints the job, measured on its node
    "$slurm" as bjanna batchjob_acct -n --output=csv --format=jobid,user,state,measured_nodes -j "$1" |
        tr -d '\r' | tee "$tmp/acct.out" | grep -q 'completed,1$'
}

failed_is_known() { # job
    figures | grep "$1" | grep -q ',failed,'
}

# The data of a site that an upgrade keeps.
figures() { runuser -u batchjob -- batchjob_acct --since=1d --output=csv --format=all --store.path=/var/lib/batchjob/stats.db; }
records() { "$python" -c "import sqlite3; print(*sqlite3.connect('file:/var/lib/batchjob/stats.db?mode=ro',
    uri=True).execute('SELECT count(*) FROM node_record').fetchone())"; }
joules() { page exporter | samples batchjob_node_energy_joules_total 'component="other"'; }
joules_from() { # joules: prints them if the exporter has reached them
    joules | gawk -v n="$1" '$1 > 0 && $1 >= n { found = 1; print } END { exit !found }'
}

packages_work() { # sets job
    # Both are long enough to be measured: newer versions do not take 0 bytes for a peak.
    local failing
    failing=$(submit bjboris -n1 --wrap "$here/jobs/one; false")
    eventually "the exporter shows a job of Slurm" shows exporter "$failing"
    job=$(submit bjanna -n1 "$here/jobs/one")
    eventually "and one of another user" shows exporter "$job"
    release one
    eventually "a failed job is imported" failed_is_known "$failing"
    eventually "its record is imported, and its owner reads it with batchjob_acct" acct_has "$job"
    equal "the job" "$(cat "$tmp/acct.out")" "$job,bjanna,completed,1"
    eventually "no record waits" sh -c '! find /var/spool/batchjob -name "*.json" | grep .'
    eventually "the exporter counts the energy of a meter" joules_from 1
    check "a user's choice of mails is stored" stats_db mail choice bjanna weekly
    equal "nothing failed" "$(systemctl list-units --failed --plain --no-legend 'batchjob*')" ""
}

packages_upgrade() {
    local before after had energy
    systemctl stop batchjob_stats_db
    figures >"$tmp/figures.older"
    had=$(records)
    energy=$(joules)
    before=$(pid_of batchjob_exporter)/$(pid_of batchjob_stats_server)
    check "the packages upgrade" dpkg -i --force-confold --auto-deconfigure "$debs"/newer/*.deb
    equal "what ran runs, what was stopped does not" "$(are active)" "active inactive inactive active"
    equal "what is enabled stays so" "$(are enabled)" "enabled disabled enabled enabled"
    after=$(pid_of batchjob_exporter)/$(pid_of batchjob_stats_server)
    if [ "${before%/*}" != "${after%/*}" ] && [ "${before#*/}" != "${after#*/}" ]; then
        ok "both run the new version"
    else
        not_ok "both run the new version" "processes before $before, after $after"
    fi
    eventually "the exporter continues at $energy J" joules_from "$energy"
    check "an epilog can request a sample" touch "/run/batchjob_sample/requests/$job"
    eventually "the exporter takes it" test ! -e "/run/batchjob_sample/requests/$job"
    check "the import starts" systemctl start batchjob_stats_db
    equal "it runs on" "$(are active)" "active inactive active active"
    # It is ready before it has changed the tables of an older store.
    eventually "batchjob_acct reads the store" figures
    figures >"$tmp/figures.newer"
    same_figures "$tmp/figures.older" "$tmp/figures.newer" >"$tmp/figures.diff"
    note "$(head -n 1 "$tmp/figures.diff")"
    equal "every figure that the older version showed is the same" "$(sed -n 2,20p "$tmp/figures.diff")" ""
    equal "the records are in the store" "$(records)" "$had"
    check "so is the choice of mails" grep -q 'bjanna.*weekly' <(stats_db mail choices)
    check "sums and jobs of the store agree" stats_db check
    eventually "a user reads jobs through the server" acct_has "$job"
    equal "nothing failed" "$(systemctl list-units --failed --plain --no-legend 'batchjob*')" ""
}

# As docs/snmp.md describes.
packages_snmp() {
    equal "the sub-agent of snmpd is off" "$(systemctl is-enabled batchjob_snmp)" disabled
    check "the example configures snmpd" install -m 600 /usr/share/batchjob/examples/snmp/snmpd.conf \
        /etc/snmp/snmpd.conf.d/batchjob.conf
    check "snmpd starts" timeout "$patience" systemctl restart snmpd
    check "the sub-agent starts" timeout "$patience" systemctl enable --now batchjob_snmp
    eventually "snmpd has the node" sub_agent_answers
    # Installed again, it is restarted.
    local before
    before=$(pid_of batchjob_snmp)
    check "the package is installed again" dpkg -i "$debs"/newer/batchjob-snmp_*.deb
    equal "the sub-agent runs" "$(systemctl is-active batchjob_snmp)" active
    check "as a new process" test "$before" != "$(pid_of batchjob_snmp)"
    eventually "snmpd has the node again" sub_agent_answers
    equal "nothing failed" "$(systemctl list-units --failed --plain --no-legend 'batchjob*' snmpd)" ""
}
sub_agent_answers() {
    local root=.1.3.6.1.4.1.8072.9999.9999.9010
    snmpget -v2c -c batchjob -m "" -Oqv localhost $root.1.1.1.0 $root.1.1.17.0 | tee "$tmp/snmp.out" |
        grep -qx "\"$(batchjob_snmp --version | cut -d' ' -f2)\"" && ! grep -q "No Such" "$tmp/snmp.out"
}

# A service whose configuration is mended starts again, however often it could not.
packages_cure() {
    local name unit conf
    for name in stats_db stats_server; do
        unit=batchjob_$name conf=/etc/batchjob/$name.yml
        mv $conf $conf.good
        sed 's/^store:/&\n  cach: 1M/' $conf.good >$conf
        for _ in 1 2 3 4 5 6 7; do systemctl restart $unit 2>/dev/null; done
        mv $conf.good $conf
        check "$unit starts when its configuration is mended" timeout "$patience" systemctl start $unit
        eventually "its log names the mistake" sh -c "journalctl -q -u $unit -o cat | grep -qF \"did you mean 'store.cache'?\""
    done
    equal "nothing failed" "$(systemctl list-units --failed --plain --no-legend 'batchjob*')" ""
}

packages_remove() {
    local names
    names=$(cd "$debs/newer" && for f in *.deb; do echo "${f%%_*}"; done)
    # shellcheck disable=SC2086
    check "the packages are removed" dpkg --remove $names
    equal "nothing runs" "$(are active)" "inactive inactive inactive inactive"
    equal "neither does the sub-agent" "$(systemctl is-active batchjob_snmp)" inactive
    equal "nothing failed" "$(systemctl list-units --failed --plain --no-legend 'batchjob*')" ""
    check "the store stays" test -s /var/lib/batchjob/stats.db
    # shellcheck disable=SC2086
    check "the packages are purged" dpkg --purge $names
    equal "purge leaves no unit" "$(find /etc/systemd/system -name 'batchjob*')" ""
    check "purge leaves the store" test -s /var/lib/batchjob/stats.db
    rm -rf /var/lib/batchjob /var/spool/batchjob "$here/jobs/go.one" /etc/snmp/snmpd.conf.d/batchjob.conf
}

# A host that is no compute node: the masked exporter stays off when the package is installed.
packages_head_node() {
    check "the exporter is masked" systemctl mask batchjob_exporter
    check "the package installs" dpkg -i "$debs"/newer/batchjob-exporter_*.deb
    check "the cluster's exporter starts" timeout "$patience" systemctl enable --now batchjob_exporter_cluster
    equal "only the cluster's exporter runs" "$(are active)" "inactive active inactive inactive"
    equal "port 9010 is closed" "$(ss -Hltn 'sport = :9010')" ""
    check "the package is purged" dpkg --purge batchjob-exporter
    equal "nothing runs" "$(are active)" "inactive inactive inactive inactive"
    equal "nothing failed" "$(systemctl list-units --failed --plain --no-legend 'batchjob*')" ""
    systemctl unmask batchjob_exporter
}
