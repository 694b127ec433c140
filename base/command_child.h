/* Starting a command: the part of base/command.c that runs in the new
 * processes. Private to it. */
#ifndef BJ_BASE_COMMAND_CHILD_H
#define BJ_BASE_COMMAND_CHILD_H

#include "base/slice.h"

#include <sys/types.h>

/* The command to start, prepared before the fork. */
struct bj_command_child {
    const char *program; /* absolute */
    const char *const *argv;
    char **env;
    const char *dir;
    struct bj_slice input; /* p NULL: /dev/null */
};

/* The result, written in one piece; the first one that arrives counts. */
struct bj_command_report {
    int dir_errno;  /* of chdir(2); 0: done */
    int exec_errno; /* of execve(2); 0: started */
    int status;     /* of waitpid(2) */
};

/* The host's side of the processes.  The caller closes all, kills the group and
 * waits for runner in the end. */
struct bj_command_ends {
    pid_t runner; /* leads the group; lives until it is killed or hold is closed
                   */
    int out, error_output; /* standard output and error, non-blocking */
    int report;            /* a struct bj_command_report, then the end */
    int hold;
};

/* Start it.  -errno of pipe2(2), open(2) or fork(2); nothing is left to close
 * or wait for then. */
int bj_command_start(const struct bj_command_child *plan,
                     struct bj_command_ends *ret);

/* An environment of PATH, LC_ALL=C, TZ (NULL: UTC) and the variables of the
 * schedulers that this program has (SLURM_CONF, ...), unless more sets them,
 * and more (may be NULL).  One block for free(3); NULL: no memory. */
char **bj_command_env(const char *path, const char *tz,
                      const char *const *more);

#endif
