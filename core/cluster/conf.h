/* Options of the cluster collector. */
#ifndef BJ_CORE_CLUSTER_CONF_H
#define BJ_CORE_CLUSTER_CONF_H

#include "base/opt.h"

#include <stdbool.h>

/* Owned by the options. */
struct bj_scheduler_conf {
    uint64_t period_usec;   /* between looks at queue and nodes */
    uint64_t slow_usec;     /* between looks at shares and limits */
    uint64_t timeout_usec;  /* of one command */
    struct bj_strv by;      /* what jobs and nodes are told by */
    struct bj_strv extra;   /* sources besides queue and nodes */
    bool by_set, extra_set; /* not by their presets */
    uint64_t max_series;    /* keys of one kind that get series of their own */
    struct bj_strv series;  /* "user=200": the same for what is told by it */
    bool each_job; /* figures of each job are wanted, too; no option: whoever
                      has a use for them sets it */
    uint64_t gpu_idle_cpus;
    char *constants; /* file of named numbers; empty: none */
    char *path;      /* where the commands are; empty: the usual places */
    char *prefix;    /* words in front of each; empty: none */
    struct bj_strv jobs, nodes; /* "partition=a": only these are told of */
    char *slurm_conf;           /* SLURM_CONF for them; empty: none */
    char *via; /* "text", "json", "rest": how the scheduler is asked */
    /* slurmrestd, as in sched/slurmrestd.h */
    char *rest_url, *rest_socket, *rest_user, *rest_token_file, *rest_ca_file;
    uint64_t rest_version;
};

/* Keys of one kind for what is told by a label: as the series option says, else
 * max_series. */
uint64_t bj_cluster_series(const struct bj_scheduler_conf *conf,
                           const char *label);

/* The option table; use with a struct bj_scheduler_conf as base. */
extern const struct bj_opt bj_cluster_opts[];

#endif
