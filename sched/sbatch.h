/* The options of sbatch, salloc and srun that say how much a job requests, and
 * the names of the others.  Source: sbatch(1). */
#ifndef BJ_SCHED_SBATCH_H
#define BJ_SCHED_SBATCH_H

#include "base/slice.h"

#include <stdbool.h>

/* Options with an amount. */
#define BJ_SBATCH_AMOUNTS(X)                                                   \
    X(NODES)                                                                   \
    X(NTASKS)                                                                  \
    X(TASKS_NODE)                                                              \
    X(CPUS_TASK)                                                               \
    X(GRES)                                                                    \
    X(GPUS)                                                                    \
    X(GPUS_NODE)                                                               \
    X(GPUS_TASK)                                                               \
    X(CPUS_GPU)                                                                \
    X(MEM)                                                                     \
    X(MEM_CPU)                                                                 \
    X(MEM_GPU)                                                                 \
    X(TIME)                                                                    \
    X(TIME_MIN)                                                                \
    X(EXCLUSIVE)

enum bj_sbatch_opt {
#define BJ_SBATCH_ENUM(name) BJ_SBATCH_##name,
    BJ_SBATCH_AMOUNTS(BJ_SBATCH_ENUM)
#undef BJ_SBATCH_ENUM
        BJ_SBATCH_OPTS,
    BJ_SBATCH_SHAPE = BJ_SBATCH_OPTS, /* changes how CPUs, tasks or GPUs are
                                         placed */
    BJ_SBATCH_WRAP,
    BJ_SBATCH_HARMLESS
};

/* How an option takes its argument. */
enum bj_sbatch_arg {
    BJ_SBATCH_NONE,
    BJ_SBATCH_NEEDED,
    BJ_SBATCH_ATTACHED /* optional, only after "=" */
};

struct bj_sbatch_option {
    const char *name;
    char letter; /* 0: none */
    enum bj_sbatch_arg arg;
    enum bj_sbatch_opt opt;
};

/* NULL: unknown, such as an option of a plugin of the site. */
const struct bj_sbatch_option *bj_sbatch_by_name(struct bj_slice name);
const struct bj_sbatch_option *bj_sbatch_by_letter(char letter);

/* May the name be a short form of an option that is not harmless? */
bool bj_sbatch_abbreviates(struct bj_slice name);

/* The long name of the first option of this kind. */
const char *bj_sbatch_name(enum bj_sbatch_opt opt);

#endif
