#!/bin/sh
# Write access.file of batchjob_stats_server from Slurm's accounting: administrators
# and operators become admins; coordinators see the jobs of their accounts and of
# the accounts below, which Slurm lists as well.
#
#   slurm-access.sh FILE [COMMAND...]
#
# COMMAND runs when FILE has changed.  Run the script from a timer or cron; it sends
# two short queries to slurmdbd:
#
#   slurm-access.sh /etc/batchjob/access systemctl reload batchjob_stats_server
#
# When Slurm does not answer, FILE is not changed.
set -eu
file=${1:?which file?}
shift
export LC_ALL=C

users=$(sacctmgr -nP list user format=User,AdminLevel)
accounts=$(sacctmgr -nP list account withcoord format=Account,Coordinators)

trap 'rm -f "$file.new"' EXIT
awk -F'|' '
    function plain(name) { return name ~ /^[A-Za-z0-9_][A-Za-z0-9_.@+-]*$/ }
    FNR == 1 { part++ }
    part == 1 && ($2 == "Administrator" || $2 == "Operator") && plain($1) {
        print "admin", $1
        admins++
    }
    part == 2 && plain($1) {
        n = split($2, names, ",")
        line = ""
        for (i = 1; i <= n; i++)
            if (plain(names[i])) line = line " " names[i]
        if (line) print "coordinator", $1 line
    }
    END { exit !admins }' /dev/fd/3 /dev/fd/4 3<<USERS 4<<ACCOUNTS >"$file.new" ||
$users
USERS
$accounts
ACCOUNTS
    {
        echo "${0##*/}: Slurm names no administrator, so $file stays as it is" >&2
        exit 1
    }

cmp -s "$file.new" "$file" && exit 0
mv "$file.new" "$file"
[ $# = 0 ] || "$@"
