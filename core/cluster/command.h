/* Command lines of the scheduler: prefix words, and options that select jobs
 * and nodes. Private to core/cluster/. */
#ifndef BJ_CORE_CLUSTER_COMMAND_H
#define BJ_CORE_CLUSTER_COMMAND_H

#include "base/err.h"
#include "core/cluster/conf.h"
#include "core/model/cluster.h"

enum { BJ_CLUSTER_WORDS = 64, BJ_CLUSTER_PROGRAM = 4096 };

/* A command line. */
struct bj_cluster_line {
    const char *argv[BJ_CLUSTER_WORDS];
    char program[BJ_CLUSTER_PROGRAM];
};

/* Zero-initialise; free with bj_cluster_command_free. */
struct bj_cluster_command {
    const struct bj_scheduler_conf *conf;
    struct bj_strv front;       /* words of cluster.command-prefix */
    struct bj_strv jobs, nodes; /* "--partition=a" of squeue, of sinfo */
    struct bj_cluster_line *own[BJ_CLUSTER_SOURCES]; /* cluster.command */
};

/* Initialise it with the options of conf, which must outlive it. -EINVAL with a
 * message. */
int bj_cluster_command_init(struct bj_cluster_command *c,
                            const struct bj_scheduler_conf *conf,
                            struct bj_err *err);
void bj_cluster_command_free(struct bj_cluster_command *c);

/* Make the command line for a source: argv, or the site's own command. With a
 * command prefix, env (NULL-terminated) is passed through env(1), since sudo
 * and ssh drop variables. -E2BIG. */
int bj_cluster_command_line(const struct bj_cluster_command *c,
                            enum bj_cluster_source id, const char *const *argv,
                            const char *const *env, struct bj_cluster_line *ret,
                            struct bj_err *err);

#endif
