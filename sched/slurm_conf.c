#include "sched/slurm_conf.h"

#include <stdlib.h>

int bj_slurm_conf_explain(int code, const char *path, const char *option,
                          struct bj_err *err)
{
    if (code != -EREMOTEIO || !err)
        return code;
    if (!path || !path[0])
        path = getenv("SLURM_CONF");
    if (path && path[0])
        return bj_err_set(err, code, "%.140s; SLURM_CONF is %.50s (option %s)",
                          err->msg, path, option);
    return bj_err_set(err, code, "%.170s; SLURM_CONF is not set (option %s)",
                      err->msg, option);
}
