/* Running the commands of others: squeue, sacct, qstat, ipmi-dcmi.
 *
 * No shell.  A command gets a clean environment, /dev/null as standard input, a
 * session and process group of its own, default signals and none of our
 * descriptors.  It and what it started is killed at its deadline, when it has
 * ended, and when the calling thread dies.  Works in any thread of any host,
 * also where SIGCHLD is ignored, as in collectd, or is waited for by somebody
 * else: its status comes through a pipe. */
#ifndef BJ_BASE_COMMAND_H
#define BJ_BASE_COMMAND_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where programs are looked for. */
#define BJ_COMMAND_PATH                                                        \
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* What to run.  Only argv must be set; everything stays the caller's and must
 * live during the call.  0 and NULL stand for the value in brackets. */
struct bj_command {
    const char *const *argv; /* NULL at the end; argv[0] is a name that is
                                looked for in path, or has a slash in it */
    const char *path;        /* directories, ':' between; also the command's
                                PATH [BJ_COMMAND_PATH] */
    const char *const *env;  /* "NAME=value", NULL at the end, besides PATH,
                                LC_ALL=C and TZ [none] */
    const char *tz;          /* TZ of the command [UTC] */
    const char *dir;         /* where it runs [/] */

    uint64_t deadline_usec; /* then SIGTERM goes to its group [30 s] */
    uint64_t grace_usec;    /* after that, SIGKILL [2 s] */
    size_t max_bytes;       /* of standard output [64 MiB; with a sink: any] */

    /* Where standard output goes, piece by piece [result's out].  A negative
     * return kills the command and becomes the result; err is then to be filled
     * in. */
    int (*sink)(void *ctx, struct bj_slice piece, struct bj_err *err);
    void *ctx;

    /* Set by another thread, kills the command within 200 ms [never]. */
    const atomic_bool *abort;
};

enum { BJ_COMMAND_COMPLAINT = 2048 };

/* How it went.  Zero-initialise, use as often as wanted, free in the end with
 * bj_command_result_free. */
struct bj_command_result {
    int exit;          /* exit code; -1: did not run, or ended by a signal */
    int signal;        /* that ended it; 0: none */
    struct bj_buf out; /* standard output, when there is no sink */
    char complaint[BJ_COMMAND_COMPLAINT]; /* the first of standard error, raw,
                                             terminated */
    size_t complaint_len;
    uint64_t took_usec;
};

void bj_command_result_free(struct bj_command_result *res);

/* Run it and wait for its end; 0 when it exits with code 0.  Output of anything
 * it started that is still running then is lost.  The message begins with the
 * program's name and has the first line of its complaint, cleaned:
 *   "squeue: exit code 1: slurm_load_jobs error: Unable to contact ..."
 *   -ENOENT     no such program       -EACCES  it cannot be executed
 *   -ENOEXEC    neither a program nor a script with an interpreter
 *   -ETIMEDOUT  killed at its deadline
 *   -EFBIG      more than max_bytes; out has the first max_bytes
 *   -ECANCELED  killed by the abort flag
 *   -EREMOTEIO  another exit code, or a signal: see res
 *   the sink's own; -EINVAL (no argv), -ENOMEM, -EMFILE, -EAGAIN (no process)
 * -ENOENT is a fault of the host here, not a job that has gone. */
int bj_command_run(const struct bj_command *cmd, struct bj_command_result *res,
                   struct bj_err *err);

/* Look for a program the way bj_command_run does; the absolute (or given) name
 * goes into buf (cap bytes).  -ENOENT, -EACCES, -ENAMETOOLONG. */
int bj_command_find(const char *name, const char *path, char *buf, size_t cap,
                    struct bj_err *err);

#endif
