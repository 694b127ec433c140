#!/bin/busybox sh
# /init of a small guest with real cgroups and nothing else: starts simulated
# jobs with real processes; then floor and core run passes over them.
#
# Kernel command line: bench.ver=1|2  bench.jobs=N  bench.ms=N  bench.cpus=TEXT
bb=/bin/busybox
for d in proc sys dev tmp; do $bb mkdir -p /$d; done
$bb mount -t proc proc /proc
$bb mount -t sysfs sys /sys
$bb mount -t devtmpfs dev /dev
$bb mount -t tmpfs tmp /tmp
$bb --install -s /bin
export PATH=/bin
ulimit -n 400000

arg() { # name, preset
    local word
    for word in $(cat /proc/cmdline); do
        case $word in bench.$1=*) echo "${word#*=}"; return ;; esac
    done
    echo "$2"
}
ver=$(arg ver 2) jobs=$(arg jobs 16) ms=$(arg ms 100) cpus=$(arg cpus 1)
root=/sys/fs/cgroup
v1="cpu cpuacct cpuset memory pids blkio"
v2="+cpu +memory +io +pids +cpuset"
scope=$root/system.slice/slurmstepd.scope

hand_down() { # path below root: create it, with all controllers enabled for its children
    local path=$root part
    for part in $(echo "$1" | tr / ' '); do
        path=$path/$part
        [ -d $path ] || mkdir $path
        echo "$v2" >$path/cgroup.subtree_control
    done
}

make_v1() { # controller, path below it
    local path=$root/$1 part
    for part in $(echo "$2" | tr / ' '); do
        path=$path/$part
        [ -d $path ] && continue
        mkdir $path
        [ $1 = cpuset ] || continue
        cat $root/cpuset/cpuset.cpus >$path/cpuset.cpus
        cat $root/cpuset/cpuset.mems >$path/cpuset.mems
    done
}

place() { # job uid step pid
    local ctl path
    if [ $ver = 2 ]; then
        path=system.slice/slurmstepd.scope/job_$1/step_$3/user
        hand_down $path
        echo 16777216000 >$scope/job_$1/memory.max
        mkdir -p $root/$path/task_0
        echo $4 >$root/$path/task_0/cgroup.procs
        return
    fi
    path=slurm/uid_$2/job_$1/step_$3/task_0
    for ctl in $v1; do
        make_v1 $ctl $path
        echo $4 >$root/$ctl/$path/cgroup.procs
    done
    echo 16777216000 >$root/memory/slurm/uid_$2/job_$1/memory.limit_in_bytes
}

mount_cgroups() {
    local ctl
    if [ $ver = 2 ]; then
        mount -t cgroup2 none $root
        echo "$v2" >$root/cgroup.subtree_control
        return
    fi
    mount -t tmpfs cg $root
    for ctl in $v1; do
        mkdir $root/$ctl
        mount -t cgroup -o $ctl none $root/$ctl
    done
}

say() { # who, command...
    local who=$1
    shift
    echo "BENCH v=$ver cpus=$cpus who=$who $("$@" 2>&1 | tail -n 1)"
}

mount_cgroups
mkfifo /tmp/hold
sleepers $jobs 1 4 16 50 </tmp/hold >/tmp/table &
exec 9>/tmp/hold
until grep -q '^ready' /tmp/table; do sleep 0.1; done
while read -r job uid step pid threads; do
    [ -n "$threads" ] && place $job $uid $step $pid
done </tmp/table
echo "BENCH v=$ver cpus=$cpus kernel=$(uname -r)" \
    "possible=$(cat /sys/devices/system/cpu/possible)"
say floor-keep pass_floor $ver $root $ms keep
say floor-keep-page pass_floor $ver $root $ms keep page
while read -r who pause options; do
    say $who pass_bench $root $ms $pause $options
done </modes
echo "BENCH done"
poweroff -f
