#include "statsdb/conf.h"

#include "base/fetch.h"
#include "base/listen.h"
#include "statsdb/words.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT(member) offsetof(struct bj_statsdb_conf, member)
#define OF(member) offsetof(struct bj_cluster_conf, member)

enum { HOUR = 3600, DAY = 86400, CLUSTERS_MAX = 64 };
#define SEC(n) ((uint64_t)(n)*1000000)

static const struct bj_opt options[] = {
    {.name = "store.path",
     .kind = BJ_OPT_STR,
     .off = AT(path),
     .preset = "/var/lib/batchjob/stats.db",
     .arg = "FILE",
     .help = "The store; it must be on a local disk."},
    {.name = "store.cache",
     .kind = BJ_OPT_SIZE,
     .off = AT(cache_bytes),
     .lo = 1 << 20,
     .preset = "12M",
     .help = "How much of the store is kept in memory."},
    {.name = "store.busy-timeout",
     .kind = BJ_OPT_DURATION,
     .off = AT(busy_usec),
     .lo = 1000,
     .hi = SEC(HOUR),
     .preset = "10s",
     .help = "How long to wait for a lock that somebody else holds."},
    {.name = "store.max-size",
     .kind = BJ_OPT_SIZE,
     .off = AT(max_bytes),
     .preset = "0",
     .help = "The store never grows beyond this; 0 for no limit."},
    {.name = "store.batch-lines",
     .kind = BJ_OPT_U64,
     .off = AT(batch_lines),
     .lo = 100,
     .hi = 10000000,
     .preset = "50000",
     .help = "Jobs and steps that are written in one transaction."},
    {.name = "store.any-filesystem",
     .kind = BJ_OPT_BOOL,
     .off = AT(any_filesystem),
     .preset = "false",
     .help = "Use the store even on a network file system. Its locks may not "
             "hold: the store can be damaged."},
    {.name = "store.check",
     .kind = BJ_OPT_BOOL,
     .off = AT(check),
     .preset = "false",
     .help = "Look at the start whether the store is consistent; takes long."},
    {.name = "store.retention",
     .kind = BJ_OPT_DURATION,
     .off = AT(retention_usec),
     .preset = "0s",
     .help = "Jobs that ended longer ago are removed, their daily sums are "
             "kept; 0 to keep all."},
    {.name = "cluster.file",
     .kind = BJ_OPT_LIST,
     .off = AT(cluster_files),
     .arg = "FILE",
     .help = "YAML file of a cluster; give it again for more."},
    {.name = "metrics.file",
     .kind = BJ_OPT_STR,
     .off = AT(metrics_file),
     .arg = "FILE",
     .help = "Write how the asking goes into this file, in Prometheus' text "
             "format, every 15 s; for node_exporter's textfile collector."},
    {.name = "findings.enabled",
     .kind = BJ_OPT_BOOL,
     .off = AT(findings),
     .preset = "true",
     .help = "Judge jobs that have ended by rules."},
    {.name = "findings.file",
     .kind = BJ_OPT_STR,
     .off = AT(findings_file),
     .arg = "FILE",
     .help = "YAML file with rules of the site, and changes to those that are "
             "built in."},
    {.name = "findings.history",
     .kind = BJ_OPT_DURATION,
     .off = AT(findings_history_usec),
     .preset = "90d",
     .help = "When the rules change, jobs back to this are judged anew."},
    {.name = "web.listen-address",
     .kind = BJ_OPT_LIST,
     .off = AT(listen),
     .check = bj_listen_check,
     .help = "Tell the same over HTTP, under /metrics: HOST:PORT, :PORT or "
             "[IPV6]:PORT; give it again for more."},
    {.name = "web.config.file",
     .kind = BJ_OPT_STR,
     .off = AT(web_file),
     .arg = "FILE",
     .help = "TLS, names and hashed passwords for it, in the format of "
             "Prometheus' exporters; read again when it changes."},
    {.name = NULL},
};

/* What makes no sense in a file. */
static const struct bj_opt command_options[] = {
    {.name = "once",
     .kind = BJ_OPT_BOOL,
     .off = AT(once),
     .preset = "false",
     .help = "Ask for all that is new and all of the history, then end."},
    {.name = "dry-run",
     .kind = BJ_OPT_BOOL,
     .off = AT(dry_run),
     .preset = "false",
     .help = "Do what --once does for the newest slice, but write "
             "nothing; without a store all is new."},
    {.name = "since",
     .kind = BJ_OPT_STR,
     .off = AT(since),
     .arg = "TIME",
     .help = "Go back to this time (2026-01-31, 2026-01-31T12:00:00Z, or 30d: "
             "so long ago) instead of the cluster's history; export: jobs "
             "that ended since."},
    {.name = "until",
     .kind = BJ_OPT_STR,
     .off = AT(until),
     .arg = "TIME",
     .help = "Export: jobs that ended before."},
    {.name = "format",
     .kind = BJ_OPT_STR,
     .off = AT(format),
     .preset = "csv",
     .help = "Export: comma separated values or a JSON object a line.",
     .choices = "csv|jsonl"},
    {.name = "import.cluster",
     .kind = BJ_OPT_STR,
     .off = AT(import_cluster),
     .arg = "NAME",
     .help = "Import: whose jobs the file has."},
    {.name = NULL},
};

static const struct bj_opt cluster_options[] = {
    {.name = "name",
     .kind = BJ_OPT_STR,
     .off = OF(name),
     .help = "The cluster's name where the scheduler does not tell it, and in "
             "messages; prometheus, pue and records that name none go by it, "
             "so let it be the scheduler's."},
    {.name = "sacct.command",
     .kind = BJ_OPT_STR,
     .off = OF(sacct),
     .help = "The program to ask Slurm's accounting; sacct when no source is "
             "named, empty for none."},
    {.name = "sacct.slurm-conf",
     .kind = BJ_OPT_STR,
     .off = OF(slurm_conf),
     .arg = "FILE",
     .help = "Its slurm.conf, where that is not the usual one."},
    {.name = "sacct.clusters",
     .kind = BJ_OPT_STR,
     .off = OF(clusters),
     .help = "Clusters to ask for, with commas between, or \"all\"; the "
             "command's own when empty."},
    {.name = "sacct.federation",
     .kind = BJ_OPT_BOOL,
     .off = OF(federation),
     .preset = "false",
     .help = "Ask for the jobs of the federation."},
    {.name = "sacct.interval",
     .kind = BJ_OPT_DURATION,
     .off = OF(interval_usec),
     .lo = SEC(1),
     .hi = SEC(DAY),
     .preset = "5m",
     .help = "How often to ask for what is new."},
    {.name = "sacct.overlap",
     .kind = BJ_OPT_DURATION,
     .off = OF(overlap_usec),
     .hi = SEC(30 * DAY),
     .preset = "2h",
     .help = "How much of what is known is asked for again: the accounting "
             "database gets its last word late."},
    {.name = "sacct.slice",
     .kind = BJ_OPT_DURATION,
     .off = OF(slice_usec),
     .lo = SEC(60),
     .hi = SEC(366 * DAY),
     .preset = "1d",
     .help = "Longest time to ask for at once; shorter when a question takes "
             "too long."},
    {.name = "sacct.pause",
     .kind = BJ_OPT_DURATION,
     .off = OF(pause_usec),
     .hi = SEC(HOUR),
     .preset = "5s",
     .help = "Rest between two questions, at least; it is never shorter than "
             "the last question took."},
    {.name = "sacct.deadline",
     .kind = BJ_OPT_DURATION,
     .off = OF(deadline_usec),
     .lo = SEC(1),
     .hi = SEC(DAY),
     .preset = "10m",
     .help = "A question that takes longer is given up."},
    {.name = "sacct.history",
     .kind = BJ_OPT_DURATION,
     .off = OF(history_usec),
     .lo = SEC(60),
     .preset = "365d",
     .help = "How far back to ask, newest first."},
    {.name = "sacct.max-steps",
     .kind = BJ_OPT_U64,
     .off = OF(max_steps),
     .lo = 1,
     .hi = 100000,
     .preset = "1000",
     .help = "Steps of a job that are kept; all count in its sums."},
    {.name = "qstat.command",
     .kind = BJ_OPT_STR,
     .off = OF(snapshot[BJ_SNAPSHOT_QSTAT].command),
     .help = "The program that tells of the jobs of PBS, those that ended "
             "lately included (job_history_enable)."},
    {.name = "qstat.interval",
     .kind = BJ_OPT_DURATION,
     .off = OF(snapshot[BJ_SNAPSHOT_QSTAT].interval_usec),
     .lo = SEC(1),
     .hi = SEC(DAY),
     .preset = "5m",
     .help = "How often to ask it; it must be less than the time for which "
             "jobs that ended are remembered."},
    {.name = "qstat.deadline",
     .kind = BJ_OPT_DURATION,
     .off = OF(snapshot[BJ_SNAPSHOT_QSTAT].deadline_usec),
     .lo = SEC(1),
     .hi = SEC(DAY),
     .preset = "2m",
     .help = "A question that takes longer is given up."},
    {.name = "bjobs.command",
     .kind = BJ_OPT_STR,
     .off = OF(snapshot[BJ_SNAPSHOT_BJOBS].command),
     .help = "The program that tells of the jobs of LSF, those that ended "
             "lately included (CLEAN_PERIOD)."},
    {.name = "bjobs.interval",
     .kind = BJ_OPT_DURATION,
     .off = OF(snapshot[BJ_SNAPSHOT_BJOBS].interval_usec),
     .lo = SEC(1),
     .hi = SEC(DAY),
     .preset = "5m",
     .help = "How often to ask it; it must be less than the time for which "
             "jobs that ended are remembered."},
    {.name = "bjobs.deadline",
     .kind = BJ_OPT_DURATION,
     .off = OF(snapshot[BJ_SNAPSHOT_BJOBS].deadline_usec),
     .lo = SEC(1),
     .hi = SEC(DAY),
     .preset = "2m",
     .help = "A question that takes longer is given up."},
    {.name = "pbs.accounting",
     .kind = BJ_OPT_STR,
     .off = OF(snapshot[BJ_SNAPSHOT_PBS_FILES].command),
     .arg = "DIR",
     .help = "Directory of PBS's accounting files, which are followed: "
             "PBS_HOME/server_priv/accounting."},
    {.name = "pbs.interval",
     .kind = BJ_OPT_DURATION,
     .off = OF(snapshot[BJ_SNAPSHOT_PBS_FILES].interval_usec),
     .lo = SEC(1),
     .hi = SEC(DAY),
     .preset = "30s",
     .help = "How often to look at them."},
    {.name = "lsf.acct",
     .kind = BJ_OPT_STR,
     .off = OF(snapshot[BJ_SNAPSHOT_LSF_FILES].command),
     .arg = "FILE",
     .help = "LSF's lsb.acct, which is followed, with lsb.acct.1 and so on "
             "beside it."},
    {.name = "lsf.interval",
     .kind = BJ_OPT_DURATION,
     .off = OF(snapshot[BJ_SNAPSHOT_LSF_FILES].interval_usec),
     .lo = SEC(1),
     .hi = SEC(DAY),
     .preset = "30s",
     .help = "How often to look at them."},
    {.name = "slurmrestd.url",
     .kind = BJ_OPT_STR,
     .off = OF(rest.url),
     .check = bj_fetch_check,
     .help = "Ask slurmrestd instead of sacct: http://HOST:6820. What is set "
             "of sacct.interval, overlap, slice, pause, deadline, history and "
             "max-steps counts here, too."},
    {.name = "slurmrestd.unix-socket",
     .kind = BJ_OPT_STR,
     .off = OF(rest.socket),
     .arg = "PATH",
     .help = "The same by a socket of this host."},
    {.name = "slurmrestd.user",
     .kind = BJ_OPT_STR,
     .off = OF(rest.user),
     .help = "The user that the token is for, where that is not who we are."},
    {.name = "slurmrestd.token-file",
     .kind = BJ_OPT_STR,
     .off = OF(rest.token_file),
     .arg = "FILE",
     .help = "A file with the token (JWT), which is read for each question; "
             "a socket with rest_auth/local needs none."},
    {.name = "slurmrestd.ca-file",
     .kind = BJ_OPT_STR,
     .off = OF(rest.ca_file),
     .arg = "FILE",
     .help = "Certificates to believe for https; the system's when empty."},
    {.name = "slurmrestd.version",
     .kind = BJ_OPT_U64,
     .off = OF(rest.version),
     .hi = 99,
     .preset = "0",
     .help = "The plugin to ask: 40 for v0.0.40; 0 for the newest there is."},
    {.name = "mariadb.database",
     .kind = BJ_OPT_STR,
     .off = OF(mariadb.database),
     .help = "Ask Slurm's database instead of sacct, through the views that "
             "this one holds (examples/slurm-database-view). What is set of "
             "sacct.interval and the rest counts here, too."},
    {.name = "mariadb.host",
     .kind = BJ_OPT_STR,
     .off = OF(mariadb.host),
     .preset = "127.0.0.1",
     .help = "Where it runs."},
    {.name = "mariadb.port",
     .kind = BJ_OPT_U64,
     .off = OF(mariadb.port),
     .lo = 1,
     .hi = 65535,
     .preset = "3306",
     .help = "And on which port."},
    {.name = "mariadb.unix-socket",
     .kind = BJ_OPT_STR,
     .off = OF(mariadb.socket),
     .arg = "PATH",
     .help = "The same by a socket of this host."},
    {.name = "mariadb.user",
     .kind = BJ_OPT_STR,
     .off = OF(mariadb.user),
     .preset = "batchjob",
     .help = "A user that may read the views and nothing else."},
    {.name = "mariadb.password-file",
     .kind = BJ_OPT_STR,
     .off = OF(mariadb.password_file),
     .arg = "FILE",
     .help = "A file with its password, which is read for each question."},
    {.name = "mariadb.ca-file",
     .kind = BJ_OPT_STR,
     .off = OF(mariadb.ca_file),
     .arg = "FILE",
     .help = "Certificates to believe: demands TLS and the server's name."},
    {.name = "records.dir",
     .kind = BJ_OPT_LIST,
     .off = OF(records),
     .arg = "DIR",
     .help = "Directory where final records of nodes arrive; they are removed "
             "when they are in the store."},
    {.name = "pue",
     .kind = BJ_OPT_LIST,
     .off = OF(pue),
     .arg = "[DAY=]NUMBER",
     .help =
         "Power usage effectiveness of the house: what it takes in, of what "
         "the machines do; from a day (UTC) on, or all along."},
    {.name = NULL},
};

static void cluster_free(struct bj_cluster_conf *c)
{
    bj_opt_free(&(struct bj_optset){cluster_options, c});
    bj_opt_free(&(struct bj_optset){bj_prom_opts, &c->prom});
}

void bj_statsdb_conf_free(struct bj_statsdb_conf *c)
{
    for (size_t i = 0; i < c->clusters; i++)
        cluster_free(&c->cluster[i]);
    free(c->cluster);
    c->cluster = NULL;
    c->clusters = 0;
    bj_opt_free(&(struct bj_optset){options, c});
    bj_opt_free(&(struct bj_optset){bj_carbon_opts, &c->carbon});
    bj_opt_free(&(struct bj_optset){command_options, c});
    bj_opt_free(&(struct bj_optset){bj_program_opts, &c->program});
}

static int readable(const char *what, const char *path, struct bj_err *err)
{
    if (access(path, R_OK) == 0)
        return 0;
    char why[64];
    return bj_err_set(err, -EINVAL, "%s: '%s': %s", what, path,
                      strerror_r(errno, why, sizeof(why)));
}

bool bj_cluster_has_rest(const struct bj_cluster_conf *c)
{
    return (c->rest.url && c->rest.url[0]) ||
           (c->rest.socket && c->rest.socket[0]);
}

bool bj_cluster_has_mariadb(const struct bj_cluster_conf *c)
{
    return c->mariadb.database && c->mariadb.database[0];
}

/* How many of those that are asked for windows, of which one is enough. */
static int windows(const struct bj_cluster_conf *c)
{
    return (c->sacct && c->sacct[0]) + bj_cluster_has_rest(c) +
           bj_cluster_has_mariadb(c);
}

bool bj_cluster_has_windows(const struct bj_cluster_conf *c)
{
    return windows(c) > 0;
}

/* Is anything named besides sacct? */
static bool has_source(const struct bj_cluster_conf *c)
{
    bool any = bj_cluster_has_rest(c) || bj_cluster_has_mariadb(c);
    for (int i = 0; i < BJ_SNAPSHOTS; i++)
        any = any || c->snapshot[i].command;
    return any;
}

static int load_cluster(struct bj_cluster_conf *c, const char *path,
                        struct bj_err *err)
{
    const struct bj_optset sets[2] = {{cluster_options, c},
                                      {bj_prom_opts, &c->prom}};
    int r = readable("cluster.file", path, err);
    for (int i = 0; r == 0 && i < 2; i++)
        r = bj_opt_presets(&sets[i], err);
    if (r == 0)
        r = bj_opt_yaml(sets, 2, path, err);
    for (int i = 0; r == 0 && i < 2; i++)
        r = bj_opt_finish(&sets[i], err);
    if (r == 0 && windows(c) > 1)
        r = bj_err_set(
            err, -EINVAL,
            "%s: one of sacct, slurmrestd and mariadb is to be asked", path);
    if (r == 0 && !c->sacct && !has_source(c) && !(c->sacct = strdup("sacct")))
        r = bj_err_set(err, -ENOMEM, "options");
    if (r == 0 && (!c->name || !c->name[0]))
        r = bj_err_set(err, -EINVAL, "%s: name: a cluster needs one", path);
    return r;
}

static int load_clusters(struct bj_statsdb_conf *c, struct bj_err *err)
{
    size_t n = c->cluster_files.n;
    if (n > CLUSTERS_MAX)
        return bj_err_set(err, -EINVAL, "cluster.file: more than %d",
                          CLUSTERS_MAX);
    c->cluster = calloc(n ? n : 1, sizeof(*c->cluster));
    if (!c->cluster)
        return bj_err_set(err, -ENOMEM, "options");
    for (size_t i = 0; i < n; i++) {
        c->clusters = i + 1;
        int r = load_cluster(&c->cluster[i], c->cluster_files.v[i], err);
        if (r < 0)
            return r;
        for (size_t k = 0; k < i; k++)
            if (strcmp(c->cluster[k].name, c->cluster[i].name) == 0)
                return bj_err_set(err, -EINVAL, "%s: name: '%s' comes twice",
                                  c->cluster_files.v[i], c->cluster[i].name);
    }
    return 0;
}

/* A file that says --once is refused, by the place where it says so. */
static int only_lasting(const char *path, struct bj_err *err)
{
    struct bj_statsdb_conf c = {.path = NULL};
    const struct bj_optset sets[] = {{options, &c},
                                     {bj_carbon_opts, &c.carbon},
                                     {bj_program_opts, &c.program}};
    int r = path ? bj_opt_yaml(sets, 3, path, err) : 0;
    bj_statsdb_conf_free(&c);
    return r;
}

int bj_statsdb_conf_load(struct bj_statsdb_conf *c, int argc, char **argv,
                         struct bj_err *err)
{
    const struct bj_optset sets[] = {{options, c},
                                     {bj_carbon_opts, &c->carbon},
                                     {command_options, c},
                                     {bj_program_opts, &c->program}};
    int r = bj_program_load(&c->program, sets, 4, argc, argv, err);
    if (r < 0 || c->program.help || c->program.version)
        return r;
    r = only_lasting(c->program.file, err);
    if (r == 0 && (!c->path || !c->path[0]))
        r = bj_err_set(err, -EINVAL, "store.path: there must be one");
    return r < 0 ? r : load_clusters(c, err);
}

size_t bj_statsdb_conf_words(int *argc, char **argv, char **word)
{
    const struct bj_optset sets[] = {{options, NULL},
                                     {bj_carbon_opts, NULL},
                                     {command_options, NULL},
                                     {bj_program_opts, NULL}};
    return bj_words_cut(sets, 4, NULL, argc, argv, word);
}

void bj_statsdb_conf_help(struct bj_buf *out)
{
    bj_opt_help(&(struct bj_optset){options, NULL}, out);
    bj_opt_help(&(struct bj_optset){bj_carbon_opts, NULL}, out);
    bj_opt_help(&(struct bj_optset){bj_program_opts, NULL}, out);
    bj_buf_str(out, "\nOn the command line only, as config.file, help and "
                    "version:\n");
    bj_opt_help(&(struct bj_optset){command_options, NULL}, out);
    bj_buf_str(out, "\nIn the file of a cluster:\n");
    bj_opt_help(&(struct bj_optset){cluster_options, NULL}, out);
    bj_opt_help(&(struct bj_optset){bj_prom_opts, NULL}, out);
}
