#!/bin/bash
# Run the commands and write the files of docs/quickstart.md exactly as they are there:
# build the packages, and install them under a real systemd (tests/vm/vm, in name spaces)
# with a real Slurm and a real Prometheus; once with the exporter, once with collectd, and
# once with snmpd.
# TAP; needs root, mmdebstrap and the network; some minutes.
#
#   quickstart.sh [RELEASE [WALK]]     RELEASE: of Debian, by default that of this machine,
#                                      on which the packages are built
#                                      WALK: exporter, collectd or snmp (docs/snmp.md), by default all
. "$(dirname "$0")/lib.sh"
cd "$top" || exit 1

command -v mmdebstrap >/dev/null || skip_all "mmdebstrap is not installed"
[ "$(id -u)" = 0 ] || skip_all "not root"
tests/isolate --try || skip_all "no namespaces"
git rev-parse -q --verify HEAD >/dev/null || skip_all "not a git checkout"

release=${1:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
walks=${2:-exporter collectd snmp}
export BJ_VM_BOX=1 BJ_VM_DIR=$tmp/vm BJ_VM_RELEASE=$release
vm=tests/vm/vm
check "a $release with systemd, Slurm and Prometheus is installed" $vm build
on_exit $vm stop

# The page's first step: clone the repository, install its dependencies, build the packages.
commands=$(tests/e2e/quickstart.py print build)
build() {
    (unset O && cd "$tmp" && eval "set -e
        ${commands//URL/$top}")
}
check "the packages are built" build
mkdir -p "$tmp/packages" "$tmp/proj"
check "the packages are in the clone" ls "$tmp"/batchjob-monitoring/build/packages/deb/batchjob-stats_*.deb
cp "$tmp"/batchjob-monitoring/build/packages/deb/*.deb "$tmp/packages/"
git archive HEAD | tar -x -C "$tmp/proj"
echo 'APT::Get::Assume-Yes "true";' >"$tmp/yes"

# The walk has no network: download the dependencies before it.
download() {
    cp /etc/apt/apt.conf.d/* "$BJ_VM_DIR/root/etc/apt/apt.conf.d/"
    chroot "$BJ_VM_DIR/root" sh -c 'apt-get -q --download-only install /root/packages/*.deb snmpd snmp'
}
walk="cd /root/packages && exec env DEBIAN_FRONTEND=noninteractive SLURM_SANDBOX_DIR=/srv/slurm"
walk="$walk SLURM_CONF=/srv/slurm/etc/slurm.conf SLURM_SANDBOX_PREFIX=node 'SLURM_SANDBOX_USERS=anna:physics boris:physics'"
walk="$walk /root/proj/tests/e2e/quickstart.py walk"
for kind in $walks; do
    check "systemd starts" $vm start
    $vm push "$tmp/packages" "$tmp/proj" /root && $vm push "$tmp/yes" /etc/apt/apt.conf.d
    check "the packages' dependencies are downloaded" download
    run_tap $vm run "$walk $kind"
    $vm stop
done
complete=1
