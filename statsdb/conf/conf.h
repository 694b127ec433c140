/* Configuration of batchjob_stats_db: one file for the program, and one for
 * each cluster, both YAML. */
#ifndef BJ_STATSDB_CONF_CONF_H
#define BJ_STATSDB_CONF_CONF_H

#include "base/program.h"
#include "carbon/conf.h"
#include "statsdb/conf/mail_conf.h"
#include "statsdb/conf/notify_conf.h"
#include "statsdb/conf/report_conf.h"
#include "statsdb/conf/running_conf.h"
#include "statsdb/prom/prom.h"

#include <stdbool.h>

/* Sources that are read regularly: commands that report all jobs at once, and
 * files that are followed. */
enum bj_snapshot_kind {
    BJ_SNAPSHOT_QSTAT,
    BJ_SNAPSHOT_BJOBS,
    BJ_SNAPSHOT_COMMANDS, /* the sources above are commands */
    BJ_SNAPSHOT_PBS_FILES = BJ_SNAPSHOT_COMMANDS,
    BJ_SNAPSHOT_LSF_FILES,
    BJ_SNAPSHOTS
};

struct bj_snapshot_conf {
    char *command; /* or directory, or file; NULL or empty: not used */
    uint64_t interval_usec;
};

/* slurmrestd, used instead of sacct if it has a url or a socket. */
struct bj_rest_conf {
    char *url, *socket, *user, *token_file, *ca_file;
    uint64_t version; /* 0: the newest available */
};

/* Slurm's database, used instead of sacct if a database is named. */
struct bj_mariadb_conf {
    char *host, *socket, *user, *password_file, *database, *ca_file;
    uint64_t port;
};

/* A cluster, configured in its own file. */
struct bj_cluster_conf {
    char *name;
    struct bj_snapshot_conf snapshot[BJ_SNAPSHOTS];
    struct bj_rest_conf rest;
    struct bj_mariadb_conf mariadb;
    char *sacct, *slurm_conf, *clusters;
    bool federation;
    bool scripts;           /* read batch scripts */
    uint64_t interval_usec; /* between two imports of new jobs */
    uint64_t overlap_usec;
    uint64_t slice_usec;    /* longest period of a request */
    uint64_t pause_usec;    /* minimum between two requests */
    uint64_t timeout_usec;  /* of a request */
    uint64_t history_usec;  /* how far back jobs are imported */
    struct bj_strv records; /* directories with final records of nodes */
    struct bj_prom_conf prom;
    struct bj_strv pue; /* statsdb/derive/factors.h */
};

/* Final records that nodes send: statsdb/record/receiver.h. */
struct bj_receiver_conf {
    struct bj_strv listen; /* empty: no records are received */
    char *web_file, *token_file;
    uint64_t connections;
};

/* Records of jobs that slurmctld sends: statsdb/source/source_jobcomp.h. */
struct bj_jobcomp_conf {
    struct bj_strv listen; /* empty: none are received */
    struct bj_strv from;   /* addresses of other hosts that may send */
    char *user;            /* of programs of this host that may send */
    char *web_file;
};

struct bj_statsdb_conf {
    char *path; /* of the store */
    uint64_t cache_bytes, max_bytes, batch_lines;
    bool any_filesystem, check;
    uint64_t retention_usec; /* 0: forever */
    struct bj_strv cluster_files;
    char *metrics_file; /* NULL or empty: none */
    struct bj_strv listen;
    char *web_file; /* NULL or empty: none */
    struct bj_receiver_conf receiver;
    struct bj_jobcomp_conf jobcomp;
    bool record_check_hosts; /* use only records of hosts that accounting has */
    bool findings;
    char *application_file; /* NULL or empty: only the built-in table */
    char *findings_file;    /* NULL or empty: only the built-in rules */
    uint64_t findings_history_usec;
    struct bj_carbon_conf carbon;
    struct bj_mail_conf mail;
    struct bj_notify_conf notify;
    struct bj_running_conf running;
    struct bj_report_conf report;
    struct bj_program program;
    /* only on the command line */
    char *since, *until, *format, *import_cluster;
    char *copy_from, *copy_to, *copy_proof;
    bool once, dry_run, online, copy_update;

    struct bj_cluster_conf *cluster;
    size_t clusters;
};

/* Does the cluster use slurmrestd, Slurm's database, or any source with time
 * windows? */
bool bj_cluster_has_rest(const struct bj_cluster_conf *c);
bool bj_cluster_has_mariadb(const struct bj_cluster_conf *c);
bool bj_cluster_has_windows(const struct bj_cluster_conf *c);

/* Fill a zeroed conf from defaults, then the file of --config.file, then the
 * command line (argv without the name of the program and the command), then the
 * files of the clusters. With --help or --version, nothing else is read. Error
 * messages contain the option, or file, line and column. Free conf with
 * bj_statsdb_conf_free, also after an error. */
int bj_statsdb_conf_load(struct bj_statsdb_conf *conf, int argc, char **argv,
                         struct bj_err *err);
void bj_statsdb_conf_free(struct bj_statsdb_conf *conf);

/* Remove words from a command line: bj_opt_words. */
size_t bj_statsdb_conf_words(int *argc, char **argv, char **word);

/* The option tables: of the program's file and command line, of the command
 * line only, of the file of a cluster, and of that of a target of
 * notifications. They have no base. */
enum bj_statsdb_place {
    BJ_STATSDB_OPTIONS,
    BJ_STATSDB_COMMAND_LINE,
    BJ_STATSDB_CLUSTER,
    BJ_STATSDB_TARGET
};
const struct bj_optset *bj_statsdb_conf_sets(enum bj_statsdb_place place,
                                             size_t *ret_n);

/* Append the options for --help, rare ones only with all. */
void bj_statsdb_conf_help(bool all, struct bj_buf *out);

/* Options of struct bj_statsdb_conf that only the command line accepts. */
extern const struct bj_opt bj_command_opts[];

#endif
