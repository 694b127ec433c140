#!/bin/bash
# Each instruction of the Containerfile works, in root directories in place of images; TAP.
# Needs root, mmdebstrap and the network; some minutes.
. "$(dirname "$0")/lib.sh"
cd "$top" || exit 1

command -v mmdebstrap >/dev/null || skip_all "mmdebstrap is not installed"
[ "$(id -u)" = 0 ] || skip_all "not root"
git rev-parse -q --verify HEAD >/dev/null || skip_all "not a git checkout"
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Created-By: Packages" | head -n 1)

root='' stages=0
copy() { # --from=STAGE SOURCE TARGET, or SOURCE TARGET
    local from=$tmp/context
    case $1 in --from=*)
        from=$tmp/${1#--from=}
        shift ;;
    esac
    mkdir -p "$root$(dirname "$2")" && cp -rT "$from/$1" "$root/$2"
}
instruction() { # word text
    local words
    read -ra words <<<"$2"
    case $1 in
    FROM) # debian:RELEASE-slim [AS name]
        root=$tmp/${words[2]:-last} stages=$((stages + 1))
        release=${words[0]#debian:}
        check "FROM $2" mmdebstrap --quiet --variant=minbase --mode=root "${release%-slim}" "$root" "$mirror"
        cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null
        cp /etc/resolv.conf /etc/hosts "$root/etc/" ;;
    RUN) check "RUN ${2:0:60}" chroot "$root" env -i PATH="$PATH" DEBIAN_FRONTEND=noninteractive sh -c "$2" ;;
    COPY) check "COPY $2" copy "${words[@]}" ;;
    ENTRYPOINT | CMD) command="$command $(tr -d '[]",' <<<"$2")" ;;
    EXPOSE) exposed=$2 ;;
    *) fail "this test knows the instruction $1" ;;
    esac
}

mkdir "$tmp/context" && git archive HEAD | tar -x -C "$tmp/context"
command='' exposed=''
while read -r word text; do instruction "$word" "$text" </dev/null; done \
    < <(sed -e '/^#/d; /^$/d' -e ':more; /\\$/ { N; s/ *\\\n */ /; b more }' packaging/Containerfile)

is "the Containerfile has two stages" "$stages" 2
mkdir -p "$root/var/lib/batchjob_exporter"
port=$(free_port)
# shellcheck disable=SC2016,SC2086
unshare --mount --propagation private sh -c 'mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" || exit 1
    shift; exec chroot "$@"' sh "$root" "$root" $command "--web.listen-address=127.0.0.1:$port" >"$tmp/log" 2>&1 &
on_exit stop $!
wait_for 60 curl -sf "http://127.0.0.1:$port/metrics" -o "$tmp/page"
check "the exporter answers in the container" grep -q '^batchjob_exporter_build_info\|^batchjob_build_info' "$tmp/page"
is "the exposed port is that of its configuration" \
    "$(grep -oE '":[0-9]+"' "$root/etc/batchjob/exporter.yml" | tr -d '":')" "$exposed"
complete=1
