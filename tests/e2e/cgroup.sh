# Jobs in real cgroups with Slurm's layout, below a unique node name; sourced by
# the end-to-end tests and the demo, which define note and on_exit.
#
# With cg_private=1 the jobs are below a private directory instead of the root
# of the hierarchies; cg_view, to be used in place of /sys/fs/cgroup, shows only
# these jobs.
# shellcheck shell=bash disable=SC2034
cg=/sys/fs/cgroup
cg_node=${cg_node:-bje2e$$}
cg_slice=$cg_node.slice
cg_controllers=
cg_added=
cg_top= # private directory below the root of a v1 hierarchy
cg_view=$cg

# Find the usable hierarchies (root only): sets cg_version to v1, v2 or none.
cg_init() {
    cg_version=none
    [ "$(id -u)" = 0 ] || return 0
    if [ -e $cg/cgroup.controllers ]; then
        cg_init_v2
    else
        cg_init_v1
    fi
    [ $cg_version = none ] || on_exit cg_end
}

cg_init_v1() {
    local c d f
    if [ -n "${cg_private:-}" ]; then
        cg_top=/$cg_node
        cg_view=$tmp/cgroupfs
        mkdir "$cg_view"
    fi
    for c in cpuacct memory cpuset pids cpu blkio freezer devices; do
        d=$cg/$c$cg_top/slurm_$cg_node
        mkdir -p "$d" 2>/dev/null || continue
        [ -z "$cg_top" ] || ln -s "$cg/$c$cg_top" "$cg_view/$c"
        cg_controllers="$cg_controllers $c"
        cg_version=v1
        [ $c = cpuset ] || continue
        # A new cpuset is empty; clone_children copies the values of the parent.
        for f in cpus mems; do
            [ -z "$cg_top" ] || cat $cg/$c/cpuset.$f >"${d%/*}/cpuset.$f"
            cat $cg/$c/cpuset.$f >"$d/cpuset.$f"
        done
        echo 1 >"$d/cgroup.clone_children"
    done
}

cg_init_v2() {
    local c
    mkdir "$cg/$cg_slice" 2>/dev/null || return 0
    cg_version=v2
    [ -z "${cg_private:-}" ] || cg_view=$cg/$cg_slice
    for c in cpu memory pids cpuset io; do
        # cg_end disables what is enabled here for the whole machine.
        grep -qw $c $cg/cgroup.subtree_control ||
            { echo +$c >$cg/cgroup.subtree_control && cg_added="$cg_added $c"; }
        echo +$c >"$cg/$cg_slice/cgroup.subtree_control"
    done 2>/dev/null
}

cg_end() {
    local d
    for d in $cg/*/"$cg_node" $cg/*/"slurm_$cg_node" "$cg/$cg_slice"; do
        [ ! -d "$d" ] || cg_remove "$d"
    done
    for d in $cg_added; do
        echo "-$d" >$cg/cgroup.subtree_control
    done 2>/dev/null
    cg_added=
}

# Set the array dirs: the job's directories.
cg_dirs() { # uid job
    local c
    dirs=()
    if [ $cg_version = v2 ]; then
        dirs=("$cg/$cg_slice/${cg_node}_slurmstepd.scope/job_$2")
    else
        for c in $cg_controllers; do
            dirs+=("$cg/$c$cg_top/slurm_$cg_node/uid_$1/job_$2")
        done
    fi
}

cg_paths() { # uid job: print its directories
    local dirs
    cg_dirs "$1" "$2"
    printf '%s\n' "${dirs[@]}"
}

# The directory of processes below a job: on v2 only leaves may have some.
cg_leaf() { [ $cg_version != v2 ] || echo /step_0/user/task_0; }

cg_job() { # uid job...: make their directories
    local uid=$1 job p dirs all=() leaf
    shift
    leaf=$(cg_leaf)
    for job in "$@"; do
        cg_dirs "$uid" "$job"
        all+=("${dirs[@]}")
    done
    mkdir -p "${all[@]/%/$leaf}" || return
    [ $cg_version = v2 ] || return 0
    for p in "${all[@]}"; do cg_delegate "$p"; done
}

cg_delegate() { # v2 directory of a job: enable its controllers in the levels below
    local d c
    for d in "${1%/*}" "$1" "$1/step_0" "$1/step_0/user"; do
        for c in $(cat "$d/cgroup.controllers" 2>/dev/null); do
            echo "+$c" >"$d/cgroup.subtree_control" 2>/dev/null
        done
    done
}

cg_enter() { # uid job pid
    local p dirs leaf=
    [ $cg_version != v2 ] || leaf=/step_0/user/task_0
    cg_dirs "$1" "$2"
    for p in "${dirs[@]}"; do
        echo "$3" >"$p$leaf/cgroup.procs" || return
    done
}

# Start a command inside a job, as its user: sets cg_pid.  No instruction of it runs
# outside the job.  Set its environment before cg_run (NAME=value cg_run ...), and a
# prefix such as nice in cg_prefix: setpriv can start a program in a directory that only
# root may enter, such as /root; env as that user cannot.
cg_run() { # uid job command...
    local uid=$1 job=$2
    shift 2
    (
        kill -STOP "$BASHPID"
        cd / && exec ${cg_prefix:-} setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
    ) </dev/null >>"$tmp/jobs.out" 2>&1 &
    cg_pid=$!
    disown $cg_pid # no message when it is killed
    until grep -q '^State:.T' "/proc/$cg_pid/status"; do sleep 0.01; done
    cg_enter "$uid" "$job" $cg_pid || return
    kill -CONT $cg_pid
}

cg_cpu_seconds() { # uid job: CPU time by the kernel
    local d
    for d in $(cg_paths "$1" "$2"); do
        awk '$1 == "usage_usec" { printf "%.6f\n", $2 / 1e6 }' "$d/cpu.stat" 2>/dev/null
        awk '{ printf "%.6f\n", $1 / 1e9 }' "$d/cpuacct.usage" 2>/dev/null
    done | head -n 1
}

cg_kill() { # uid job: its processes, then its directories
    local p dirs
    cg_dirs "$1" "$2"
    for p in "${dirs[@]}"; do cg_remove "$p"; done
}

cg_remove() { # directory
    local n
    for n in $(seq 200); do
        [ -d "$1" ] || return 0
        find "$1" -depth -name cgroup.procs -exec cat {} + 2>/dev/null |
            sort -u | xargs -r kill -KILL 2>/dev/null
        find "$1" -depth -type d -exec rmdir {} + 2>/dev/null
        [ -d "$1" ] || return 0
        sleep 0.05
    done
    note "cannot remove $1"
    return 1
}
