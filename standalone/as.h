/* Command lines and environment variables of other exporters, converted to
 * options of batchjob_exporter. */
#ifndef BJ_STANDALONE_AS_H
#define BJ_STANDALONE_AS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"

struct bj_as;

/* The syntax of a program's flags. */
enum bj_as_syntax {
    BJ_AS_GO,      /* Go's flag: -x and --x alike, -x=false for a switch */
    BJ_AS_KINGPIN, /* kingpin: --x and --no-x */
    BJ_AS_ARGPARSE /* Python's argparse: --x or a prefix of it, and one-letter
                      -x */
};

/* A flag. */
struct bj_as_flag {
    const char *name; /* without dashes; ends with NULL */
    char letter;      /* also -x; '\0': none */
    const char *env;  /* environment variable for it; NULL: none */
    bool only_env;    /* it has no flag */
    bool is_switch;   /* it takes no value */
    /* Our arguments for it, separated by blanks, in which %s stands in for the
     * value. off: for a switch that is off. NULL: none. */
    const char *to, *off;
    /* Instead of to: adds arguments itself. */
    int (*take)(struct bj_as *as, const struct bj_as_flag *flag,
                const char *value, struct bj_err *err);
    /* the only supported value; of a switch, "true" or "false" */
    const char *only;
    const char *why; /* reason, for values other than only */
};

/* A program. */
struct bj_as_program {
    const char *const *names; /* of program and dialect; ends with NULL */
    enum bj_as_syntax syntax;
    const char *first; /* our arguments before all others */
    const struct bj_as_flag *flags;
    /* After the last flag; may be NULL. */
    int (*end)(struct bj_as *as, struct bj_err *err);
};
extern const struct bj_as_program *const bj_as_programs[]; /* ends with NULL */

/* A conversion in progress. */
struct bj_as {
    const struct bj_as_program *program;
    struct bj_strv argv; /* our arguments */
    uint64_t seen; /* bits of flags that were given, by index in the table */
    uint64_t on;   /* bits of switches that are on */
};

/* Add one argument, or each word of text as one.  value replaces a %s in it;
 * NULL: none is replaced.  -ENOMEM.  as_tables.c */
int bj_as_add(struct bj_as *as, const char *text, const char *value,
              struct bj_err *err);
int bj_as_add_words(struct bj_as *as, const char *text, const char *value,
                    struct bj_err *err);

/* The program to imitate: from a first argument "--as NAME" or "--as=NAME",
 * else from the name of the executable, without ".py". *ret_skip: number of
 * arguments used. NULL: none, this is batchjob_exporter. An unknown name after
 * --as is an error. */
int bj_as_find(int argc, char **argv, const struct bj_as_program **ret,
               int *ret_skip, struct bj_err *err);

/* Convert a command line and the environment; arguments after "--" are ours
 * already. Unknown flags and unsupported values are errors: -EINVAL with a
 * message. *help: the program's help was requested, ret is unusable. Free ret
 * with bj_as_free in any case. */
int bj_as_translate(const struct bj_as_program *p, int argc, char **argv,
                    struct bj_as *ret, bool *help, struct bj_err *err);
void bj_as_free(struct bj_as *as);

/* Append the program's flags and their conversions. */
void bj_as_help(const struct bj_as_program *p, struct bj_buf *out);

#endif
