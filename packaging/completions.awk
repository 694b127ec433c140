# Writes the completions of a program for a shell, from its option table:
#
#   PROGRAM --help=all | awk -v program=PROGRAM -v shell=bash|zsh|fish -f completions.awk

# "Usage: PROGRAM report ...": a command.
!options && $0 ~ "^(Usage:|      ) " program " [a-z]" { command($0, program " ") }
# Commands before the first option: "  backup FILE   copy the store".
/^  [a-z]/ && !options { command($0, "  ") }
# "  -A --account, -E --until"
/^  -[A-Za-z] --/ {
    n = split($0, part, /,? +/)
    for (i = 2; i < n; i += 2) letter[substr(part[i + 1], 3)] = substr(part[i], 2)
}
# Options of a configuration file only.
/^In the YAML file/ { file = 1 }
/^      --/ && file { next }
/^      --/ {
    flag = $1
    option = flag
    sub(/^--(\[no-\])?/, "", option)
    sub(/[=[].*/, "", option)
    names[++options] = option
    is_bool[option] = flag ~ /^--\[no-\]/
    negated[option] = is_bool[option] && option != "version"
    value = flag
    if (!sub(/^[^=]*=/, "", value)) value = ""
    argument[option] = value
    repeats[option] = / \.\.\.( |$)/
    optional[option] = flag ~ /\[=/
    text = $0
    if (!sub(/^ +--[^ ]*( [^ ]+)* \.\.\. */, "", text) && !sub(/^ +--[^ ]+ */, "", text)) text = ""
    help[option] = text
    next
}
options && /^        / { sub(/^ +/, ""); help[option] = help[option] (help[option] ? " " : "") $0 }

function command(line, before) {
    line = substr(line, index(line, before) + length(before))
    sub(/[^a-z-].*/, "", line)
    if (!(line in seen)) commands = commands (commands ? " " : "") line
    seen[line] = 1
}

# The words after "One of:" in the help.
function choices(o,   words) {
    if (!match(help[o], /One of: [^.]*\./)) return ""
    words = substr(help[o], RSTART + 8, RLENGTH - 9)
    gsub(/,/, "", words)
    return words
}

function is_file(o) { return argument[o] ~ /^(FILE|PATH|DIR|SOCKET)/ || o ~ /(file|path|dir|socket|ca)$/ }

# The first sentence of the help, without what a shell would read.
function short_help(o,   text) {
    text = help[o]
    sub(/\. .*/, "", text)
    sub(/\.$/, "", text)
    gsub(/ *\(default: [a-z]*\)/, "", text)
    gsub(/[][\047"`$\\]/, "", text)
    return text
}

END {
    if (!options) exit 1
    if (shell == "bash") bash()
    else if (shell == "zsh") zsh()
    else if (shell == "fish") fish()
    else exit 1
}

function bash(   i, o, words, files, sep) {
    for (i = 1; i <= options; i++) {
        o = names[i]
        words = words (i > 1 ? " " : "")
        words = words "--" o (is_bool[o] ? "" : optional[o] ? " --" o "=" : "=")
        if (negated[o]) words = words " --no-" o
        if (is_file(o)) { files = files sep "--" o "=*"; sep = " | " }
    }
    print "# Completions of " program " for bash."
    print "_" program "() {"
    print "    local word=${COMP_LINE:0:COMP_POINT} keep="
    print "    word=${word##*[[:space:]]}"
    print "    [[ $COMP_WORDBREAKS == *=* ]] || keep=${word%%=*}="
    print "    COMPREPLY=()"
    print "    case $word in"
    for (i = 1; i <= options; i++)
        if (choices(names[i]))
            print "    --" names[i] "=*) mapfile -t COMPREPLY < <(compgen -P \"$keep\" -W \"" choices(names[i]) \
                "\" -- \"${word#*=}\") ;;"
    if (files)
        print "    " files ")\n        compopt -o filenames\n" \
            "        mapfile -t COMPREPLY < <(compgen -P \"$keep\" -f -- \"${word#*=}\") ;;"
    print "    --*=*) ;;"
    print "    -*)"
    print "        mapfile -t COMPREPLY < <(compgen -W \"" words "\" -- \"$word\")"
    print "        [[ ${COMPREPLY[0]:-} != *= ]] || compopt -o nospace ;;"
    if (commands) print "    *) mapfile -t COMPREPLY < <(compgen -W \"" commands "\" -- \"$word\") ;;"
    print "    esac\n}\ncomplete -F _" program " " program
}

function zsh_value(o,   action) {
    action = choices(o) ? "(" choices(o) ")" : is_file(o) ? "_files" : " "
    return (optional[o] ? "::" : ":") "value:" action
}

function zsh(   i, o, text) {
    print "#compdef " program
    print "_arguments -S \\"
    for (i = 1; i <= options; i++) {
        o = names[i]
        text = short_help(o)
        gsub(/:/, "\\:", text)
        if (negated[o]) print "    '--no-" o "[Not: " text "]' \\"
        if (is_bool[o]) print "    '--" o "[" text "]' \\"
        else print "    '" (repeats[o] ? "*" : "") "--" o (optional[o] ? "=-" : "=") "[" text "]" zsh_value(o) "' \\"
        if (o in letter)
            print "    '" (repeats[o] ? "*" : "") "-" letter[o] "[" text "]" (is_bool[o] || optional[o] ? "" : zsh_value(o)) "' \\"
    }
    print "    '*:argument:" (commands ? "(" commands ")" : " ") "'"
}

function fish(   i, o, line) {
    if (commands) print "complete -c " program " -n __fish_is_first_arg -f -a '" commands "'"
    for (i = 1; i <= options; i++) {
        o = names[i]
        line = "complete -c " program " -l " o
        if (o in letter) line = line " -s " letter[o]
        if (!is_bool[o] && !optional[o]) line = line (is_file(o) ? " -r -F" : " -x")
        if (choices(o)) line = line " -a '" choices(o) "'"
        print line " -d '" short_help(o) "'"
        if (negated[o]) print "complete -c " program " -l no-" o
    }
}
