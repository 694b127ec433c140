# Jobs in real cgroups, as Slurm would make them, below a node name that is ours
# alone; sourced by the end-to-end tests and the demo, which define note and
# later.
# shellcheck shell=bash disable=SC2034
cg=/sys/fs/cgroup
cg_node=${cg_node:-bje2e$$}
cg_controllers=
cg_added=
cg_slice=$cg_node.slice

# Which hierarchies can be used (root only): sets cg_version to v1, v2 or none.
cg_init() {
    local c
    cg_version=none
    [ "$(id -u)" = 0 ] || return 0
    if [ -e $cg/cgroup.controllers ]; then
        mkdir $cg/$cg_slice 2>/dev/null || return 0
        cg_version=v2
        for c in cpu memory pids cpuset io; do
            # What we switch on for the whole machine is switched off again.
            grep -qw $c $cg/cgroup.subtree_control ||
                { echo +$c >$cg/cgroup.subtree_control && cg_added="$cg_added $c"; }
            echo +$c >$cg/$cg_slice/cgroup.subtree_control
        done 2>/dev/null
    else
        for c in cpuacct memory cpuset pids cpu blkio freezer devices; do
            mkdir "$cg/$c/slurm_$cg_node" 2>/dev/null || continue
            cg_controllers="$cg_controllers $c"
            [ $c != cpuset ] ||
                echo 1 >$cg/$c/slurm_$cg_node/cgroup.clone_children
            cg_version=v1
        done
        # clone_children copies what the parent has: that must be set first.
        [ ! -d $cg/cpuset/slurm_$cg_node ] || for c in cpus mems; do
            cat $cg/cpuset/cpuset.$c >$cg/cpuset/slurm_$cg_node/cpuset.$c
        done
    fi
    [ $cg_version = none ] || later cg_end
}

cg_paths() { # uid job: the job's directories
    local c
    if [ $cg_version = v2 ]; then
        echo "$cg/$cg_slice/${cg_node}_slurmstepd.scope/job_$2"
    else
        for c in $cg_controllers; do echo "$cg/$c/slurm_$cg_node/uid_$1/job_$2"; done
    fi
}

# Where processes go: on v2 only leaves may have some.
cg_leaf() { [ $cg_version = v2 ] && echo /step_0/user/task_0; }

cg_job() { # uid job...: make them
    local uid=$1 job p
    shift
    for job in "$@"; do
        for p in $(cg_paths "$uid" "$job"); do
            mkdir -p "$p$(cg_leaf)" || return
            [ $cg_version != v2 ] || cg_delegate "$p"
        done
    done
}

cg_delegate() { # v2 directory: switch on below what is on here
    local d c
    for d in "${1%/*}" "$1" "$1/step_0" "$1/step_0/user"; do
        for c in $(cat "$d/cgroup.controllers" 2>/dev/null); do
            echo "+$c" >"$d/cgroup.subtree_control" 2>/dev/null
        done
    done
}

cg_enter() { # uid job pid
    local p
    for p in $(cg_paths "$1" "$2"); do
        echo "$3" >"$p$(cg_leaf)/cgroup.procs" || return
    done
}

# Start a command inside a job, as its user: sets cg_pid.  It is in the job when
# this returns, and has not run anything outside.
cg_run() { # uid job command...
    local uid=$1 job=$2
    shift 2
    (
        kill -STOP "$BASHPID"
        cd / && exec setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
    ) </dev/null >>"$tmp/jobs.out" 2>&1 &
    cg_pid=$!
    disown $cg_pid # it is killed in the end, which is no news
    until grep -q '^State:.T' "/proc/$cg_pid/status"; do sleep 0.01; done
    cg_enter "$uid" "$job" $cg_pid || return
    kill -CONT $cg_pid
}

cg_kill() { # uid job: its processes, then its directories
    local p
    for p in $(cg_paths "$1" "$2"); do
        cg_remove "$p"
    done
}

cg_remove() { # directory
    local n d
    for n in $(seq 200); do
        [ -d "$1" ] || return 0
        find "$1" -depth -name cgroup.procs -exec cat {} + 2>/dev/null |
            sort -u | xargs -r kill -KILL 2>/dev/null
        find "$1" -depth -type d 2>/dev/null |
            while read -r d; do rmdir "$d" 2>/dev/null; done
        [ -d "$1" ] || return 0
        sleep 0.05
    done
    note "cannot remove $1"
    return 1
}

cg_end() {
    local d
    for d in $cg/*/"slurm_$cg_node" "$cg/$cg_slice"; do
        [ ! -d "$d" ] || cg_remove "$d"
    done
    for d in $cg_added; do
        echo "-$d" >$cg/cgroup.subtree_control
    done 2>/dev/null
    cg_added=
}
