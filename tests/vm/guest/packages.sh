# The Debian packages under a real systemd: installed, used by a Slurm job, upgraded,
# removed and purged.  Sourced after slurm.sh.

debs=$here/debs # older/ and newer/, the same packages with two versions
services="batchjob_exporter batchjob_exporter_cluster batchjob_stats_db batchjob_stats_server"

# The state of each service, in one line.
are() { # enabled|active
    local s
    for s in $services; do echo -n "$(systemctl "is-$1" "$s" 2>/dev/null) "; done | sed 's/ $//'
}
pid_of() { systemctl show -P MainPID "$1"; }

# Slurm's directory is not in /tmp, since the units have a private one.
export_slurm() { export SLURM_SANDBOX_DIR=$here/slurm SLURM_SANDBOX_NODES=1; }

packages_install() {
    check "the packages install" dpkg -i "$debs"/older/*.deb
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
    # Without web.yml: requests come through the Unix socket.
    sed -i '/^  config:/,/^    file:/d' /etc/batchjob/stats_server.yml
    echo "server: unix:/run/batchjob_stats_server/api.sock" >/etc/batchjob/acct.yml
    systemctl restart batchjob_exporter
    check "the import starts" timeout "$patience" systemctl enable --now batchjob_stats_db
    check "the server starts" timeout "$patience" systemctl enable --now batchjob_stats_server
    equal "they run" "$(are active)" "active inactive active active"
}

acct_has() { # job: batchjob_acct prints the job with values that a node measured
    "$slurm" as bjanna batchjob_acct -n --output=csv --format=jobid,user,state,cpu_efficiency_source -j "$1" |
        tr -d '\r' | tee "$tmp/acct.out" | grep -q nodes
}

packages_work() {
    local job
    job=$(submit bjanna -n1 "$here/jobs/one")
    eventually "the exporter shows a job of Slurm" shows exporter "$job"
    check "an epilog can request a sample" touch "/run/batchjob_sample/requests/$job"
    eventually "the exporter takes it" test ! -e "/run/batchjob_sample/requests/$job"
    release one
    eventually "its record is imported, and its owner reads it with batchjob_acct" acct_has "$job"
    equal "the job" "$(cat "$tmp/acct.out")" "$job,bjanna,completed,nodes"
    equal "no record waits" "$(find /var/spool/batchjob -name '*.json')" ""
    equal "nothing failed" "$(systemctl list-units --failed --plain --no-legend 'batchjob*')" ""
}

packages_upgrade() {
    local before after
    systemctl stop batchjob_stats_db
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
    eventually "the exporter answers" answers exporter
    systemctl start batchjob_stats_db
    equal "the import runs on" "$(are active)" "active inactive active active"
}

packages_remove() {
    local names
    names=$(cd "$debs/newer" && for f in *.deb; do echo "${f%%_*}"; done)
    # shellcheck disable=SC2086
    check "the packages are removed" dpkg --remove $names
    equal "nothing runs" "$(are active)" "inactive inactive inactive inactive"
    equal "nothing failed" "$(systemctl list-units --failed --plain --no-legend 'batchjob*')" ""
    check "the store stays" test -s /var/lib/batchjob/stats.db
    # shellcheck disable=SC2086
    check "the packages are purged" dpkg --purge $names
    equal "purge leaves no unit" "$(find /etc/systemd/system -name 'batchjob*')" ""
    check "purge leaves the store" test -s /var/lib/batchjob/stats.db
    rm -rf /var/lib/batchjob
}
