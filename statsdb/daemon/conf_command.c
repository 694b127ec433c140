/* Options that only the command line accepts. */
#include "statsdb/conf/conf.h"

#include <stddef.h>

#define AT(member) offsetof(struct bj_statsdb_conf, member)

const struct bj_opt bj_command_opts[] = {
    {.name = "once",
     .kind = BJ_OPT_BOOL,
     .off = AT(once),
     .preset = "false",
     .help = "Import everything that is new and the whole history, then exit."},
    {.name = "dry-run",
     .kind = BJ_OPT_BOOL,
     .off = AT(dry_run),
     .preset = "false",
     .help = "Read the newest slice of each source like --once, but write "
             "nothing. It needs the turn to write: beside a running service, "
             "use check-config --online."},
    {.name = "online",
     .kind = BJ_OPT_BOOL,
     .off = AT(online),
     .preset = "false",
     .help = "With check-config, also open the store and query schedulers, "
             "Prometheus and the mail server; writes nothing."},
    {.name = "since",
     .kind = BJ_OPT_STR,
     .off = AT(since),
     .arg = "TIME",
     .help = "Import history back to this time instead of the cluster's "
             "history; export jobs that ended since. 2026-01-31, "
             "2026-01-31T12:00:00Z, or 30d for 30 days ago."},
    {.name = "until",
     .kind = BJ_OPT_STR,
     .off = AT(until),
     .arg = "TIME",
     .help = "Export jobs that ended before this time."},
    {.name = "format",
     .kind = BJ_OPT_STR,
     .off = AT(format),
     .preset = "csv",
     .help = "Format of the export: comma-separated values, or one JSON object "
             "per line.",
     .choices = "csv|jsonl"},
    {.name = "import.cluster",
     .kind = BJ_OPT_STR,
     .off = AT(import_cluster),
     .arg = "NAME",
     .help = "Cluster of the jobs in the imported file."},
    {.name = "from",
     .kind = BJ_OPT_STR,
     .off = AT(copy_from),
     .arg = "URL",
     .help = "With copy: the store that is read."},
    {.name = "to",
     .kind = BJ_OPT_STR,
     .off = AT(copy_to),
     .arg = "URL",
     .help = "With copy: the store that is filled. It must be empty, or hold a "
             "copy that was interrupted."},
    {.name = "update",
     .kind = BJ_OPT_BOOL,
     .off = AT(copy_update),
     .preset = "false",
     .help = "With copy: the filled store may be an earlier copy that no other "
             "program has "
             "written. Write what differs, "
             "and remove what the read store does not have."},
    {.name = "proof",
     .kind = BJ_OPT_STR,
     .off = AT(copy_proof),
     .arg = "FILE",
     .help =
         "With copy: write the number of rows, the sum of their integers and "
         "the hash of each table and day into this CSV file."},
    {.name = NULL},
};
