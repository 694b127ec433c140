#!/bin/bash
# Run the commands and write the files of docs/quickstart.md exactly as they are there:
# build the packages, and install them in minimal root directories with a real Slurm and
# a real Prometheus; once with the exporter, and once with collectd.  TAP; needs root,
# mmdebstrap and the network; some minutes.
#
#   quickstart.sh [RELEASE [WALK]]     RELEASE: of Debian, by default that of this machine,
#                                      on which the packages are built
#                                      WALK: exporter or collectd, by default both
. "$(dirname "$0")/lib.sh"
cd "$top" || exit 1

command -v mmdebstrap >/dev/null || skip_all "mmdebstrap is not installed"
[ "$(id -u)" = 0 ] || skip_all "not root"
tests/isolate --try || skip_all "no namespaces"
git rev-parse -q --verify HEAD >/dev/null || skip_all "not a git checkout"

release=${1:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Created-By: Packages" | head -n 1)
walks=${2:-exporter collectd}
root=$tmp/root
site="munge,slurmctld,slurmd,slurm-client,slurm-wlm-basic-plugins,slurmdbd,slurm-wlm-mysql-plugin,slurm-wlm-jwt-plugin"
site="$site,mariadb-server,libmariadb3,dbus,prometheus,curl,apache2-utils,procps,iproute2,python3,init-system-helpers,adduser,collectd,postgresql"
check "a minimal $release with Slurm and Prometheus is installed" mmdebstrap --quiet --variant=minbase --mode=root \
    --skip=cleanup/apt/lists --include="$site" "$release" "$root" "$mirror"

# The page's first step: clone the repository, install its dependencies, build the packages.
commands=$(tests/e2e/quickstart.py print build)
build() {
    (unset O && cd "$tmp" && eval "set -e
        ${commands//URL/$top}")
}
check "the packages are built" build
mkdir -p "$root/root/packages" "$root/proj"
check "the packages are in the clone" ls "$tmp"/batchjob-monitoring/build/packages/deb/batchjob-stats_*.deb
cp "$tmp"/batchjob-monitoring/build/packages/deb/*.deb "$root/root/packages/"
git archive HEAD | tar -x -C "$root/proj"
install -m 755 tests/e2e/systemctl.py "$root/usr/bin/systemctl"
mkdir -p "$root/run/systemd/system"
echo "127.0.0.1 localhost $(uname -n)" >"$root/etc/hosts"
# Download the dependencies now: the walk has no network.
cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null
echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/yes"
check "the packages' dependencies are downloaded" \
    chroot "$root" sh -c 'apt-get -q --download-only install /root/packages/*.deb'

walk='mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev" || exit 1
    exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive \
        SLURM_SANDBOX_DIR=/srv/slurm SLURM_CONF=/srv/slurm/etc/slurm.conf SLURM_SANDBOX_PREFIX=node \
        SLURM_SANDBOX_USERS="anna:physics boris:physics" \
        sh -c "cd /root/packages && exec /proj/tests/e2e/quickstart.py walk $2"'
for kind in $walks; do
    cp -a "$root" "$root.$kind"
    run_tap tests/isolate unshare --mount --pid --fork --kill-child --propagation private \
        sh -c "$walk" sh "$root.$kind" "$kind"
    rm -rf --one-file-system "$root.$kind"
done
complete=1
