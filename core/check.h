/* Before a start: do the files, directories and commands that the options of
 * the core name exist, and may this process use them?  For check-config. */
#ifndef BJ_CORE_CHECK_H
#define BJ_CORE_CHECK_H

#include "core/conf.h"

/* An option that names a file or directory. */
struct bj_check_path {
    const char *option;
    int mode;  /* of access(2) */
    bool made; /* the process makes the file: its directory counts */
};

/* Check n paths among the options of some sets; problem is called for each that
 * cannot be used.  0 or -EINVAL. */
typedef void bj_check_problem(void *ctx, const struct bj_err *err);
int bj_check_paths(const struct bj_check_path *paths, size_t n,
                   const struct bj_optset *sets, size_t nsets,
                   bj_check_problem *problem, void *ctx);

/* Check all options of the core: bj_core_check, paths, energy.command. */
int bj_check_core(struct bj_conf *conf, bj_check_problem *problem, void *ctx);

#endif
