/* Starting a command (the part of base/command.c that runs in the new
 * processes); nobody else needs it. */
#ifndef BJ_BASE_COMMAND_CHILD_H
#define BJ_BASE_COMMAND_CHILD_H

#include <sys/types.h>

/* What to start: all made before the fork. */
struct bj_command_child {
    const char *program; /* absolute */
    const char *const *argv;
    char **env;
    const char *dir;
};

/* How it went, sent in one piece.  The first one counts. */
struct bj_command_report {
    int dir_errno;  /* no change to the directory; 0: done */
    int exec_errno; /* no start; 0: started */
    int status;     /* as waitpid(2) has it */
};

/* Our side of what was started; the caller closes all, and kills the group and
 * waits for runner in the end. */
struct bj_command_ends {
    pid_t runner;       /* leads the group, and lives until it is killed or the
                           leash is closed */
    int out, complaint; /* standard output and error, non-blocking */
    int report;         /* a struct bj_command_report, then the end */
    int leash;
};

/* Start it.  -errno of pipe2(2), open(2) or fork(2): nothing is left then. */
int bj_command_start(const struct bj_command_child *plan,
                     struct bj_command_ends *ret);

/* An environment: PATH, LC_ALL=C and TZ (NULL: UTC), as far as more does not
 * set them, and more (may be NULL).  One block, to be freed; NULL: no memory.
 */
char **bj_command_env(const char *path, const char *tz,
                      const char *const *more);

#endif
