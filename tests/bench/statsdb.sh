#!/bin/bash
# What importing accounting text and queries of the store cost.
#
#   tests/bench/statsdb.sh BUILD-FOLDER [LINES]      LINES: 1000000
#
# Prints figures and their limits; counting instructions needs valgrind.
# Times vary on a machine that is not idle: compare ratios of one run.
set -eu
export LC_ALL=C
O=$1 lines=${2:-1000000}
here=$(dirname "$0")
dir=$(mktemp -d "${TMPDIR:-/tmp}/bj-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT

figure() { sed "s/.*\\b$1=\\([0-9.]*\\).*/\\1/"; } # name: prints its value from a line of figures
say() { printf '%-58s %14s   %s\n' "$1" "$2" "$3"; }

"$O/bench/statsdb_gen" "$lines" >"$dir/text"
py=$(python3 "$here/statsdb_loader.py" "$dir/text" "$dir/py.db")
ours=$("$O/bench/statsdb_load" "$dir/s.db" "$dir/text" bulk)
{ head -n 1 "$dir/text"; tail -n 20000 "$dir/text"; } >"$dir/newest"
again=$("$O/bench/statsdb_load" "$dir/s.db" "$dir/newest" window)
echo "python: $py"
echo "ours:   $ours"
echo "again:  $again"

n=$(figure lines <<<"$ours")
say "bytes of the file a line, indexes and sums included" \
    "$(($(figure file_bytes <<<"$ours") / n))" "at most 170"
say "memory (RSS, MiB)" "$(figure rss_mib <<<"$ours")" "at most 32"
say "lines/s over the Python loader's" \
    "$(python3 -c "print('%.1f' % ($(figure lines_s <<<"$ours") / $(figure lines_s <<<"$py")))")" \
    "at least 2.5"
say "CPU of a line over the Python loader's" \
    "$(python3 -c "print('1/%.1f' % ($(figure us_line <<<"$py") / $(figure us_line <<<"$ours")))")" ""
say "the newest 20000 lines again, CPU a line over the bulk's" \
    "$(python3 -c "print('%.2f' % ($(figure us_line <<<"$again") / $(figure us_line <<<"$ours")))")" \
    "at most 1.5 at a million lines, 2 at ten"

busy="SELECT user FROM job GROUP BY user ORDER BY count(*) DESC LIMIT 1 OFFSET 40"
user=$(python3 - "$dir/s.db" "$busy" <<'PY'
import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])
PY
)
q=$("$O/bench/statsdb_query" "$dir/s.db" 200 \
    "SELECT * FROM job WHERE user = $user AND at >= 1764633600 ORDER BY at DESC")
echo "a user's last 30 days: $q"
say "scan steps" "$(figure scan_steps <<<"$q")" "0"
say "us a row" \
    "$(python3 -c "print('%.2f' % ($(figure median_us <<<"$q") / $(figure rows <<<"$q")))")" \
    "at most 3"

name=$(python3 - "$dir/s.db" "SELECT name FROM user WHERE id = $user" <<'PY'
import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])
PY
)
began=${EPOCHREALTIME/./}
rows=$("$O/batchjob_acct" --store.path="$dir/s.db" --user="$name" \
    --since=2025-12-02 --output=csv --no-header | wc -l)
say "batchjob_acct, the same as a table of 13 columns" \
    "$(((${EPOCHREALTIME/./} - began) / 1000)) ms" "$rows rows, the program's start included"

if command -v valgrind >/dev/null; then
    count() { # bulk|window, lines
        head -n $(($2 + 1)) "$dir/text" >"$dir/part"
        valgrind --tool=callgrind --callgrind-out-file=/dev/null "$O/bench/statsdb_load" \
            "$dir/$1$2.db" "$dir/part" "$1" 2>&1 >/dev/null | sed -n 's/.*I *refs: *//p' | tr -d ,
    }
    per_line() { echo $((($(count "$1" 30000) - $(count "$1" 10000)) / 20000)); }
    say "instructions a line, between 10000 and 30000 lines" "$(per_line bulk)" "at most 43000"
    say "the same with all references looked up by SQLite" "$(per_line window)" ""
    python3 "$here/statsdb_postgres.py" "$O" "$dir/text"
    python3 "$here/statsdb_sources.py" "$O"
fi
