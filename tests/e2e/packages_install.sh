#!/bin/bash
# Install, upgrade and remove the deb and RPM packages in a minimal root file system, in
# which systemctl is a stub that records its calls.  TAP; needs root and mmdebstrap; some
# minutes.  OLDER=COMMIT upgrades from the packages of that commit, and from its store.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cgroup.sh"
. "$(dirname "$0")/unit.sh"
cd "$top" || exit 1

command -v mmdebstrap >/dev/null || skip_all "mmdebstrap is not installed"
command -v dpkg-buildpackage >/dev/null || skip_all "dpkg-buildpackage is not installed"
[ "$(id -u)" = 0 ] || skip_all "not root"
git rev-parse -q --verify HEAD >/dev/null || skip_all "not a git checkout"

root=$tmp/root
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Created-By: Packages" | head -n 1)
check "a minimal $release is installed" mmdebstrap --quiet --variant=minbase --mode=root \
    --skip=cleanup/apt/lists --include=adduser,init-system-helpers "$release" "$root" "$mirror"

# The stub has a file in /units for each enabled and each running service.
# deb-systemd-helper enables services by links.
units=$root/units
mkdir -p "$units/enabled" "$units/active" "$root/run/systemd/system" \
    "$root/etc/systemd/system/multi-user.target.wants"
cat >"$root/usr/bin/systemctl" <<'STUB'
#!/bin/sh
verb= now= list=
for word; do
    case $word in
    --now) now=1 ;;
    -*) ;;
    *) [ -n "$verb" ] && list="$list $word" || verb=$word ;;
    esac
done
for u in $list; do
    s=${u%.service}
    case $verb in
    is-enabled) [ -e "/units/enabled/$s" ] || ls /etc/systemd/system/*.wants/"$u" >/dev/null 2>&1 &&
        echo enabled && exit 0; echo disabled; exit 1 ;;
    is-active) [ -e "/units/active/$s" ]; exit ;;
    start | restart) echo "$verb $s" >>/units/log; : >"/units/active/$s" ;;
    try-restart) [ ! -e "/units/active/$s" ] || echo "restart $s" >>/units/log ;;
    stop) [ ! -e "/units/active/$s" ] || echo "stop $s" >>/units/log; rm -f "/units/active/$s" ;;
    disable) rm -f "/units/enabled/$s"; [ -z "$now" ] || "$0" stop "$u" ;;
    preset) # on Debian it enables
        echo "preset $s" >>/units/log
        [ -e /var/lib/rpm ] || ln -sf "/lib/systemd/system/$u" /etc/systemd/system/multi-user.target.wants/
        ;;
    esac
done
exit 0
STUB
chmod 755 "$root/usr/bin/systemctl"
enabled() { [ -L "$root/etc/systemd/system/multi-user.target.wants/$1.service" ]; }
in_order() { sort | tr '\n' ' ' | sed 's/ $//'; }
running() { (cd "$units/active" && ls) | in_order; }
calls() { in_order <"$units/log"; } # since the last forget
forget() { : >"$units/log"; }
inside() { DEBIAN_FRONTEND=noninteractive chroot "$root" "$@" </dev/null; }

# Reach the mirror with this machine's settings.
cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null
check "make deb" make deb O="$tmp/build" PACKAGER="Ann <ann@site.example>"
mkdir -p "$root/packages" "$root/older"
cp "$tmp"/build/packages/deb/*.deb "$root/packages/" && rm -f "$root"/packages/*dbgsym*
check "older packages are made: ${OLDER:-the same as version 0.0.1}" tests/e2e/older_debs "$root/packages" "$root/older"
version=$(dpkg-deb -f "$root"/packages/batchjob-exporter_*.deb Version)
names_of() { (cd "$root/$1" && for f in *.deb; do echo "${f%%_*}"; done); }
names=$(names_of packages)
install() { inside sh -c "apt-get -q -y --no-install-recommends install /$1/*.deb"; }
versions() { # the distinct versions and states of all packages
    # shellcheck disable=SC2086
    inside dpkg-query -W -f '${Version} ${db:Status-Status}\n' $names | sort -u
}

inside sh -c "apt-get -s -q install /packages/batchjob-acct_*.deb" >"$tmp/acct.packages"
check "a login node gets batchjob-acct" grep -q '^Inst batchjob-acct ' "$tmp/acct.packages"
is "it gets no fonts and no libraries for drawing with it" "$(grep -E '^Inst (fonts|libx11|libpango|libcairo)' "$tmp/acct.packages")" ""
check "the packages install" install older
is "the packages are those that the quickstart names" "$names" "batchjob-acct
batchjob-doc
batchjob-examples
batchjob-exporter
batchjob-snmp
batchjob-stats
collectd-plugin-batchjob"
old=$(dpkg-deb -f "$root"/older/batchjob-exporter_*.deb Version)
is "the older packages are installed" "$(names=$(names_of older); versions)" "$old installed"
check "the exporter is enabled" enabled batchjob_exporter
check "the group of snmpd's AgentX socket exists" inside getent group batchjob-agentx
is "exporter and collectd start; accounting needs a configuration first" "$(running)" "batchjob_exporter collectd"
check "the accounting user exists" inside getent passwd batchjob
is "the server's configuration is readable only by root and the accounting group" \
    "$(inside stat -c '%a %G' /etc/batchjob/stats_server.yml)" "640 batchjob"

is "the directory of final records has its mode and owner" "$(inside stat -c '%a %U %G' /var/spool/batchjob)" \
    "2770 root batchjob"

# --- a final record under the restrictions of the units ----------------------

jobs_with_records() {
    $python - "$root/var/lib/batchjob/stats.db" <<'PY'
import sqlite3, sys
print(*[r[0] for r in sqlite3.connect(sys.argv[1]).execute("SELECT jobid FROM node_record")])
PY
}
# Jobs of LSF, whose file needs no scheduler: ended and killed ones, of several users.
lsf_jobs() {
    $python - <<'PY'
for i in range(40):
    hosts, killed = i % 4 + 1, i % 5 == 0
    at = 1795170000 + 3600 * i
    print(f'"JOB_FINISH" "10.1" {at + 500} {100 + i} 1001 33816579 4 {at} 0 0 {at + 50} "u{i % 3}" "normal" '
          f'"span[hosts=1]" "" "" "login1" "w" "" "out" "" "{at}.{i}" 1 "a" {hosts} ' + '"h" ' * hosts +
          f'{32 if killed else 64} 60.0 "run{i}" "true" {7 * i}.5 0.5 0 0 -1 0 0 7 0 0 0 0 -1 0 0 0 1 2 -1 "" "default" '
          f'{256 if killed else 0} 4 "" "" 0 {1024 * (i + 1)} 2097152')
PY
}
# All that the installed batchjob_acct shows of the jobs in the store, as CSV.
# Without snmpd the sub-agent runs, and tries again to connect.
sub_agent_starts() {
    as_unit_prefix=exec as_unit "$root" batchjob_snmp 61235:61235 >"$tmp/snmp.log" 2>&1 &
    on_exit stop $!
    wait_for 60 grep -q "no session with the master agent at /var/agentx/master" "$tmp/snmp.log"
    check "batchjob_snmp starts under its unit, and names the socket of snmpd" \
        grep -q "no session with the master agent at /var/agentx/master" "$tmp/snmp.log"
    check "it runs on" kill $!
}
figures() { inside runuser -u batchjob -- batchjob_acct --since=2026-01-01 --output=csv --format=all; }
records_arrive() {
    local spool=$root/var/spool/batchjob gid uid n
    cg_init
    [ $cg_version != none ] || { skip "final records" "no control groups"; return; }
    gid=$(inside getent group batchjob | cut -d: -f3) uid=$(inside id -u batchjob)
    port=$(free_port)
    sed -i "s/:9010/127.0.0.1:$port/" "$root/etc/batchjob/exporter.yml"
    # Enable final records as the comment in the file describes.
    sed -i 's/^# record:/record:/; s,^#   dir: /var/spool,  dir: /var/spool,' "$root/etc/batchjob/exporter.yml"
    as_unit_prefix=exec as_unit "$root" batchjob_exporter 61234:61234 >"$tmp/exporter.log" 2>&1 &
    on_exit stop $!
    wait_for 60 grep -q "listening on" "$tmp/exporter.log"
    check "the exporter starts with records under its unit" grep -q "listening on" "$tmp/exporter.log"
    page_has . || return
    cg_job 65534 4711
    cg_run 65534 4711 sleep 60
    wait_for 60 page_has 'batchjob_job_processes{jobid="4711"'
    cg_kill 65534 4711
    wait_for 60 sh -c "ls $spool/*.4711.*.json"
    n=$(find "$spool" -name '*.4711.*.json' | head -n 1)
    is "a record is written, readable by the group" "$(stat -c '%a %u %g' "${n:-$spool}")" "640 61234 $gid"
    lsf_jobs >"$root/etc/batchjob/lsb.acct"
    { echo "name: alpha"; echo "lsf: {acct: /etc/batchjob/lsb.acct}"
        sed -n '/^records:/,/^    -/p' examples/cluster.yml; } >"$root/etc/batchjob/cluster.yml"
    check "batchjob_stats_db can read its files under its unit" \
        as_unit "$root" batchjob_stats_db "$uid:$gid" check-config
    check "batchjob_stats_db imports under its unit" as_unit "$root" batchjob_stats_db "$uid:$gid" --once
    is "the record is in the store" "$(jobs_with_records)" 4711
    is "the imported record is removed from the directory" "$(find "$spool" -type f)" ""
    figures >"$tmp/figures.older"
    is "batchjob_acct shows the jobs of the accounting file" "$(grep -c ,alpha, "$tmp/figures.older")" 40
}
page_has() { curl -s "http://127.0.0.1:$port/metrics" | grep -q "$1"; }
records_arrive
[ ! -e "$root/usr/bin/batchjob_snmp" ] || sub_agent_starts

# --- upgrade, removal and purge of the Debian packages -----------------------

# The cluster's exporter, the sub-agent and the import run without being enabled; the
# server is enabled but stopped.
snmp=
[ ! -e "$root/usr/bin/batchjob_snmp" ] || snmp=batchjob_snmp # the older packages have it
for u in batchjob_exporter_cluster $snmp batchjob_stats_db; do : >"$units/active/$u"; done
inside env DPKG_MAINTSCRIPT_PACKAGE=batchjob-stats deb-systemd-helper enable batchjob_stats_server.service
echo "# of the site" >>"$root/etc/batchjob/stats_db.yml"
forget
check "the packages upgrade" install packages
is "all packages are upgraded" "$(versions)" "$version installed"
is "the services that ran are restarted, and no other" "$(calls)" \
    "restart batchjob_exporter restart batchjob_exporter_cluster${snmp:+ restart $snmp} restart batchjob_stats_db"
is "the same services run" "$(running)" "batchjob_exporter batchjob_exporter_cluster${snmp:+ $snmp} batchjob_stats_db collectd"
check "the upgrade keeps the site's configuration" grep -qx "# of the site" "$root/etc/batchjob/stats_db.yml"
the_store_is_upgraded() {
    [ -s "$root/var/lib/batchjob/stats.db" ] || { skip "the store is upgraded" "no control groups"; return; }
    uid=$(inside id -u batchjob) gid=$(inside getent group batchjob | cut -d: -f3)
    check "the newer batchjob_stats_db opens the store of the older one" \
        as_unit "$root" batchjob_stats_db "$uid:$gid" --once
    is "the record is still in it" "$(jobs_with_records)" 4711
    figures >"$tmp/figures.newer"
    same_figures "$tmp/figures.older" "$tmp/figures.newer" >"$tmp/figures.diff"
    sed -n '1s/^/# /p' "$tmp/figures.diff"
    is "every figure that the older version showed is the same" "$(sed -n 2,20p "$tmp/figures.diff")" ""
    check "sums and jobs of the store agree" as_unit "$root" batchjob_stats_db "$uid:$gid" check
    rm "$root/etc/batchjob/lsb.acct" "$root"/var/lib/batchjob/*
}
the_store_is_upgraded

# Create the files that services leave behind.
leave() {
    inside install -d -m 700 /var/lib/private/batchjob_exporter
    inside ln -sfn private/batchjob_exporter /var/lib/batchjob_exporter
    inside install -d -m 750 -o batchjob -g batchjob /var/lib/batchjob
    [ "$1" = empty ] || inside install -o batchjob /etc/hostname /var/lib/batchjob/stats.db
}
leave data
forget
# shellcheck disable=SC2086
check "the packages are removed" inside dpkg --remove $names
is "the running services are stopped" "$(calls)" "stop batchjob_exporter stop batchjob_exporter_cluster${snmp:+ stop $snmp} stop batchjob_stats_db"
check "removal keeps the configuration" [ -e "$root/etc/batchjob/stats_db.yml" ]
is "the plugin's configuration stays, and collectd does not read it" "$(cd "$root/etc/collectd/collectd.conf.d" &&
    ls | grep batchjob)" batchjob.conf.removed
check "removal keeps the exporter's state" [ -e "$root/var/lib/private/batchjob_exporter" ]
# shellcheck disable=SC2086
check "the packages are purged" inside dpkg --purge $names
cp "$tmp/check.out" "$tmp/purge.out"
check "purge reports the data that it keeps" grep -q "kept the data in /var/lib/batchjob, with its user" "$tmp/purge.out"
remaining() { # files, user and group of the packages that still exist
    (cd "$root" && find etc/batchjob* etc/systemd/system var/lib/batchjob* var/lib/private var/spool/batchjob \
        usr/share/batchjob usr/bin/batchjob* -name '*batchjob*' 2>/dev/null)
    grep -hoE '^batchjob' "$root/etc/passwd" "$root/etc/group"
}
is "purge keeps the store, with its user and group" "$(remaining | in_order)" "batchjob batchjob var/lib/batchjob"
check "the store's data is the same" cmp "$root/etc/hostname" "$root/var/lib/batchjob/stats.db"
check "the packages install again" install packages
is "the service user owns the store" "$(inside stat -c '%U' /var/lib/batchjob/stats.db)" batchjob
rm "$root"/var/lib/batchjob/*
# shellcheck disable=SC2086
check "the packages without data are purged" inside dpkg --purge $names
is "purge without data leaves nothing" "$(remaining)" ""

# --- RPM -----------------------------------------------------------------------

rpms() {
    local old new u
    rm -f "$units"/active/* "$units"/enabled/*
    # An older and the current version, both built from this source.
    check "make rpm of an older version" make rpm O="$tmp/older" VERSION=0.0.1 RPMFLAGS=--nodeps PACKAGER=Ann
    check "make rpm" make rpm O="$tmp/build" RPMFLAGS=--nodeps PACKAGER=Ann
    old=$(find "$tmp/older" -name '*.rpm' ! -name '*debug*') new=$(find "$tmp/build" -name '*.rpm' ! -name '*debug*')
    tool() { rpm --root "$root" "$@"; }
    mkdir -p "$root/var/lib/rpm" && tool --initdb
    forget
    # shellcheck disable=SC2086
    check "the RPMs install" tool --force-debian --nodeps -i $old
    is "no service starts; the distribution decides what is enabled" "$(calls)" "$(printf 'preset %s ' \
        batchjob_exporter batchjob_exporter_cluster batchjob_slurm_access.timer batchjob_snmp batchjob_stats_db \
        batchjob_stats_server | sed 's/ $//')"
    is "the directory of final records has its mode and owner" "$(inside stat -c '%a %U %G' /var/spool/batchjob)" "2770 root batchjob"
    is "the directory of the store has its mode and owner" "$(inside stat -c '%a %U %G' /var/lib/batchjob)" "750 batchjob batchjob"
    is "the server's configuration has its mode and group" "$(inside stat -c '%a %G' /etc/batchjob/stats_server.yml)" "640 batchjob"
    for u in batchjob_exporter batchjob_snmp batchjob_stats_db batchjob_slurm_access.timer; do : >"$units/active/$u"; done
    echo "# of the site" >>"$root/etc/batchjob/stats_db.yml"
    forget
    # shellcheck disable=SC2086
    check "the RPMs upgrade" tool --force-debian --nodeps -U $new
    is "the services that ran are restarted, and no other" "$(calls)" \
        "restart batchjob_exporter restart batchjob_slurm_access.timer restart batchjob_snmp restart batchjob_stats_db"
    check "the upgrade keeps the site's configuration" grep -qx "# of the site" "$root/etc/batchjob/stats_db.yml"
    leave data
    forget
    # shellcheck disable=SC2046
    check "the RPMs are removed" tool --force-debian --nodeps -e $(tool -qa 'batchjob*')
    is "the running services are stopped" "$(calls)" "stop batchjob_exporter stop batchjob_slurm_access.timer stop batchjob_snmp stop batchjob_stats_db"
    check "the store's data is the same" cmp "$root/etc/hostname" "$root/var/lib/batchjob/stats.db"
    is "removal keeps the changed configuration" "$(cd "$root/etc/batchjob" && echo *)" "stats_db.yml.rpmsave"
}
if command -v rpmbuild >/dev/null; then rpms; else skip "RPM packages" "rpmbuild is not installed"; fi
complete=1
