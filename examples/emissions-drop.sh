#!/bin/sh
# Add an emission factor to the file of the option emissions.file, from a machine
# that has access to the provider; docs/emissions.md describes the file.  Rows
# that ended more than eight days ago are removed.
#
#   emissions-drop.sh FILE ZONE KIND GRAMS [MINUTES [true]]
#
# The factor is valid from now for MINUTES (60); "true" marks it as an estimate.
# KIND is average_lifecycle, average_direct or marginal.  For example, in the
# crontab of a gateway:
#
#   0 * * * * emissions-drop.sh /gpfs/site/factors.csv FR average_direct $(get-factor)
set -eu
umask 022
export LC_ALL=C

[ $# -ge 4 ] || { sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2; }
file=$1 zone=$2 kind=$3 grams=$4 minutes=${5:-60} estimated=${6:-false}

stamp() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ; }
now=$(date +%s)
head=zone,kind,start,end,g_per_kwh,estimated

# Readers see the old file or the new one.
new=$(mktemp "$(dirname "$file")/.drop.XXXXXX")
trap 'rm -f "$new"' EXIT
{
    echo "$head"
    if [ -f "$file" ]; then
        # Stamps of one form sort as text.
        awk -F, -v head="$head" -v keep="$(stamp $((now - 8 * 86400)))" \
            '$0 != head && !/^#/ && NF == 6 && $4 >= keep' "$file"
    fi
    echo "$zone,$kind,$(stamp "$now"),$(stamp $((now + 60 * minutes))),$grams,$estimated"
} >"$new"
chmod 644 "$new"
mv "$new" "$file"
trap - EXIT
