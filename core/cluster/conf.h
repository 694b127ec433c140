/* Options of the cluster collector. */
#ifndef BJ_CORE_CLUSTER_CONF_H
#define BJ_CORE_CLUSTER_CONF_H

#include "base/opt.h"

#include <stdbool.h>

/* Owned by the options. */
struct bj_scheduler_conf {
    uint64_t period_usec;   /* between queries of queue and nodes */
    uint64_t slow_usec;     /* between queries of shares and limits */
    uint64_t timeout_usec;  /* of one query */
    struct bj_strv by;      /* labels to count jobs and nodes by */
    struct bj_strv extra;   /* sources in addition to queue and nodes */
    bool by_set, extra_set; /* set by the configuration */
    uint64_t max_series;    /* series of one kind */
    bool each_job; /* also collect each job; not an option, set by the host */
    uint64_t gpu_idle_cpus;
    char *constants; /* file of site constants; empty: none */
    char *path;      /* directories of the commands; empty: the usual ones */
    char *prefix;    /* words before each command; empty: none */
    struct bj_strv commands;    /* "queue=cat FILE": run instead of Slurm's */
    struct bj_strv jobs, nodes; /* "partition=a": select only these */
    char *slurm_conf;           /* SLURM_CONF for the commands; empty: none */
    char *via; /* "text", "json", "rest", "pbs": how to query */
    /* slurmrestd, as in sched/slurmrestd.h */
    char *rest_url, *rest_socket, *rest_user, *rest_token_file, *rest_ca_file;
    uint64_t rest_version;
};

/* The option table; use with a struct bj_scheduler_conf as base. */
extern const struct bj_opt bj_cluster_opts[];

#endif
