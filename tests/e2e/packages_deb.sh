#!/bin/bash
# Install, upgrade, remove and purge the Debian packages in a bare root whose
# systemctl is a stub that records its calls.  TAP; needs root and
# mmdebstrap; some minutes.
. "$(dirname "$0")/lib.sh"
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
is "only the exporter was started: accounting needs a configuration first" "$(running)" batchjob_exporter
check "the accounting user exists" inside getent passwd batchjob
is "its configuration is readable by that user only" \
    "$(inside stat -c '%a %G' /etc/batchjob/stats_server.yml)" "640 batchjob"

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
