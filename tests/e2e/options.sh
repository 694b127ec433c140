#!/bin/bash
# Shell completions and manual pages have every option of the programs, and the
# quickstart matches the packages.  TAP.
. "$(dirname "$0")/lib.sh"
cd "$top" || exit 1

programs='batchjob_exporter batchjob_snmp batchjob_stats_db batchjob_stats_server batchjob_acct'
options() { # program: the options of its command line, without the prefix "no-"
    "$O/$1" --help=all | sed -nE '/^In the YAML file/q; s/^      --(\[no-\])?([a-z][a-z0-9.-]*).*/\2/p' | sort -u
}

# Options in a manual page: --name, or at the start of a line in bold.
manual() { # file
    sed 's/^\\fB\([a-z]\)/.B \1/; s/\\f.//g; s/\\//g; s/\[no-\]//g; s/--no-/--/g' "$1" |
        grep -oE '(--|^\.B[A-Z]? )[a-z][a-z0-9.-]*' | sed -E 's/^(--|\.B[A-Z]? )//' | sort -u
}

# bash's completions at the end of a command line.
by_bash() { # program line [word breaks]
    bash -c '. "$1"; COMP_LINE=$3 COMP_POINT=${#3} COMP_WORDBREAKS=$4
        compopt() { :; }
        "_$2"; printf "%s\n" "${COMPREPLY[@]}"' bash "$tmp/share/bash-completion/completions/$1" "$1" "$2" \
        "${3:- =:}"
}
by_fish() { # line: fish's completions; the program need not be in PATH
    HOME=$tmp fish --no-config -c 'for f in $argv[1]/*; source $f; end; complete -C $argv[2]' \
        "$tmp/share/fish/vendor_completions.d" "$1" | cut -f 1
}
bare() { sed 's/^--//; s/=$//' | grep -v '^no-' | sort -u; }

check "completions are installed" make -s install-completions O="$O" prefix="$tmp"
for p in $programs; do
    is "bash completes all options of $p" "$(by_bash "$p" "$p --" | bare)" "$(options "$p")"
    case $p in
    batchjob_acct) page=docs/man/$p.1 ;;
    *) page=docs/man/$p.8 ;;
    esac
    is "the manual page of $p has all options" "$(comm -13 <(manual "$page") <("$O/$p" --help=all |
        sed -nE 's/^      --(\[no-\])?([a-z][a-z0-9.-]*).*/\2/p' | sort -u))" ""
done
is "bash completes the choices of an option" \
    "$(by_bash batchjob_acct 'batchjob_acct --color=a' | tr '\n' ' ')" "auto always "
is "bash completes choices where = is part of a word" \
    "$(by_bash batchjob_acct 'batchjob_acct --color=n' ' :')" "--color=never"
exporter_config() { "$O/batchjob_exporter" check-config "$@" 2>&1; }
is "check-config of the exporter accepts the example" "$(exporter_config --config.file=examples/exporter.yml)" \
    "fine for user id $(id -u)"
is "check-config of the exporter prints all problems" "$(exporter_config --record.dir=/none --record.ca-file=/none/ca \
    --record.url=http://db.example --record.token-file=/none/token --energy.command='no-such-program -x' \
    --energy.state-file=/none/state --web.config.file=/none/web.yml | sed 's/^batchjob_exporter: //; s/: .*//' |
    sort | tr '\n' ' ')" "energy.command energy.state-file record.ca-file record.dir record.token-file record.url web.config.file "
echo "not a certificate" >"$tmp/cert.pem"
is "check-config of the exporter loads certificates" "$(exporter_config --record.dir="$tmp" \
    --record.url=https://db.example --record.ca-file="$tmp/cert.pem" 2>&1 | sed "s|$tmp||; s/: [A-Z].*//")" \
    "batchjob_exporter: record.ca-file: /cert.pem"
exporter_online() { # OPTION...
    exporter_config --online --web.listen-address=127.0.0.1:0 "$@" | sed 's/^batchjob_exporter: //'
}
is "check-config --online of the exporter listens" "$(exporter_online)" "fine for user id $(id -u)"
is "check-config --online: an address of another host" \
    "$(exporter_online --web.listen-address=192.0.2.1:9010 | grep -o '^web.listen-address: ')" "web.listen-address: "
is "check-config --online: a wrong port of batchjob_stats_db" \
    "$(exporter_online --record.dir="$tmp" --record.url=http://127.0.0.1:1 | grep -o '^record.url: .*127.0.0.1:1/records: ')" \
    "record.url: POST http://127.0.0.1:1/records: "
is "check-config --online: a placeholder in record.url" \
    "$(exporter_online --record.dir="$tmp" --record.url=http://SERVER:9022 | grep -o '^record.url: the host in capitals')" \
    "record.url: the host in capitals"
is "check-config of the exporter fails with an unknown option" "$(exporter_config --record.dri=x >/dev/null; echo $?)" 1
is "bash completes commands" "$(by_bash batchjob_stats_db 'batchjob_stats_db check-')" check-config
is "bash completes files" "$(by_bash batchjob_exporter "batchjob_exporter --config.file=README.m")" README.md
if command -v fish >/dev/null; then
    for p in $programs; do
        is "fish completes all options of $p" "$(by_fish "$p --" | bare)" "$(options "$p")"
    done
    is "fish completes the choices of an option" \
        "$(by_fish 'batchjob_acct --color=a' | tr '\n' ' ')" "--color=always --color=auto "
else
    skip "fish completes all options" "fish is not installed"
fi
for p in $programs; do
    if command -v zsh >/dev/null; then
        check "zsh reads the completions of $p" zsh -n "$tmp/share/zsh/site-functions/_$p"
    fi
    is "zsh's completions of $p have all options" "$(sed -nE "s/^    '\*?--([a-z0-9.-]+).*/\1/p" \
        "$tmp/share/zsh/site-functions/_$p" | grep -v '^no-' | sort -u)" "$(options "$p")"
done
for p in $programs; do
    is "$p -V is the same as --version" "$("$O/$p" -V)" "$("$O/$p" --version)"
    is "$p -h is the same as --help" "$("$O/$p" -h | md5sum)" "$("$O/$p" --help | md5sum)"
    check "--help of $p is shorter than --help=all" \
        [ "$("$O/$p" --help | wc -l)" -lt "$("$O/$p" --help=all | wc -l)" ]
done

run_tap tests/e2e/quickstart.py check
run_tap tests/e2e/command_lines.py
check "the Spack recipe is valid Python" $python -c \
    'compile(open("packaging/spack/packages/batchjob-monitoring/package.py").read(), "package.py", "exec")'
complete=1
