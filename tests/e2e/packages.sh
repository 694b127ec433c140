#!/bin/bash
# The packages, built from the committed source and unpacked: they contain the programs
# and files that their services name.  TAP; some minutes.
. "$(dirname "$0")/lib.sh"
cd "$top" || exit 1

unpack_deb() { dpkg-deb -x "$1" "$root"; }
unpack_rpm() { rpm2cpio "$1" | (cd "$root" && cpio -idm --quiet); }

# Broken links between the installed guides.
broken_links() { # root
    local f link
    find "$1/usr/share/doc/batchjob" -name '*.md' | while read -r f; do
        grep -oE '\]\([^)#:]+' "$f" | while read -r link; do
            [ -e "${f%/*}/${link#](}" ] || echo "${f##*/}: ${link#](}"
        done
    done
}

# Files in /usr and /etc that the command lines of a service name.
named_files() {
    sed -n 's/^Exec[A-Za-z]*=//p' "$1" | grep -o '/\(usr\|etc\)/[^ ]*' | sort -u
}

maker="Ann O'Nym & Co <ann@site.example>"
made_by_deb() { dpkg-deb -f "$1" Maintainer; }
made_by_rpm() { rpm -qp --qf '%{PACKAGER}' "$1"; }

test_packages() { # deb|rpm tool
    local f unit want have dir
    root=$tmp/$1
    mkdir -p "$root"
    command -v "$2" >/dev/null || { skip "packages of $1" "not installed: $2"; return; }
    check "make $1" make "$1" O="$tmp/build" RPMFLAGS=--nodeps PACKAGER="$maker"
    for f in $(find "$tmp/build/packages/$1" -name "*.$1" ! -name '*dbgsym*'); do
        check "${f##*/} unpacks" "unpack_$1" "$f"
        is "${f##*/} names its packager" "$("made_by_$1" "$f")" "$maker"
    done
    for f in batchjob_exporter batchjob_snmp batchjob_stats_db batchjob_stats_server batchjob_acct; do
        is "$1: $f --version prints version and commit" "$("$root/usr/bin/$f" --version)" \
            "$f $(sed -n 's/^VERSION *:= //p' Makefile) ($(git rev-parse --short=12 HEAD))"
    done
    check "$1: the quickstart is installed" [ -e "$root/usr/share/doc/batchjob/docs/quickstart.md" ]
    is "$1: every link in the guides leads to a file" "$(broken_links "$root")" ""
    dir=$(dirname "$(find "$root" -name batchjob_exporter.service)")
    for unit in "${dir:-no}"/*.service; do
        want=$(named_files "$unit")
        have=$(for f in $want; do [ ! -e "$root$f" ] || echo "$f"; done)
        is "$1: the files that ${unit##*/} names are installed" "$have" "$want"
    done
    # With RuntimeDirectory=, systemd would change its owner, and remove it later.
    is "$1: no service has the prolog's /run/batchjob as RuntimeDirectory" \
        "$(grep -lE '^RuntimeDirectory=(.* )?batchjob( |/|$)' "${dir:-no}"/*.service)" ""
}

packager() { env -u DEBFULLNAME -u DEBEMAIL HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 \
    GIT_DIR=/nonexistent "$@" packaging/packager; }

is "the packager's name comes from DEBFULLNAME and DEBEMAIL" \
    "$(packager DEBFULLNAME=Ann DEBEMAIL=ann@site.example)" "Ann <ann@site.example>"
is "the packager's name comes from git" "$(packager GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=Bob \
    GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=bob@site.example)" "Bob <bob@site.example>"
is "the packager's name is the local user" "$(packager)" "$(id -un) <$(id -un)@$(uname -n)>"

git rev-parse -q --verify HEAD >/dev/null || skip_all "not a git checkout"
test_packages deb dh
# --check evaluates every task without changing anything.
if command -v ansible-playbook >/dev/null; then
    for f in compute snmp head login; do
        printf '[%s]\n%s ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n' $f host-$f
    done >"$tmp/hosts"
    cat >"$tmp/vars.yml" <<-END
		ansible_become: false
		batchjob_packages: $tmp/build/packages/deb
		batchjob_exporter: {web: {listen-address: [":9010"]}}
		batchjob_snmp: {snmp: {notify: [job-oom, gpu]}}
		batchjob_clusters: {cluster: {name: alpha, sacct: {history: 30d}}}
		batchjob_stats_server: {access: {admins: [root]}}
		batchjob_web: {basic_auth_users: {grafana: hash}}
		batchjob_acct: {server: "https://head:9020"}
		batchjob_slurm_access: true
	END
    check "the Ansible role runs in check mode" env LC_ALL=C.UTF-8 ANSIBLE_LOCAL_TEMP="$tmp/ansible" \
        ansible-playbook --check -i "$tmp/hosts" -e "@$tmp/vars.yml" packaging/ansible/site.yml
    is "the Ansible role runs on all hosts" "$(grep -cE 'failed=0 ' "$tmp/check.out")" 4
else
    skip "the Ansible role runs in check mode" "not installed: ansible-playbook"
fi
test_packages rpm rpmbuild
# The RPM of the plugin, with collectd's headers in another directory.
if [ -e /usr/include/collectd/core ] && command -v rpmbuild >/dev/null; then
    cp -r /usr/include/collectd "$tmp/collectd"
    check "make rpm --with collectd" make rpm O="$tmp/build" PACKAGER="$maker" \
        RPMFLAGS="--nodeps --with collectd --define 'collectd_include $tmp/collectd'"
    f=$(find "$tmp/build/packages/rpm" -name 'collectd-plugin-batchjob-[0-9]*.rpm')
    is "the plugin's RPM has the plugin, its types and its configuration" \
        "$(rpm -qpl "$f" | grep -oE '(batchjob\.so|types\.db|collectd\.d/batchjob\.conf)$' | sort | tr '\n' ' ')" \
        "batchjob.so collectd.d/batchjob.conf types.db "
    check "nothing of collectd is in the exporter's RPM" \
        sh -c "! rpm -qpl $tmp/build/packages/rpm/RPMS/*/batchjob-exporter-[0-9]*.rpm | grep -E 'collectd|types.db'"
else
    skip "make rpm --with collectd" "no collectd headers or no rpmbuild"
fi
complete=1
