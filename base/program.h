/* What the programs have in common: a log, a file of options beside the command
 * line, --help and --version. */
#ifndef BJ_BASE_PROGRAM_H
#define BJ_BASE_PROGRAM_H

#include "base/opt.h"

#include <stdbool.h>

struct bj_program {
    char *log_level, *log_format;
    /* only on the command line */
    char *file;
    bool version;
    char *help; /* "short", "all"; NULL: not given */
};

/* Their option table; use with a struct bj_program as base. */
extern const struct bj_opt bj_program_opts[];

/* Fill what n sets describe, p's own among them, from all sources: presets,
 * then the YAML file of --config.file, then the command line.  With help or
 * version given the file is not looked at.  What the sets held before is freed;
 * zeroed structures are fine.  0, or -errno with a message that names the
 * option, or file and line; bj_opt_free of the sets is right in any case. */
int bj_program_load(struct bj_program *p, const struct bj_optset *sets,
                    size_t n, int argc, char **argv, struct bj_err *err);

/* Set up the log as the options say (base/log.h). */
void bj_program_log(const struct bj_program *p);

/* At the start of a daemon with one thread that matters: */

/* Blocks of this size and more go back to the kernel when they are freed, for
 * good: otherwise malloc would learn to keep them. */
void bj_program_malloc(size_t big_bytes);

/* Take all file descriptors that the limits allow. */
void bj_program_files(void);

/* SIGTERM, SIGINT and SIGHUP come through a descriptor (signalfd(2), not
 * blocking) from now on, and SIGPIPE is ignored.  The descriptor or -errno. */
int bj_program_signals(struct bj_err *err);

#endif
