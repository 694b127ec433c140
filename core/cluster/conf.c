#include "core/cluster/conf.h"

#include "base/fetch.h"
#include "base/slice.h"

#include <errno.h>

#define AT(member) offsetof(struct bj_cluster_conf, member)
#define SECOND 1000000u

enum { SERIES_LEAST = 16, SERIES_MOST = 1000000 };

static const char *const labels[] = {"partition", "user",        "account",
                                     "qos",       "host",        "reason",
                                     "node",      "reservation", NULL};

/* "user=200" */
static int parse_series(const char *text, struct bj_slice *label, uint64_t *n)
{
    struct bj_slice rest = bj_slice_str(text);
    if (!bj_slice_field(&rest, '=', label) || bj_slice_u64(rest, n) < 0 ||
        *n < SERIES_LEAST || *n > SERIES_MOST)
        return -EINVAL;
    for (const char *const *v = labels; *v; v++)
        if (bj_slice_eq(*label, bj_slice_str(*v)))
            return 0;
    return -EINVAL;
}

uint64_t bj_cluster_series(const struct bj_cluster_conf *conf,
                           const char *label)
{
    uint64_t n, ret = conf->max_series;
    for (size_t i = 0; i < conf->series.n; i++) {
        struct bj_slice l;
        if (parse_series(conf->series.v[i], &l, &n) == 0 &&
            bj_slice_eq(l, bj_slice_str(label)))
            ret = n;
    }
    return ret;
}

static int check_series(const char *text, struct bj_err *err)
{
    struct bj_slice label;
    uint64_t n;
    if (parse_series(text, &label, &n) == 0)
        return 0;
    return bj_err_set(err, -EINVAL,
                      "'%s' is not LABEL=N with one of cluster.by and %d to %d",
                      text, SERIES_LEAST, SERIES_MOST);
}

const struct bj_opt bj_cluster_opts[] = {
    {.name = "cluster.interval",
     .kind = BJ_OPT_DURATION,
     .off = AT(period_usec),
     .lo = SECOND,
     .hi = 3600ull * SECOND,
     .preset = "30s",
     .help = "Pace at which the scheduler is asked for queue and nodes, "
             "whoever scrapes; run this on one host of a cluster."},
    {.name = "cluster.slow-interval",
     .kind = BJ_OPT_DURATION,
     .off = AT(slow_usec),
     .lo = SECOND,
     .hi = 86400ull * SECOND,
     .preset = "5m",
     .help = "Pace of what comes from the accounting database: shares and "
             "limits."},
    {.name = "cluster.timeout",
     .kind = BJ_OPT_DURATION,
     .off = AT(timeout_usec),
     .lo = SECOND / 10,
     .hi = 600ull * SECOND,
     .preset = "10s",
     .help = "How long a command of the scheduler may take before it is "
             "killed."},
    {.name = "cluster.by",
     .kind = BJ_OPT_LIST,
     .off = AT(by),
     .preset = "partition,user,account,qos,reason,reservation",
     .choices = "partition|user|account|qos|host|reason|reservation|node|none",
     .arg = "LABEL",
     .help = "What jobs and nodes are told by, besides their state.",
     .set_off = AT(by_set)},
    {.name = "cluster.source",
     .kind = BJ_OPT_LIST,
     .off = AT(extra),
     .preset = "diag,licenses,reservations",
     .choices = "diag|licenses|reservations|shares|limits|none",
     .arg = "SOURCE",
     .help = "What the scheduler is asked for, besides queue and nodes.",
     .set_off = AT(extra_set)},
    {.name = "cluster.max-series",
     .kind = BJ_OPT_U64,
     .off = AT(max_series),
     .lo = 16,
     .hi = 1000000,
     .preset = "5000",
     .help = "Series of one kind, such as jobs by user and state; the rest "
             "is summed up as (other)."},
    {.name = "cluster.series",
     .kind = BJ_OPT_LIST,
     .off = AT(series),
     .arg = "LABEL=N",
     .check = check_series,
     .help = "Series of one kind for what is told by one label, where "
             "that is to be another number: user=200."},
    {.name = "cluster.gpu-idle-cpus",
     .kind = BJ_OPT_U64,
     .off = AT(gpu_idle_cpus),
     .lo = 0,
     .hi = 1024,
     .preset = "1",
     .help = "Free GPUs of a node with fewer idle CPUs than this are told as "
             "blocked, not as idle."},
    {.name = "cluster.constants",
     .kind = BJ_OPT_STR,
     .off = AT(constants),
     .preset = "",
     .arg = "FILE",
     .help = "File of named numbers that are told as metrics, such as "
             "allocations: a name and a number on each line."},
    {.name = "cluster.path",
     .kind = BJ_OPT_STR,
     .off = AT(path),
     .preset = "",
     .arg = "DIRS",
     .help = "Directories with the scheduler's commands, ':' between; the "
             "usual ones when not given."},
    {.name = "cluster.command-prefix",
     .kind = BJ_OPT_STR,
     .off = AT(prefix),
     .preset = "",
     .arg = "WORDS",
     .help =
         "What stands in front of each of the scheduler's commands, such as "
         "'sudo -u slurm' or 'ssh head'; words have blanks between."},
    {.name = "cluster.jobs",
     .kind = BJ_OPT_LIST,
     .off = AT(jobs),
     .arg = "WHAT=VALUE",
     .help = "Only jobs that have this partition, state, node, account, user, "
             "qos or reservation are told of: partition=batch,long."},
    {.name = "cluster.nodes",
     .kind = BJ_OPT_LIST,
     .off = AT(nodes),
     .arg = "WHAT=VALUE",
     .help = "Only nodes that have this partition or state, or are this node, "
             "are told of."},
    {.name = "cluster.slurm-conf",
     .kind = BJ_OPT_STR,
     .off = AT(slurm_conf),
     .preset = "",
     .arg = "FILE",
     .help = "Configuration file of Slurm, for its commands; their default "
             "when not given."},
    {.name = "cluster.via",
     .kind = BJ_OPT_STR,
     .off = AT(via),
     .preset = "text",
     .choices = "text|json|rest",
     .arg = "WAY",
     .help = "How Slurm is asked: its commands and their text, its commands "
             "with --json, or slurmrestd. The figures are the same."},
    {.name = "slurmrestd.url",
     .kind = BJ_OPT_STR,
     .off = AT(rest_url),
     .preset = "",
     .check = bj_fetch_check,
     .arg = "URL",
     .help = "Where slurmrestd is, for cluster.via rest: http://HOST:6820."},
    {.name = "slurmrestd.unix-socket",
     .kind = BJ_OPT_STR,
     .off = AT(rest_socket),
     .preset = "",
     .arg = "PATH",
     .help = "The same by a socket of this host."},
    {.name = "slurmrestd.user",
     .kind = BJ_OPT_STR,
     .off = AT(rest_user),
     .preset = "",
     .arg = "NAME",
     .help = "The user that the token is for, where that is not who we are."},
    {.name = "slurmrestd.token-file",
     .kind = BJ_OPT_STR,
     .off = AT(rest_token_file),
     .preset = "",
     .arg = "FILE",
     .help = "A file with the token (JWT), which is read for each question; a "
             "socket with rest_auth/local needs none."},
    {.name = "slurmrestd.ca-file",
     .kind = BJ_OPT_STR,
     .off = AT(rest_ca_file),
     .preset = "",
     .arg = "FILE",
     .help = "Certificates to believe for https; the system's when empty."},
    {.name = "slurmrestd.version",
     .kind = BJ_OPT_U64,
     .off = AT(rest_version),
     .hi = 99,
     .preset = "0",
     .help = "The plugin to ask: 40 for v0.0.40; 0 for the newest there is."},
    {0},
};
