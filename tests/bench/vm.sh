#!/bin/bash
# Count the instructions of a pass on kernels with real cgroups, with 1 and
# with 128 possible CPUs, for floor and core.
#
#   tests/bench/vm.sh BUILD
#
# QEMU without KVM advances the guest's clock by one nanosecond an instruction
# (-icount shift=0), so the nanoseconds that the guest prints are instructions,
# the same in each run.  The kernel's loops over CPUs run over the possible
# ones; one is online.
#
# Environment: BENCH_KERNEL (vmlinuz; else Debian's package is downloaded and
# unpacked, not installed), BENCH_BUSYBOX, BENCH_VERSIONS [2 1],
# BENCH_CPUS [1 128], BENCH_JOBS [16], BENCH_MS [100], BENCH_MODES [modes] (a line each:
# name, pause in ms, options).
set -eu
O=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$O/bench/vm
kernel=${BENCH_KERNEL:-}
busybox=${BENCH_BUSYBOX:-$(command -v busybox || :)}

die() { echo "bench-vm: $*" >&2; exit 1; }

get_kernel() {
    local package dir=$O/bench/kernel
    kernel=$(find "$dir" -name 'vmlinuz-*' 2>/dev/null | head -n 1)
    [ -n "$kernel" ] && return
    command -v apt-get >/dev/null || die "set BENCH_KERNEL to a vmlinuz"
    package=$(apt-cache depends linux-image-amd64 |
        sed -n 's/.*Depends: //p' | head -n 1)
    [ -n "$package" ] || die "apt knows no linux-image-amd64; set BENCH_KERNEL"
    mkdir -p "$dir"
    (cd "$dir" && apt-get -q download "$package" >/dev/null) ||
        die "cannot download $package; set BENCH_KERNEL"
    dpkg-deb --fsys-tarfile "$dir"/*.deb |
        tar -x -C "$dir" --wildcards './boot/vmlinuz-*'
    rm -f "$dir"/*.deb
    kernel=$(find "$dir" -name 'vmlinuz-*' | head -n 1)
}

for command in qemu-system-x86_64 cpio; do
    command -v $command >/dev/null ||
        die "needs $command (Debian: qemu-system-x86 cpio busybox-static)"
done
[ -n "$busybox" ] || die "needs a static busybox; set BENCH_BUSYBOX"
[ -n "$kernel" ] || get_kernel

rm -rf "$work"
mkdir -p "$work/bin" "$work/sys/fs/cgroup"
root=$(cd "$work" && pwd)
cp "$busybox" "$work/bin/busybox"
for program in sleepers pass_floor pass_bench; do
    cp "$O/bench/$program" "$work/bin/"
    # Its libraries and their loader, at the paths in the program.
    ldd "$O/bench/$program" | grep -o '/[^ ]*' |
        (cd / && xargs cp -L --parents -t "$root")
done
cp "$here/vm_init.sh" "$work/init"
cp "${BENCH_MODES:-$here/modes}" "$work/modes"
chmod +x "$work/init"
(cd "$work" && find . | cpio -o -H newc --quiet) | gzip -1 >"$O/bench/vm.cpio.gz"

: >"$O/bench/vm.txt"
for version in ${BENCH_VERSIONS:-2 1}; do
    for cpus in ${BENCH_CPUS:-1 128}; do
        # No fast string instructions: each would count as one.
        qemu-system-x86_64 -accel tcg -icount shift=0 \
            -cpu max,-erms,-fsrm -smp "1,maxcpus=$cpus" -m 2048 -nodefaults \
            -no-reboot -nographic -serial stdio -kernel "$kernel" \
            -initrd "$O/bench/vm.cpio.gz" -append "console=ttyS0 quiet \
            panic=-1 psi=1 init_on_alloc=0 bench.ver=$version \
            bench.cpus=$cpus bench.jobs=${BENCH_JOBS:-16} \
            bench.ms=${BENCH_MS:-100}" </dev/null 2>&1 |
            tr -d '\r' | grep -a --line-buffered '^BENCH' |
            tee -a "$O/bench/vm.txt"
    done
done
[ "$(grep -c 'BENCH done' "$O/bench/vm.txt")" -gt 0 ] ||
    die "the guest did not come to its end"
