/* How the scheduler's commands are run: words in front of them, and options
 * that let them tell of some jobs and nodes only.  Inside of core/cluster/. */
#ifndef BJ_CORE_CLUSTER_COMMAND_H
#define BJ_CORE_CLUSTER_COMMAND_H

#include "base/err.h"
#include "core/cluster/conf.h"
#include "core/model/cluster.h"

/* Zero-initialise; free with bj_cluster_command_free. */
struct bj_cluster_command {
    const struct bj_scheduler_conf *conf;
    struct bj_strv front;       /* words of cluster.command-prefix */
    struct bj_strv jobs, nodes; /* "--partition=a" of squeue, of sinfo */
};

enum { BJ_CLUSTER_WORDS = 64, BJ_CLUSTER_PROGRAM = 4096 };

/* A command line. */
struct bj_cluster_line {
    const char *argv[BJ_CLUSTER_WORDS];
    char program[BJ_CLUSTER_PROGRAM];
};

/* Take what the options say; conf must outlive it.  -EINVAL with a message. */
int bj_cluster_command_init(struct bj_cluster_command *c,
                            const struct bj_scheduler_conf *conf,
                            struct bj_err *err);
void bj_cluster_command_free(struct bj_cluster_command *c);

/* The line of a source's command, argv.  Where words are in front, what is to
 * be in its environment (NULL at the end) goes through env(1), as sudo and ssh
 * do not hand theirs on.  -E2BIG. */
int bj_cluster_command_line(const struct bj_cluster_command *c,
                            enum bj_cluster_source id, const char *const *argv,
                            const char *const *env, struct bj_cluster_line *ret,
                            struct bj_err *err);

#endif
