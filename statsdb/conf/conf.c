#include "statsdb/conf/conf.h"

#include "base/fetch.h"
#include "base/file.h"
#include "base/listen.h"
#include "base/opt.h"

#include <fcntl.h>
#include <stdio.h>
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
     .arg = "FILE|URL",
     .help = "The store: an SQLite file on a local disk, or a database of "
             "PostgreSQL, postgresql://USER@HOST/DATABASE.",
     .more = "Set it when /var/lib is too small or not local, or to a URL when "
             "one host is not enough."},
    {.name = "store.cache",
     .kind = BJ_OPT_SIZE,
     .off = AT(cache_bytes),
     .lo = 1 << 20,
     .preset = "12M",
     .help = "Memory for pages of the store.",
     .more = "Raise it when imports read the disk all the time.",
     .rare = true},
    {.name = "store.max-size",
     .kind = BJ_OPT_SIZE,
     .off = AT(max_bytes),
     .preset = "0",
     .help = "Maximum size of the store; 0 for no limit.",
     .more = "Set it when other programs use the same disk.",
     .rare = true},
    {.name = "store.batch-lines",
     .kind = BJ_OPT_U64,
     .off = AT(batch_lines),
     .lo = 100,
     .hi = 10000000,
     .preset = "50000",
     .help = "Jobs and steps written in one transaction.",
     .more = "Lower it when the write-ahead log grows too large.",
     .rare = true},
    {.name = "store.any-filesystem",
     .kind = BJ_OPT_BOOL,
     .off = AT(any_filesystem),
     .preset = "false",
     .help = "Allow a network file system. Locks may fail there and the store "
             "may be damaged.",
     .more = "Set it only when the file system supports locks and one host "
             "uses the store.",
     .rare = true},
    {.name = "store.check",
     .kind = BJ_OPT_BOOL,
     .off = AT(check),
     .preset = "false",
     .help = "Check the consistency of the store at each start; takes long.",
     .more = "Set it once after a disk failure.",
     .rare = true},
    {.name = "store.retention",
     .kind = BJ_OPT_DURATION,
     .off = AT(retention_usec),
     .preset = "0s",
     .help = "Remove jobs that ended longer ago, but keep their daily sums; 0 "
             "keeps all jobs.",
     .more = "Set it when personal data must not be kept longer, or the disk "
             "is small."},
    {.name = "cluster.file",
     .kind = BJ_OPT_LIST,
     .off = AT(cluster_files),
     .arg = "FILE",
     .help = "YAML file of a cluster; repeat for more clusters."},
    {.name = "metrics.file",
     .kind = BJ_OPT_STR,
     .off = AT(metrics_file),
     .arg = "FILE",
     .help = "Write collection metrics to this file every 15 s, for "
             "node_exporter's textfile collector.",
     .more = "Set it when node_exporter runs on this host."},
    {.name = "application.file",
     .kind = BJ_OPT_STR,
     .off = AT(application_file),
     .arg = "FILE",
     .help = "File that names applications by their programs, before the "
             "built-in names; docs/derived.md has the format.",
     .more = "Set it when programs of the site are not recognised, or have "
             "another name there."},
    {.name = "findings.enabled",
     .kind = BJ_OPT_BOOL,
     .off = AT(findings),
     .preset = "true",
     .help = "Evaluate rules for ended jobs.",
     .more = "Switch it off when the site has other reports.",
     .rare = true},
    {.name = "findings.file",
     .kind = BJ_OPT_STR,
     .off = AT(findings_file),
     .arg = "FILE",
     .help = "YAML file with rules of the site and changes to built-in rules.",
     .more = "Set it to change thresholds or add rules."},
    {.name = "findings.history",
     .kind = BJ_OPT_DURATION,
     .off = AT(findings_history_usec),
     .preset = "90d",
     .help =
         "When rules change, evaluate jobs that ended within this time again.",
     .more = "Raise it when old jobs should follow changed rules; deriving "
             "them takes longer.",
     .rare = true},
    {.name = "record.listen-address",
     .kind = BJ_OPT_LIST,
     .off = AT(receiver.listen),
     .check = bj_listen_check,
     .help = "Receive final records of nodes on HOST:PORT, :PORT or "
             "[IPV6]:PORT; repeat for more.",
     .more = "Set it when exporters have record.url. Clients authenticate "
             "with record.token-file or certificates."},
    {.name = "record.config.file",
     .kind = BJ_OPT_STR,
     .off = AT(receiver.web_file),
     .arg = "FILE",
     .help = "TLS and client certificates for record.listen-address, in the "
             "format of web.config.file. A client writes records of the host "
             "that its certificate names.",
     .more = "Set it when nodes send records over a network."},
    {.name = "record.token-file",
     .kind = BJ_OPT_STR,
     .off = AT(receiver.token_file),
     .arg = "FILE",
     .help = "Tokens of nodes that send records: lines HOST TOKEN; HOST may be "
             "*, for any host. Read again when it changes.",
     .more = "Set it when nodes have no certificates."},
    {.name = "record.check-hosts",
     .kind = BJ_OPT_BOOL,
     .off = AT(record_check_hosts),
     .preset = "true",
     .help = "Use a final record only if accounting says that the job ran on "
             "the record's host.",
     .more = "Set it to false where the names of hosts differ from those in "
             "accounting."},
    {.name = "record.connections",
     .kind = BJ_OPT_U64,
     .off = AT(receiver.connections),
     .lo = 2,
     .hi = 10000,
     .preset = "256",
     .help = "Connections of nodes that are open at the same time. Further "
             "ones wait; idle ones are closed first.",
     .more = "A quarter of them may be without a complete request from one "
             "address. One needs about 60 KiB of memory and a file descriptor.",
     .rare = true},
    {.name = "jobcomp.listen-address",
     .kind = BJ_OPT_LIST,
     .off = AT(jobcomp.listen),
     .check = bj_listen_check,
     .help = "Receive records of jobs from slurmctld (JobCompType="
             "jobcomp/elasticsearch) on HOST:PORT, :PORT or [IPV6]:PORT; "
             "repeat for more.",
     .more = "Set it to have jobs in the store as soon as they end."},
    {.name = "jobcomp.from",
     .kind = BJ_OPT_LIST,
     .off = AT(jobcomp.from),
     .arg = "ADDRESS",
     .help = "Address of a host with slurmctld that may send records; repeat "
             "for more.",
     .more = "Set it when slurmctld runs on another host. Every program of "
             "that host may then send records."},
    {.name = "jobcomp.user",
     .kind = BJ_OPT_STR,
     .off = AT(jobcomp.user),
     .preset = "slurm",
     .arg = "USER",
     .help = "User of slurmctld on this host: of the programs of this host, "
             "those of this user and of root may send records.",
     .more = "Set it to SlurmUser of slurm.conf.",
     .rare = true},
    {.name = "jobcomp.config.file",
     .kind = BJ_OPT_STR,
     .off = AT(jobcomp.web_file),
     .arg = "FILE",
     .help = "TLS for jobcomp.listen-address, in the format of "
             "web.config.file.",
     .more = "Set it when slurmctld sends records over a network; slurmctld "
             "must trust the certificate."},
    {.name = "web.listen-address",
     .kind = BJ_OPT_LIST,
     .off = AT(listen),
     .check = bj_listen_check,
     .help = "Serve metrics of this program at /metrics on HOST:PORT, :PORT or "
             "[IPV6]:PORT; repeat for more.",
     .more = "Set it when Prometheus scrapes this program."},
    {.name = "web.config.file",
     .kind = BJ_OPT_STR,
     .off = AT(web_file),
     .arg = "FILE",
     .help =
         "TLS, user names and hashed passwords for web.listen-address, in the "
         "format of Prometheus' exporters; read again when it changes.",
     .more = "Set it when clients connect over a network."},
    {.name = NULL},
};

static const struct bj_opt cluster_options[] = {
    {.name = "name",
     .kind = BJ_OPT_STR,
     .off = OF(name),
     .help = "Name of the cluster. Use the scheduler's name: Prometheus, PUE "
             "and final records refer to it."},
    {.name = "sacct.command",
     .kind = BJ_OPT_STR,
     .off = OF(sacct),
     .help = "The sacct program, the default source; empty for none.",
     .more = "Set it when sacct is not in PATH."},
    {.name = "sacct.slurm-conf",
     .kind = BJ_OPT_STR,
     .off = OF(slurm_conf),
     .arg = "FILE",
     .help = "Path of the slurm.conf that sacct reads, if not the default.",
     .more = "Set it for a second cluster on this host."},
    {.name = "sacct.clusters",
     .kind = BJ_OPT_STR,
     .off = OF(clusters),
     .help = "Clusters to request from sacct, separated by commas, or \"all\"; "
             "by default its own.",
     .more = "Set it to import several clusters of one Slurm database.",
     .rare = true},
    {.name = "sacct.federation",
     .kind = BJ_OPT_BOOL,
     .off = OF(federation),
     .preset = "false",
     .help = "Request the jobs of the federation.",
     .more = "Set it when jobs run in a federation.",
     .rare = true},
    {.name = "sacct.batch-scripts",
     .kind = BJ_OPT_BOOL,
     .off = OF(scripts),
     .preset = "false",
     .help = "Read the options of #SBATCH lines, and the application, from the "
             "batch scripts that Slurm keeps. The scripts are not stored.",
     .more = "Set it when slurm.conf has AccountingStoreFlags=job_script, so "
             "that advice replaces the options of the script."},
    {.name = "sacct.interval",
     .kind = BJ_OPT_DURATION,
     .off = OF(interval_usec),
     .lo = SEC(1),
     .hi = SEC(DAY),
     .preset = "5m",
     .help = "Time between two imports of new jobs.",
     .more = "Lower it for fresher data, raise it to spare slurmdbd."},
    {.name = "sacct.overlap",
     .kind = BJ_OPT_DURATION,
     .off = OF(overlap_usec),
     .hi = SEC(30 * DAY),
     .preset = "2h",
     .help = "How much already imported time to request again, because "
             "accounting arrives late.",
     .more = "Raise it when accounting arrives later than this, for example "
             "after an outage of slurmdbd.",
     .rare = true},
    {.name = "sacct.slice",
     .kind = BJ_OPT_DURATION,
     .off = OF(slice_usec),
     .lo = SEC(60),
     .hi = SEC(366 * DAY),
     .preset = "1d",
     .help = "Longest period in one request; halved after a timeout.",
     .more = "Lower it when requests of history load slurmdbd for too long.",
     .rare = true},
    {.name = "sacct.pause",
     .kind = BJ_OPT_DURATION,
     .off = OF(pause_usec),
     .hi = SEC(HOUR),
     .preset = "5s",
     .help = "Minimum pause between two requests. A pause is at least as long "
             "as the last request.",
     .more = "Raise it to spare slurmdbd.",
     .rare = true},
    {.name = "sacct.timeout",
     .kind = BJ_OPT_DURATION,
     .off = OF(timeout_usec),
     .lo = SEC(1),
     .hi = SEC(DAY),
     .preset = "10m",
     .help = "Longest time that a request may take.",
     .more = "Raise it when slurmdbd is slow.",
     .rare = true},
    {.name = "sacct.history",
     .kind = BJ_OPT_DURATION,
     .off = OF(history_usec),
     .lo = SEC(60),
     .preset = "365d",
     .help = "How far back to import, newest first.",
     .more = "Set it to the time that accounting is kept or wanted."},
    {.name = "qstat.command",
     .kind = BJ_OPT_STR,
     .off = OF(snapshot[BJ_SNAPSHOT_QSTAT].command),
     .help = "The qstat program, to import jobs of PBS. Set job_history_enable "
             "in PBS."},
    {.name = "qstat.interval",
     .kind = BJ_OPT_DURATION,
     .off = OF(snapshot[BJ_SNAPSHOT_QSTAT].interval_usec),
     .lo = SEC(1),
     .hi = SEC(DAY),
     .preset = "5m",
     .help = "Time between two imports; less than the time for which PBS keeps "
             "ended jobs.",
     .more = "Lower it when PBS forgets ended jobs earlier.",
     .rare = true},
    {.name = "bjobs.command",
     .kind = BJ_OPT_STR,
     .off = OF(snapshot[BJ_SNAPSHOT_BJOBS].command),
     .help =
         "The bjobs program, to import jobs of LSF. Set CLEAN_PERIOD in LSF."},
    {.name = "bjobs.interval",
     .kind = BJ_OPT_DURATION,
     .off = OF(snapshot[BJ_SNAPSHOT_BJOBS].interval_usec),
     .lo = SEC(1),
     .hi = SEC(DAY),
     .preset = "5m",
     .help = "Time between two imports; less than the time for which LSF keeps "
             "ended jobs.",
     .more = "Lower it when LSF forgets ended jobs earlier.",
     .rare = true},
    {.name = "pbs.accounting",
     .kind = BJ_OPT_STR,
     .off = OF(snapshot[BJ_SNAPSHOT_PBS_FILES].command),
     .arg = "DIR",
     .help = "Directory of PBS' accounting files to follow: "
             "PBS_HOME/server_priv/accounting."},
    {.name = "pbs.interval",
     .kind = BJ_OPT_DURATION,
     .off = OF(snapshot[BJ_SNAPSHOT_PBS_FILES].interval_usec),
     .lo = SEC(1),
     .hi = SEC(DAY),
     .preset = "30s",
     .help = "Time between two readings of the files.",
     .more = "Raise it when the files are on a busy network file system.",
     .rare = true},
    {.name = "lsf.acct",
     .kind = BJ_OPT_STR,
     .off = OF(snapshot[BJ_SNAPSHOT_LSF_FILES].command),
     .arg = "FILE",
     .help = "LSF's lsb.acct to follow, with lsb.acct.1 and so on."},
    {.name = "lsf.interval",
     .kind = BJ_OPT_DURATION,
     .off = OF(snapshot[BJ_SNAPSHOT_LSF_FILES].interval_usec),
     .lo = SEC(1),
     .hi = SEC(DAY),
     .preset = "30s",
     .help = "Time between two readings of the files.",
     .more = "Raise it when the files are on a busy network file system.",
     .rare = true},
    {.name = "slurmrestd.url",
     .kind = BJ_OPT_STR,
     .off = OF(rest.url),
     .check = bj_fetch_check,
     .help =
         "Use slurmrestd instead of sacct: http://HOST:6820. The options "
         "sacct.interval, overlap, slice, pause, timeout and history apply."},
    {.name = "slurmrestd.unix-socket",
     .kind = BJ_OPT_STR,
     .off = OF(rest.socket),
     .arg = "PATH",
     .help = "Use slurmrestd on this Unix socket.",
     .more = "Use it when slurmrestd runs on this host."},
    {.name = "slurmrestd.user",
     .kind = BJ_OPT_STR,
     .off = OF(rest.user),
     .help = "User of the token, if it is not the user of this program.",
     .rare = true},
    {.name = "slurmrestd.token-file",
     .kind = BJ_OPT_STR,
     .off = OF(rest.token_file),
     .arg = "FILE",
     .help = "File with the token (JWT), read for each request. A socket with "
             "rest_auth/local needs none."},
    {.name = "slurmrestd.ca-file",
     .kind = BJ_OPT_STR,
     .off = OF(rest.ca_file),
     .arg = "FILE",
     .help = "CA certificates to trust for https; the system's by default.",
     .more = "Set it for an internal CA.",
     .rare = true},
    {.name = "slurmrestd.version",
     .kind = BJ_OPT_U64,
     .off = OF(rest.version),
     .hi = 99,
     .preset = "0",
     .help = "Data parser to use: 40 for v0.0.40; 0 for the newest.",
     .more = "Set it when the newest parser of slurmrestd reports wrong data.",
     .rare = true},
    {.name = "mariadb.database",
     .kind = BJ_OPT_STR,
     .off = OF(mariadb.database),
     .help = "Use Slurm's database instead of sacct, through the views in this "
             "database (examples/slurm-database-view). The options "
             "sacct.interval and following apply."},
    {.name = "mariadb.host",
     .kind = BJ_OPT_STR,
     .off = OF(mariadb.host),
     .preset = "127.0.0.1",
     .help = "Host of the database server."},
    {.name = "mariadb.port",
     .kind = BJ_OPT_U64,
     .off = OF(mariadb.port),
     .lo = 1,
     .hi = 65535,
     .preset = "3306",
     .help = "Port of the database server.",
     .rare = true},
    {.name = "mariadb.unix-socket",
     .kind = BJ_OPT_STR,
     .off = OF(mariadb.socket),
     .arg = "PATH",
     .help = "Connect to the database server on this Unix socket.",
     .more = "Use it when the database runs on this host.",
     .rare = true},
    {.name = "mariadb.user",
     .kind = BJ_OPT_STR,
     .off = OF(mariadb.user),
     .preset = "batchjob",
     .help = "Database user that may only read the views."},
    {.name = "mariadb.password-file",
     .kind = BJ_OPT_STR,
     .off = OF(mariadb.password_file),
     .arg = "FILE",
     .help = "File with the password, read for each connection."},
    {.name = "mariadb.ca-file",
     .kind = BJ_OPT_STR,
     .off = OF(mariadb.ca_file),
     .arg = "FILE",
     .help = "CA certificates to trust. Requires TLS and a certificate for "
             "mariadb.host.",
     .more = "Set it when the connection crosses a network.",
     .rare = true},
    {.name = "records.dir",
     .kind = BJ_OPT_LIST,
     .off = OF(records),
     .arg = "DIR",
     .help = "Directory of final records of nodes. Files are removed after "
             "their import."},
    {.name = "pue",
     .kind = BJ_OPT_LIST,
     .off = OF(pue),
     .arg = "[DAY=]NUMBER",
     .help = "Power usage effectiveness: facility power divided by IT power; "
             "from a day (UTC) on, or always."},
    {.name = NULL},
};

static void cluster_free(struct bj_cluster_conf *c)
{
    bj_opt_free(&(struct bj_optset){cluster_options, c});
    bj_opt_free(&(struct bj_optset){bj_prom_opts, &c->prom});
}

static int readable(const char *what, const char *path, struct bj_err *err)
{
    if (access(path, R_OK) == 0)
        return 0;
    char option[64];
    int why = -errno;
    snprintf(option, sizeof(option), "%s:", what);
    bj_file_fail(err, why, option, AT_FDCWD, path, R_OK);
    return bj_err_recode(err, -EINVAL);
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

/* Number of sources with time windows; one is allowed. */
static int windows(const struct bj_cluster_conf *c)
{
    return (c->sacct && c->sacct[0]) + bj_cluster_has_rest(c) +
           bj_cluster_has_mariadb(c);
}

bool bj_cluster_has_windows(const struct bj_cluster_conf *c)
{
    return windows(c) > 0;
}

/* Is a source other than sacct configured? */
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
            "%s: configure only one of sacct, slurmrestd and mariadb", path);
    if (r == 0 && c->scripts &&
        (bj_cluster_has_rest(c) || bj_cluster_has_mariadb(c) || c->federation ||
         (c->clusters && c->clusters[0])))
        r = bj_err_set(err, -EINVAL,
                       "%s: sacct.batch-scripts: needs sacct, of one cluster",
                       path);
    if (r == 0 && !c->sacct && !has_source(c) && !(c->sacct = strdup("sacct")))
        r = bj_err_set(err, -ENOMEM, "options");
    if (r == 0 && (!c->name || !c->name[0]))
        r = bj_err_set(err, -EINVAL, "%s: name: required", path);
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
                return bj_err_set(err, -EINVAL, "%s: name: '%s' is used twice",
                                  c->cluster_files.v[i], c->cluster[i].name);
    }
    return 0;
}

/* the last set is for the command line only */
enum { FILE_SETS = 7, SETS = 8 };
static const struct bj_optset names[SETS] = {
    {options, NULL},         {bj_carbon_opts, NULL},  {bj_mail_opts, NULL},
    {bj_notify_opts, NULL},  {bj_running_opts, NULL}, {bj_report_opts, NULL},
    {bj_program_opts, NULL}, {bj_command_opts, NULL}};

static void bind_sets(struct bj_statsdb_conf *c, struct bj_optset sets[SETS])
{
    void *const base[SETS] = {c,           &c->carbon, &c->mail,    &c->notify,
                              &c->running, &c->report, &c->program, c};
    for (int i = 0; i < SETS; i++)
        sets[i] = (struct bj_optset){names[i].opts, base[i]};
}

void bj_statsdb_conf_free(struct bj_statsdb_conf *c)
{
    struct bj_optset sets[SETS];
    while (c->clusters > 0)
        cluster_free(&c->cluster[--c->clusters]);
    free(c->cluster);
    c->cluster = NULL;
    bj_targets_free(&c->notify);
    bind_sets(c, sets);
    for (int i = 0; i < SETS; i++)
        bj_opt_free(&sets[i]);
}

/* Refuse options in the file that only the command line accepts; the message
 * has their place. */
static int only_lasting(const char *path, struct bj_err *err)
{
    struct bj_statsdb_conf c = {.path = NULL};
    struct bj_optset sets[SETS];
    bind_sets(&c, sets);
    int r = path ? bj_opt_yaml(sets, FILE_SETS, path, err) : 0;
    bj_statsdb_conf_free(&c);
    return r;
}

int bj_statsdb_conf_load(struct bj_statsdb_conf *c, int argc, char **argv,
                         struct bj_err *err)
{
    struct bj_optset sets[SETS];
    bind_sets(c, sets);
    int r = bj_program_load(&c->program, sets, SETS, argc, argv, err);
    if (r < 0 || c->program.help || c->program.version)
        return r;
    r = only_lasting(c->program.file, err);
    if (r == 0 && (!c->path || !c->path[0]))
        r = bj_err_set(err, -EINVAL, "store.path: required");
    if (r == 0)
        r = bj_targets_load(&c->notify, err);
    return r < 0 ? r : load_clusters(c, err);
}

size_t bj_statsdb_conf_words(int *argc, char **argv, char **word)
{
    return bj_opt_words(names, SETS, NULL, argc, argv, word);
}

const struct bj_optset *bj_statsdb_conf_sets(enum bj_statsdb_place place,
                                             size_t *ret_n)
{
    static const struct bj_optset cluster[] = {{cluster_options, NULL},
                                               {bj_prom_opts, NULL}};
    static const struct bj_optset target[] = {{bj_target_opts, NULL}};
    switch (place) {
    case BJ_STATSDB_OPTIONS:
        *ret_n = FILE_SETS;
        return names;
    case BJ_STATSDB_COMMAND_LINE:
        *ret_n = SETS - FILE_SETS;
        return &names[FILE_SETS];
    case BJ_STATSDB_TARGET:
        *ret_n = 1;
        return target;
    case BJ_STATSDB_CLUSTER:
        break;
    }
    *ret_n = sizeof(cluster) / sizeof(cluster[0]);
    return cluster;
}

void bj_statsdb_conf_help(bool all, struct bj_buf *out)
{
    size_t n;
    const struct bj_optset *cluster =
        bj_statsdb_conf_sets(BJ_STATSDB_CLUSTER, &n);
    bj_opt_help_groups(names, FILE_SETS, all, out);
    bj_buf_str(out, "\nOn the command line only:\n");
    bj_opt_help(&names[FILE_SETS], out);
    bj_buf_str(out, "\nIn the YAML file of a cluster:\n");
    bj_opt_help_groups(cluster, n, all, out);
    bj_buf_str(out, "\nIn the YAML file of a target of notifications:\n");
    bj_opt_help(bj_statsdb_conf_sets(BJ_STATSDB_TARGET, &n), out);
    bj_buf_str(out, all ? "" : "\n--help=all shows all options.\n");
}
