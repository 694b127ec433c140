# Run the command of a service as its unit would, without systemd: with its user,
# groups and capabilities, and with a file system that is read-only except for
# its directories; sourced by the tests of packages.
# shellcheck shell=bash

unit_file() { find "$1/usr/lib/systemd/system" "$1/lib/systemd/system" -name "$2.service" 2>/dev/null | head -n 1; }

# All values of a setting in a unit file.
unit_get() { # file name
    sed -n "s/^$2=//p" "$1" | tr '\n' ' '
}

# Group ids of names in a root directory.
unit_groups() { # root name...
    local root=$1 name
    shift
    for name; do awk -F: -v n="$name" '$1 == n { print $3 }' "$root/etc/group"; done | paste -sd, -
}

# The options of setpriv for the capabilities of a unit.
unit_caps() { # file
    local list c
    list=-all
    for c in $(unit_get "$1" AmbientCapabilities); do
        c=${c#CAP_}
        list=$list,+${c,,}
    done
    echo "--inh-caps=$list --ambient-caps=$list --bounding-set=$list --no-new-privs"
}

# The directories that the unit can write; StateDirectory= is created.
unit_writable() { # root file uid:gid
    local d mode
    mode=$(unit_get "$2" StateDirectoryMode)
    for d in $(unit_get "$2" StateDirectory); do
        command install -d -m "${mode:-755}" -o "${3%:*}" -g "${3#*:}" "$1/var/lib/$d"
        echo "/var/lib/$d"
    done
    for d in $(unit_get "$2" ReadWritePaths); do
        [ ! -d "$1${d#-}" ] || echo "${d#-}"
    done
    case $(unit_get "$2" ProtectSystem) in strict*) ;; *) echo /var ;; esac
}

# Run the service's command line with further words, if any.  To run it in the
# background set as_unit_prefix=exec, so that the process id is that of the service.
as_unit() { # root unit uid:gid [word...]
    local root=$1 file groups line
    file=$(unit_file "$1" "$2")
    line=$(sed -n 's/^ExecStart=//p' "$file")
    line=${line//%S//var/lib}
    groups=$(unit_groups "$root" $(unit_get "$file" SupplementaryGroups))
    groups=${3#*:}${groups:+,$groups}
    # shellcheck disable=SC2016,SC2046,SC2086
    set -- "$root" "$(unit_writable "$root" "$file" "$3")" \
        setpriv "--reuid=${3%:*}" "--regid=${3#*:}" "--groups=$groups" $(unit_caps "$file") \
        $line "${@:4}"
    # shellcheck disable=SC2016
    exec_unit='
        root=$1 writable=$2
        shift 2
        mount --bind "$root" "$root" && mount -t proc proc "$root/proc" &&
            mount --rbind /sys "$root/sys" && mount -t tmpfs tmpfs "$root/tmp" || exit 1
        for d in $writable; do mount --bind "$root$d" "$root$d" || exit 1; done
        mount -o remount,bind,ro "$root" || exit 1
        umask 077
        exec chroot "$root" "$@"'
    ${as_unit_prefix:-} unshare --mount --propagation private sh -c "$exec_unit" sh "$@"
}

# What batchjob_acct shows before and after an upgrade.  Prints how much was compared, then
# each difference.
same_figures() { # before after: every value of an earlier column is there, and the same
    $python - "$1" "$2" <<'PY'
import csv, sys
before, after = ({(r["key"] if "key" in r else r["jobid"]): r for r in csv.DictReader(open(f))} for f in sys.argv[1:])
print(len(before), "jobs,", sum(1 for r in before.values() for v in r.values() if v), "values")
for job in sorted(before.keys() | after.keys()):
    a, b = before.get(job, {}), after.get(job, {})
    for name in a or ["(job)"]:
        if a.get(name) != b.get(name):
            print(f"{job} {name}: {a.get(name)!r}, then {b.get(name)!r}")
PY
}
