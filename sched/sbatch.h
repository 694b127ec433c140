/* The options of sbatch, salloc and srun that say how much a job requests, and
 * the names of the others.  Source: sbatch(1). */
#ifndef BJ_SCHED_SBATCH_H
#define BJ_SCHED_SBATCH_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

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

/* --- sbatch script ---*/

/* Batch scripts as `sacct -B -j LIST` prints them: which options their #SBATCH
 * lines have.
 *
 * Scripts are free text: one may contain the heading of another job.  A heading
 * of a job that was not requested is a line of the script; a job with two
 * headings is reported twice, and the caller requests it alone, where only the
 * first heading counts.
 *
 * Source: Slurm, src/sacct/options.c, src/sbatch/opt.c. */

enum {
    BJ_SCRIPT_LINE = 4096,   /* bytes; the rest of a line is left out */
    BJ_SCRIPT_OPTIONS = 2048 /* bytes of the text of options */
};

/* --- the reply of sacct ----------------------------------------------------
 */

struct bj_scripts {
    const char *const *id; /* the requested jobs, as sacct shows them */
    size_t ids;
    void *ctx;
    /* Receives each line of the script of id[which], numbered from 1.  cut: the
     * line was longer. */
    void (*line)(void *ctx, size_t which, unsigned number, struct bj_slice line,
                 bool cut);
    /* Private; zero at first. */
    struct bj_buf text, heading; /* the line being read; a possible heading */
    size_t which;                /* the job of the heading, or of the script */
    size_t of;
    unsigned number;
    bool inside, cut, waits;
};

/* Feed the next piece of the reply, cut anywhere.  false: no memory. */
bool bj_scripts_feed(struct bj_scripts *s, struct bj_slice piece);

/* The reply has ended: report the last line.  Frees the memory. */
void bj_scripts_end(struct bj_scripts *s);

/* --- options of #SBATCH lines ----------------------------------------------
 */

/* What the #SBATCH lines of a script request, each option after the number of
 * its line: "3 --mem=64G; 4 -n 2".  Only options that request amounts are kept
 * as they are written; of options that place tasks, and of unknown ones, only
 * the name.  "0 ?" means that more cannot be read. */
struct bj_script_options {
    char text[BJ_SCRIPT_OPTIONS];
    size_t n;
    bool ended; /* by a command: sbatch reads no further */
    bool more;  /* cannot be read */
};

/* Read a line of the script, numbered from 1. */
void bj_script_options_line(struct bj_script_options *o, unsigned number,
                            struct bj_slice line, bool cut);

/* The options as text; "none" if there are none. */
struct bj_slice bj_script_options_text(struct bj_script_options *o);

/* Cut the next option off such a text: the number of its line, and the option.
 * false: there is none. */
bool bj_script_options_next(struct bj_slice *rest, unsigned *ret_line,
                            struct bj_slice *ret_option);

#endif
