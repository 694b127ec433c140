/* The slurm.conf that commands of Slurm use. */
#ifndef BJ_SCHED_SLURM_CONF_H
#define BJ_SCHED_SLURM_CONF_H

#include "base/err.h"

/* Append to the error of a command of Slurm which SLURM_CONF it had: path (NULL
 * or empty: that of this program), and the option that sets it.  Returns code;
 * other codes than -EREMOTEIO, the command's own failures, stay as they are. */
int bj_slurm_conf_explain(int code, const char *path, const char *option,
                          struct bj_err *err);

#endif
