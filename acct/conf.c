#include "acct/conf.h"

#include <stddef.h>

#define AT(member) offsetof(struct bj_acct_conf, member)

static const struct bj_opt selecting[] = {
    {.name = "user",
     .kind = BJ_OPT_LIST,
     .off = AT(filter.user),
     .help = "Select jobs of these users. Commas separate values."},
    {.name = "account",
     .kind = BJ_OPT_LIST,
     .off = AT(filter.account),
     .help = "Select jobs of these accounts."},
    {.name = "partition",
     .kind = BJ_OPT_LIST,
     .off = AT(filter.partition),
     .help = "Select jobs in these partitions or queues."},
    {.name = "state",
     .kind = BJ_OPT_LIST,
     .off = AT(filter.state),
     .help = "Select jobs in these states: pending, running, suspended, "
             "completed, failed, cancelled, timeout, oom, node_fail, "
             "preempted, requeued, deadline, boot_fail, resized, unknown, "
             "ended (all that have), all. Slurm's names are accepted, too."},
    {.name = "cluster",
     .kind = BJ_OPT_LIST,
     .off = AT(filter.cluster),
     .help = "Select jobs of these clusters."},
    {.name = "node",
     .kind = BJ_OPT_LIST,
     .off = AT(filter.node),
     .arg = "NODES",
     .help = "Select jobs that ran on these nodes, also as lists of Slurm: "
             "n[101-104,107]."},
    {.name = "job",
     .kind = BJ_OPT_LIST,
     .off = AT(filter.job),
     .arg = "ID",
     .help = "Select these jobs: 4711, 4711_3, 4711_[1-5], 4711+1, a SLUID or "
             "a key. An array includes its tasks. The name of the option can "
             "be omitted."},
    {.name = "since",
     .kind = BJ_OPT_STR,
     .off = AT(since),
     .arg = "TIME",
     .help = "Select jobs that began since this time: 2026-01-31, "
             "2026-01-31T12:00:00, 12h (ago), today, yesterday or now-2hours. "
             "Default: 7d, or no limit with --job or with states that have "
             "not ended.",
     .more = "A job that waits began when it was submitted. A time may have a "
             "zone (2026-01-31T12:00:00Z)."},
    {.name = "until",
     .kind = BJ_OPT_STR,
     .off = AT(until),
     .arg = "TIME",
     .help = "Select jobs that began before this time."},
    {.name = "month",
     .kind = BJ_OPT_STR,
     .off = AT(month),
     .arg = "YYYY-MM",
     .help = "Select jobs that began in this month, instead of since and "
             "until.",
     .more = "Of a report: what jobs used in this month."},
    {.name = "limit",
     .kind = BJ_OPT_U64,
     .off = AT(filter.limit),
     .hi = INT64_MAX,
     .preset = "0",
     .help = "Print this many jobs, the newest; 0 prints all."},
    {.name = NULL},
};

static const struct bj_opt printing[] = {
    {.name = "format",
     .kind = BJ_OPT_LIST,
     .off = AT(format),
     .arg = "COLUMNS",
     .help =
         "Print these columns, or \"all\"; --help=all lists them. Default of "
         "lists: all. Default of other forms: " BJ_ACCT_FORMAT
         ". Of reports: pdf, or js1 (jobstats' summary).",
     .more =
         "Each column has two names, and either works; so do some other names "
         "of sacct (AllocCPUS). A width after a name (JobName%30) is ignored."},
    {.name = "output",
     .kind = BJ_OPT_STR,
     .off = AT(output),
     .preset = "table",
     .help = "Print a table, a list with one line for each known value, or "
             "CSV or JSON with times in UTC, seconds, bytes, joules and "
             "percent.",
     .choices = "table|list|csv|json",
     .more =
         "On a terminal, long names are cut to fit the line; a plus sign marks "
         "the cut. Names and values of CSV and JSON are those of the API "
         "server; unknown is empty in CSV and null in JSON. In CSV, text that "
         "a spreadsheet would take for a formula gets a leading quote."},
    {.name = "header",
     .kind = BJ_OPT_BOOL,
     .off = AT(header),
     .preset = "true",
     .help = "Print the names of the columns in the first line."},
    {.name = "by",
     .kind = BJ_OPT_STR,
     .off = AT(by),
     .arg = "GROUP",
     .help = "Add up the report of a month by account, user or application. "
             "Default: by account, with --account by user.",
     .choices = "account|user|application"},
    {.name = "as",
     .kind = BJ_OPT_STR,
     .off = AT(as),
     .preset = "report",
     .help = "Print reports of jobs in the form of another program. A link to "
             "batchjob_acct named seff or jobstats does the same.",
     .choices = "report|seff|jobstats"},
    {.name = "file",
     .kind = BJ_OPT_STR,
     .off = AT(file),
     .arg = "FILE",
     .help = "Write the report to this file. Default: standard output."},
    {.name = "paper",
     .kind = BJ_OPT_STR,
     .off = AT(paper),
     .preset = "a4",
     .help = "Size of the pages of a PDF.",
     .choices = "a4|letter"},
    {.name = "ascii",
     .kind = BJ_OPT_BOOL,
     .off = AT(ascii),
     .preset = "false",
     .help = "Draw the bars of reports with ASCII characters. Default: only "
             "where the locale is not UTF-8."},
    {.name = "utc",
     .kind = BJ_OPT_BOOL,
     .off = AT(utc),
     .preset = "false",
     .help = "Use UTC, not the site's time zone, in tables and options."},
    {.name = "color",
     .kind = BJ_OPT_STR,
     .off = AT(colour),
     .preset = "auto",
     .help = "Colour states. auto: on a terminal, unless NO_COLOR is set.",
     .choices = "auto|always|never"},
    {.name = NULL},
};

static const struct bj_opt reading[] = {
    {.name = "server",
     .kind = BJ_OPT_STR,
     .off = AT(api.server),
     .arg = "URL",
     .check = bj_acct_api_check,
     .help = "Read jobs from this batchjob_stats_server, which shows the jobs "
             "that you may see: http://HOST:9020, https://HOST or unix:/PATH "
             "(its web.unix-socket). Default: none, reads the store."},
    {.name = "token-file",
     .kind = BJ_OPT_STR,
     .off = AT(api.token_file),
     .arg = "FILE",
     .help = "File with your token for the server; ~/ is the home directory. "
             "The Unix socket needs none.",
     .more = "It must be readable by you alone. An administrator makes tokens "
             "with batchjob_stats_server make-token USER DATE."},
    {.name = "ca-file",
     .kind = BJ_OPT_STR,
     .off = AT(api.ca_file),
     .arg = "FILE",
     .help = "CA certificates to trust for https. Default: the system's."},
    {.name = "cert-file",
     .kind = BJ_OPT_STR,
     .off = AT(api.cert_file),
     .arg = "FILE",
     .help = "Client certificate."},
    {.name = "key-file",
     .kind = BJ_OPT_STR,
     .off = AT(api.key_file),
     .arg = "FILE",
     .help = "Key of the client certificate, if it is in another file."},
    {.name = "timeout",
     .kind = BJ_OPT_DURATION,
     .off = AT(api.timeout_usec),
     .lo = 1000000,
     .preset = "60s",
     .help = "Timeout of each request to the server."},
    {.name = "store.path",
     .kind = BJ_OPT_STR,
     .off = AT(path),
     .arg = "FILE|URL",
     .help = "Store to read, instead of a server: a file, or the URL of a "
             "database of PostgreSQL. "
             "Default: " BJ_ACCT_STORE "."},
    {.name = "store.any-filesystem",
     .kind = BJ_OPT_BOOL,
     .off = AT(any_filesystem),
     .preset = "false",
     .help = "Read a store on a network file system, too."},
    {.name = NULL},
};

const char *const bj_acct_headings[BJ_ACCT_SETS] = {"Jobs", "Output", "Source",
                                                    "General"};

void bj_acct_conf_sets(struct bj_acct_conf *c,
                       struct bj_optset sets[BJ_ACCT_SETS])
{
    sets[0] = (struct bj_optset){selecting, c};
    sets[1] = (struct bj_optset){printing, c};
    sets[2] = (struct bj_optset){reading, c};
    sets[3] = (struct bj_optset){bj_program_opts, &c->program};
}
