/* Running other programs: squeue, sacct, qstat, ipmi-dcmi.
 *
 * No shell.  A command gets a clean environment, /dev/null or a text as input,
 * its own session and process group, default signals and no other descriptors.
 * It and its children are killed at its deadline, when it has ended (unless
 * leave_children is set), and when the calling thread ends. Works in any thread
 * of any program, even one that ignores SIGCHLD, as collectd, or handles it
 * elsewhere: the exit status arrives through a pipe. */
#ifndef BJ_BASE_COMMAND_H
#define BJ_BASE_COMMAND_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where programs are searched. */
#define BJ_COMMAND_PATH                                                        \
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* What to run.  Only argv is required; the caller keeps everything, which must
 * live during the call.  0 and NULL mean the default in brackets. */
struct bj_command {
    const char *const *argv; /* NULL at the end; argv[0] is a name to search in
                                path, or contains a slash */
    const char *path; /* directories, separated by ':'; also the command's PATH
                         [BJ_COMMAND_PATH] */
    const char *const *env; /* "NAME=value", NULL at the end, in addition to
                               PATH, LC_ALL=C, TZ and variables of the
                               schedulers, such as SLURM_CONF [none] */
    const char *tz;         /* TZ of the command [UTC] */
    const char *dir;        /* working directory [/] */
    struct bj_slice input;  /* standard input [/dev/null] */
    bool leave_children; /* leave them running after its exit: sendmail delivers
                            in the background [they are killed] */

    uint64_t deadline_usec; /* until SIGTERM to its group [30 s] */
    uint64_t grace_usec;    /* from then to SIGKILL [2 s] */
    size_t max_bytes; /* of standard output [64 MiB; with a sink: no limit] */

    /* Receives standard output, piece by piece [the result's out].  A negative
     * return kills the command and becomes the result; it must fill in err. */
    int (*sink)(void *ctx, struct bj_slice piece, struct bj_err *err);
    void *ctx;

    /* When another thread sets it, the command is killed within 200 ms [never].
     */
    const atomic_bool *abort;
};

enum { BJ_COMMAND_ERROR_OUTPUT = 2048 };

/* The result.  Zero-initialise, use any number of times, free with
 * bj_command_result_free. */
struct bj_command_result {
    int exit;          /* exit code; -1: did not run, or a signal ended it */
    int signal;        /* that terminated it; 0: none */
    struct bj_buf out; /* standard output, without a sink */
    char error_output[BJ_COMMAND_ERROR_OUTPUT]; /* first part of standard error,
                                             raw, terminated */
    size_t error_output_len;
    uint64_t took_usec;
};

void bj_command_result_free(struct bj_command_result *res);

/* Run it and wait for its end; 0 when it exits with code 0.  Output that
 * children write later is lost.  The message begins with the program's name and
 * contains the first line of its standard error, cleaned:
 *   "squeue: exit code 1: slurm_load_jobs error: Unable to contact ..."
 *   -ENOENT     program not found     -EACCES  it is not executable
 *   -ENOEXEC    neither a program nor a script with an interpreter
 *   -ETIMEDOUT  killed at its deadline
 *   -EFBIG      more than max_bytes; out has the first max_bytes
 *   -ECANCELED  killed by the abort flag
 *   -EREMOTEIO  another exit code, or a signal: see res
 *   the sink's own; -EINVAL (no argv), -ENOMEM, -EMFILE, -EAGAIN (no process)
 * Here -ENOENT is a fault of the host, not a job that has ended. */
int bj_command_run(const struct bj_command *cmd, struct bj_command_result *res,
                   struct bj_err *err);

/* Search a program as bj_command_run does; its absolute (or given) name goes
 * into buf (cap bytes).  -ENOENT, -EACCES, -ENAMETOOLONG. */
int bj_command_find(const char *name, const char *path, char *buf, size_t cap,
                    struct bj_err *err);

#endif
