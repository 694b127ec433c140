#!/bin/bash
# A node for the tests of the API: real jobs in real cgroups, and an exporter
# with simulated GPUs (an NVML library that reads a script), a power meter (a
# program) and a cluster (Slurm's commands print recordings).  Needs root.
#
#   api_node.sh CLUSTER "JOB UID USER ACCOUNT"...
#
# Prints "url URL" when the exporter runs, and ends at the end of its input;
# prints "none REASON" and ends where this is impossible.
. "$(dirname "$0")/lib.sh"
complete=1
cg_private=1 # no jobs of other tests here, and none of this test there
cg_init
[ $cg_version != none ] || { echo "none not root, or no cgroups to write to"; exit 0; }
[ -x "$work" ] || { echo "none no $work"; exit 0; }

cluster=$1
shift
mkdir "$tmp/jobs" "$tmp/bin" "$tmp/records"
pids=()
for line; do
    read -r job uid user account <<<"$line"
    printf '%s\n' "jobid=$job" "uid=$uid" "user=$user" "account=$account" \
        "cluster=$cluster" "start=$(date +%s)" >"$tmp/jobs/$job"
    cg_job "$uid" "$job" || { echo "none no cgroup can be made"; exit 0; }
    for d in $(cg_paths "$uid" "$job"); do
        for f in memory.max memory.limit_in_bytes; do
            [ ! -e "$d/$f" ] || echo 4G >"$d/$f"
        done
    done
    cg_run "$uid" "$job" "$work" -t 1e6 -m 50 -i 96 -n 2
    pids+=("$cg_pid")
done

{
    echo "driver 550.54.15"
    for g in 0 1; do
        cat <<-END
			gpu $g uuid GPU-6f0f0e3c-1111-2222-3333-44445555666$g
			gpu $g name NVIDIA_H100
			gpu $g pci 0000000$g:07:00.0
			gpu $g minor $g
			gpu $g memory_total 85899345920
			gpu $g memory_used 1073741824
			gpu $g busy $((g * 80))
			gpu $g memory_busy 5
			gpu $g power 253172
			gpu $g temperature 61
			gpu $g ecc_00 0
			gpu $g ecc_10 0
			gpu $g events 8
			gpu $g rows_corrected 0
			gpu $g rows_uncorrected 0
			gpu $g rows_pending 0
			gpu $g rows_failed 0
			proc $g compute ${pids[0]} 1073741824 -1 -1
		END
    done
} >"$tmp/gpu.script"
export FAKE_NVML=$tmp/gpu.script
printf '#!/bin/sh\necho 700\n' >"$tmp/bin/watts"
play() { # command word file: print file (if the arguments contain word)
    echo "${2:+case \"\$*\" in *$2*) }/bin/cat '$top/tests/fixtures/cluster/$3'${2:+ ;; esac}" >>"$tmp/bin/$1"
}
for c in squeue sinfo sdiag scontrol sshare sacctmgr; do echo '#!/bin/sh' >"$tmp/bin/$c"; done
play squeue '' squeue.txt
play sinfo '' sinfo.txt
play sdiag '' sdiag.txt
play sshare '' shares.txt
play sacctmgr '' limits.txt
play scontrol config config.txt
play scontrol res reservations.txt
play scontrol lic licenses.txt
chmod 755 "$tmp"/bin/*
echo "gpu_years 40 year" >"$tmp/constants"

options=(--path.cgroupfs="$cg_view" --job.file-dir="$tmp/jobs" --collector.process
    --collector.percore --record.dir="$tmp/records" --energy.command="$tmp/bin/watts"
    --energy.meter=command --energy.interval=1 --energy.slow-interval=1
    --energy.idle-watts=50 --collector.emissions --emissions.country=FRA
    --emissions.factor=50 --collector.cluster --cluster.path="$tmp/bin"
    --cluster.interval=2 --cluster.source=diag --cluster.source=licenses
    --cluster.source=reservations --cluster.source=shares --cluster.source=limits
    --cluster.slow-interval=2 --cluster.constants="$tmp/constants" --cluster="$cluster")
[ ! -e "$O/gpu/libnvidia-ml.so.1" ] ||
    options+=(--gpu.nvml="$O/gpu/libnvidia-ml.so.1" --gpu.interval=1)
start_exporter "${options[@]}"
echo "url $url"
cat >/dev/null
