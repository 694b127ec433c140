# Write storage.file of batchjob_stats_server (lines USER KIND NAME BYTES BYTES_LIMIT
# FILES FILES_LIMIT [PATH]) as the quota file of Open OnDemand (OOD_QUOTA_PATH), in
# blocks of 1 KiB:
#
#   awk -f quotas.awk /etc/batchjob/storage >/etc/ood/quotas.json
#
# Lines with "-", which is unknown or no limit, are left out.
function blocks(s,    unit) {
    unit = substr(s, length(s))
    return (s + 0) * (unit == "K" ? 1 : unit == "M" ? 1024 : unit == "G" ? 1024 ^ 2 : unit == "T" ? 1024 ^ 3 : 1 / 1024)
}
function quoted(s) {
    gsub(/\\/, "\\\\", s)
    gsub(/"/, "\\\"", s)
    return "\"" s "\""
}
BEGIN {
    srand()
    printf "{\"version\": 1, \"timestamp\": %d, \"quotas\": [", srand()
}
/^[ \t]*(#|$)/ || NF < 7 || $4 == "-" || $5 == "-" || $6 == "-" || $7 == "-" { next }
{
    printf "%s\n  {\"path\": %s, \"user\": %s, \"total_block_usage\": %d, \"block_limit\": %d, \"total_file_usage\": %d, \"file_limit\": %d}",
        n++ ? "," : "", quoted(NF > 7 ? $8 : $3), quoted($1), blocks($4), blocks($5), $6, $7
}
END { print "\n]}" }
