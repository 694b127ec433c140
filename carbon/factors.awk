# Turns factors.csv into rows of C, for carbon/table.c.  A line that is not as
# expected ends the build: no quoting, five fields, codes of letters, the list
# sorted by its first column.
BEGIN { FS = "," }

function stop(why)
{
    printf "%s:%d: %s\n", FILENAME, FNR, why >"/dev/stderr"
    failed = 1
    exit 1
}

/^#/ { next }

!head {
    if ($0 != "iso3,iso2,country,year,gco2_per_kwh")
        stop("not the expected header")
    head = 1
    next
}

{
    if (NF != 5 || /["\\]/)
        stop("not five plain fields")
    if ($1 !~ /^[A-Z][A-Z][A-Z]$/ || $2 !~ /^[A-Z][A-Z]$/)
        stop("not the code of a country")
    if ($4 !~ /^[12][0-9][0-9][0-9]$/ || $5 !~ /^[0-9]+(\.[0-9]+)?$/)
        stop("not a year and a number")
    if ($1 <= last)
        stop("not sorted")
    last = $1
    rows++
    printf "    {\"%s\", \"%s\", %d, %d, \"%s\"},\n", $1, $2, $4,
        int($5 * 1000 + 0.5), $3
}

END {
    if (!failed && !rows)
        stop("empty")
}
