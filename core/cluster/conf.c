#include "core/cluster/conf.h"

#include "base/fetch.h"
#include "core/cluster/own.h"

#define AT(member) offsetof(struct bj_scheduler_conf, member)
#define SECOND 1000000u

const struct bj_opt bj_cluster_opts[] = {
    {.name = "cluster.interval",
     .kind = BJ_OPT_DURATION,
     .off = AT(period_usec),
     .lo = SECOND,
     .hi = 3600ull * SECOND,
     .preset = "30s",
     .help = "How often to query the scheduler for queue and nodes, "
             "independent of scrapes. Enable on one host of the cluster only.",
     .more = "Raise it to reduce the load on the scheduler."},
    {.name = "cluster.slow-interval",
     .kind = BJ_OPT_DURATION,
     .off = AT(slow_usec),
     .lo = SECOND,
     .hi = 86400ull * SECOND,
     .preset = "5m",
     .help =
         "How often to query the accounting database for shares and limits.",
     .more = "Raise it to reduce the load on the accounting database.",
     .rare = true},
    {.name = "cluster.timeout",
     .kind = BJ_OPT_DURATION,
     .off = AT(timeout_usec),
     .lo = SECOND / 10,
     .hi = 600ull * SECOND,
     .preset = "10s",
     .help = "Longest time a command of the scheduler may run before it is "
             "killed.",
     .more = "Raise it when the scheduler replies slowly.",
     .rare = true},
    {.name = "cluster.by",
     .kind = BJ_OPT_LIST,
     .off = AT(by),
     .preset = "partition,user,account,qos,reason,reservation",
     .choices =
         "partition|user|account|qos|host|reason|reservation|node|feature|none",
     .arg = "LABEL",
     .help = "Labels by which jobs and nodes are counted, in addition to their "
             "state.",
     .more =
         "Remove labels to reduce the number of series; none: only by state; "
         "+node: these and node. "
         "The feature is known with cluster.via=json and rest only.",
     .set_off = AT(by_set)},
    {.name = "cluster.source",
     .kind = BJ_OPT_LIST,
     .off = AT(extra),
     .preset = "diag,licenses,reservations",
     .choices = "diag|licenses|reservations|shares|limits|none",
     .arg = "SOURCE",
     .help =
         "Data to request from the scheduler, in addition to queue and nodes.",
     .more =
         "Add shares and limits for fair-share dashboards (+shares,limits); "
         "none: only queue and nodes.",
     .set_off = AT(extra_set)},
    {.name = "cluster.max-series",
     .kind = BJ_OPT_U64,
     .off = AT(max_series),
     .lo = 16,
     .hi = 1000000,
     .preset = "5000",
     .help = "Maximum number of series of one kind, such as jobs by user and "
             "state; the rest is summed up as (other).",
     .more = "Raise it on large clusters when batchjob_cluster_source_refused "
             "is above 0."},
    {.name = "cluster.gpu-idle-cpus",
     .kind = BJ_OPT_U64,
     .off = AT(gpu_idle_cpus),
     .lo = 0,
     .hi = 1024,
     .preset = "1",
     .help = "Report idle GPUs as blocked, not idle, when their node has fewer "
             "idle CPUs than this.",
     .more = "Set it to the number of CPUs a GPU job needs at least; 0: never "
             "report GPUs as blocked.",
     .rare = true},
    {.name = "cluster.constants",
     .kind = BJ_OPT_STR,
     .off = AT(constants),
     .preset = "",
     .arg = "FILE",
     .help = "File with numbers to export as metrics, such as allocations: a "
             "name and a number on each line.",
     .more = "Set it to show allocations and other numbers of your site in "
             "dashboards.",
     .rare = true},
    {.name = "cluster.path",
     .kind = BJ_OPT_STR,
     .off = AT(path),
     .preset = "",
     .arg = "DIRS",
     .help = "Directories of the scheduler's commands, separated by ':'. "
             "Default: the usual directories.",
     .more = "Set it when the commands are installed elsewhere.",
     .rare = true},
    {.name = "cluster.command-prefix",
     .kind = BJ_OPT_STR,
     .off = AT(prefix),
     .preset = "",
     .arg = "WORDS",
     .help = "Words to put before each command of the scheduler, separated by "
             "blanks, such as 'sudo -u slurm' or 'ssh head'.",
     .more = "Set it when the exporter's user or host may not query the "
             "scheduler itself.",
     .rare = true},
    {.name = "cluster.command",
     .kind = BJ_OPT_LIST,
     .off = AT(commands),
     .check = bj_cluster_own_check,
     .arg = "SOURCE=COMMAND",
     .help = "Run this command instead of the scheduler's for queue, nodes, "
             "licenses, diag, limits or partitions, such as 'queue=cat "
             "/var/cache/squeue.json'.",
     .more = "Set it to read output that another program has saved. "
             "docs/cluster.md has the formats.",
     .rare = true},
    {.name = "cluster.jobs",
     .kind = BJ_OPT_LIST,
     .off = AT(jobs),
     .arg = "WHAT=VALUE",
     .help = "Count only jobs with this partition, state, node, account, user, "
             "qos or reservation, such as partition=batch,long.",
     .more = "Set it to leave out jobs; several settings must all match. Works "
             "only with cluster.via=text."},
    {.name = "cluster.nodes",
     .kind = BJ_OPT_LIST,
     .off = AT(nodes),
     .arg = "WHAT=VALUE",
     .help = "Count only nodes with this partition, state or node name, such "
             "as state=idle,mixed.",
     .more = "Set it to leave out nodes; several settings must all match. "
             "Works only with cluster.via=text."},
    {.name = "cluster.slurm-conf",
     .kind = BJ_OPT_STR,
     .off = AT(slurm_conf),
     .preset = "",
     .arg = "FILE",
     .help = "Slurm configuration file for the scheduler's commands. Default: "
             "Slurm's default.",
     .more = "Set it when the configuration is not at Slurm's default path.",
     .rare = true},
    {.name = "cluster.via",
     .kind = BJ_OPT_STR,
     .off = AT(via),
     .preset = "text",
     .choices = "text|json|rest|pbs",
     .arg = "WAY",
     .help = "How to query Slurm: text output of its commands, their --json "
             "output, or slurmrestd; all give the same values. pbs: query PBS, "
             "by qstat and pbsnodes.",
     .more = "Use rest where Slurm's commands are not installed. With json, "
             "commands without --json are read as text; docs/cluster.md lists "
             "the versions."},
    {.name = "slurmrestd.url",
     .kind = BJ_OPT_STR,
     .off = AT(rest_url),
     .preset = "",
     .check = bj_fetch_check,
     .arg = "URL",
     .help = "URL of slurmrestd, for cluster.via=rest: http://HOST:6820.",
     .more = "Use https when slurmrestd runs on another host."},
    {.name = "slurmrestd.unix-socket",
     .kind = BJ_OPT_STR,
     .off = AT(rest_socket),
     .preset = "",
     .arg = "PATH",
     .help = "Unix socket of slurmrestd, instead of slurmrestd.url.",
     .more = "Use it when slurmrestd runs on this host."},
    {.name = "slurmrestd.user",
     .kind = BJ_OPT_STR,
     .off = AT(rest_user),
     .preset = "",
     .arg = "NAME",
     .help = "User name that the slurmrestd token belongs to. Default: the "
             "user of this program.",
     .more = "Set it when the token was issued for another user.",
     .rare = true},
    {.name = "slurmrestd.token-file",
     .kind = BJ_OPT_STR,
     .off = AT(rest_token_file),
     .preset = "",
     .arg = "FILE",
     .help = "File with the slurmrestd token (JWT), read for each request. A "
             "socket with rest_auth/local needs none.",
     .more = "Renew the token before it expires; the new one is used at once."},
    {.name = "slurmrestd.ca-file",
     .kind = BJ_OPT_STR,
     .off = AT(rest_ca_file),
     .preset = "",
     .arg = "FILE",
     .help =
         "CA certificates to verify slurmrestd with. Default: the system's.",
     .more = "Set it when the certificate is signed by your own CA.",
     .rare = true},
    {.name = "slurmrestd.version",
     .kind = BJ_OPT_U64,
     .off = AT(rest_version),
     .hi = 99,
     .preset = "0",
     .help = "Version of the slurmrestd data plugin, such as 40 for v0.0.40. "
             "0: the newest available.",
     .more = "Set it to stay on one version across an upgrade of Slurm.",
     .rare = true},
    {0},
};
