#!/bin/bash
# Install, upgrade, remove and purge the Debian packages in a bare root whose
# systemctl is a stub that records its calls.  TAP; needs root and
# mmdebstrap; some minutes.
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
check "a bare $release" mmdebstrap --quiet --variant=minbase --mode=root \
    --skip=cleanup/apt/lists --include=adduser,init-system-helpers "$release" "$root" "$mirror"

# The stub: what is enabled or runs is a file in /units.
mkdir -p "$root/units/enabled" "$root/units/active" "$root/run/systemd/system"
cat >"$root/usr/bin/systemctl" <<'STUB'
#!/bin/sh
verb= units=
for word; do
    case $word in
    -*) ;;
    *) [ -n "$verb" ] && units="$units ${word%.service}" || verb=$word ;;
    esac
done
for u in $units; do
    case $verb in
    is-enabled) [ -e "/units/enabled/$u" ] && echo enabled && exit 0; echo disabled; exit 1 ;;
    is-active) [ -e "/units/active/$u" ]; exit ;;
    start | restart) echo "$verb $u" >>/units/log; : >"/units/active/$u" ;;
    stop) echo "$verb $u" >>/units/log; rm -f "/units/active/$u" ;;
    enable) : >"/units/enabled/$u" ;;
    preset)
        : >"/units/enabled/$u"
        mkdir -p /etc/systemd/system/multi-user.target.wants
        ln -sf "/lib/systemd/system/$u.service" /etc/systemd/system/multi-user.target.wants/
        ;;
    esac
done
exit 0
STUB
chmod 755 "$root/usr/bin/systemctl"
# deb-systemd-helper enables by links, which the stub does not see.
enabled() { [ -L "$root/etc/systemd/system/multi-user.target.wants/$1.service" ]; }
running() { (cd "$root/units/active" && echo *) | sed 's/^\*$//'; }
inside() { DEBIAN_FRONTEND=noninteractive chroot "$root" "$@" </dev/null; }
sync_enabled() { # the stub's state from the links
    local u
    for u in batchjob_exporter batchjob_stats_db batchjob_stats_server; do
        if enabled $u; then : >"$root/units/enabled/$u"; else rm -f "$root/units/enabled/$u"; fi
    done
}

# The mirror is reached as this machine reaches it.
cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null
check "make deb" make deb O="$tmp/build" PACKAGER="Ann <ann@site.example>"
mkdir -p "$root/packages"
cp "$tmp"/build/packages/deb/*.deb "$root/packages/" && rm -f "$root"/packages/*dbgsym*
packages="/packages/batchjob-*.deb"
install() { inside sh -c "apt-get -q -y --no-install-recommends --reinstall install $packages" && sync_enabled; }

# The exporter is enabled before it is started, by the same script.
: >"$root/units/enabled/batchjob_exporter"
check "the packages install" install
check "the exporter is enabled" enabled batchjob_exporter
is "only the exporter starts: accounting needs a configuration first" "$(running)" batchjob_exporter
check "the accounting user exists" inside getent passwd batchjob
is "its configuration is readable by that user only" \
    "$(inside stat -c '%a %G' /etc/batchjob/stats_server.yml)" "640 batchjob"

is "the directory of final records" "$(inside stat -c '%a %U %G' /var/spool/batchjob)" \
    "2770 root batchjob"

# --- a final record under the restrictions of the units ----------------------

records_arrive() {
    local spool=$root/var/spool/batchjob gid uid n
    cg_init
    [ $cg_version != none ] || { skip "final records" "no control groups"; return; }
    gid=$(inside getent group batchjob | cut -d: -f3) uid=$(inside id -u batchjob)
    port=$(free_port)
    sed -i "s/:9010/127.0.0.1:$port/" "$root/etc/batchjob_exporter.yml"
    # As the comment in the file says.
    sed -i 's/^# record:/record:/; s,^#   dir: /var/spool,  dir: /var/spool,' "$root/etc/batchjob_exporter.yml"
    as_unit "$root" batchjob_exporter 61234:61234 >"$tmp/exporter.log" 2>&1 &
    later stop $!
    wait_for 60 grep -q "listening on" "$tmp/exporter.log"
    check "the exporter starts with records under its unit" grep -q "listening on" "$tmp/exporter.log"
    page_has . || return
    cg_job 65534 4711
    cg_run 65534 4711 sleep 60
    wait_for 60 page_has 'batchjob_job_processes{jobid="4711"'
    cg_kill 65534 4711
    wait_for 60 sh -c "ls $spool/*.4711.*.json"
    n=$(find "$spool" -name '*.4711.*.json' | head -n 1)
    is "a record arrives, for the group" "$(stat -c '%a %u %g' "${n:-$spool}")" "640 61234 $gid"
    : >"$root/etc/batchjob/lsb.acct"
    { echo "name: alpha"; echo "lsf: {acct: /etc/batchjob/lsb.acct}"
        sed -n '/^records:/,/^    -/p' examples/batchjob_cluster.yml; } >"$root/etc/batchjob/batchjob_cluster.yml"
    check "batchjob_stats_db finds its files under its unit" \
        as_unit "$root" batchjob_stats_db "$uid:$gid" check-config
    check "batchjob_stats_db imports under its unit" as_unit "$root" batchjob_stats_db "$uid:$gid" --once
    is "the record is in the store" "$($python - "$root/var/lib/batchjob/stats.db" <<'PY'
import sqlite3, sys
print(*[r[0] for r in sqlite3.connect(sys.argv[1]).execute("SELECT jobid FROM node_record")])
PY
)" 4711
    is "the imported record is removed from the directory" "$(find "$spool" -type f)" ""
    rm "$root/etc/batchjob/lsb.acct"
}
page_has() { curl -s "http://127.0.0.1:$port/metrics" | grep -q "$1"; }
records_arrive

: >"$root/units/enabled/batchjob_stats_db" >"$root/units/active/batchjob_stats_db"
inside env DPKG_MAINTSCRIPT_PACKAGE=batchjob-stats deb-systemd-helper enable batchjob_stats_db.service
: >"$root/units/log"
check "an upgrade" install
is "the services that ran run again, and no other" "$(running | tr '\n' ' ')" \
    "batchjob_exporter batchjob_stats_db "

inside sh -c 'mkdir -p /var/lib/batchjob && echo data >/var/lib/batchjob/stats.db'
check "removal" inside dpkg --remove batchjob-exporter batchjob-stats batchjob-acct
is "no service runs" "$(running)" ""
check "the configuration stays" [ -e "$root/etc/batchjob/batchjob_stats.yml" ]
check "purge" inside dpkg --purge batchjob-exporter batchjob-stats batchjob-acct
check "the configuration is gone" [ ! -e "$root/etc/batchjob" ]
check "the store stays: its data is the site's" [ -e "$root/var/lib/batchjob/stats.db" ]
complete=1
