/* Command lines and environment of the exporters that we stand in for: their
 * own flags, turned into our options. */
#ifndef BJ_STANDALONE_AS_H
#define BJ_STANDALONE_AS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"

struct bj_as;

/* How a program spells its flags. */
enum bj_as_style {
    BJ_AS_GO,      /* Go's flag: -x and --x alike, -x=false for a switch */
    BJ_AS_KINGPIN, /* kingpin: --x and --no-x */
    BJ_AS_ARGPARSE /* Python's argparse: --x, whose end may be left out, and -x
                      of one letter */
};

/* One of its flags. */
struct bj_as_flag {
    const char *name; /* without dashes; ends with NULL */
    char letter;      /* -x, besides; '\0': none */
    const char *env;  /* variable that it is set by as well; NULL: none */
    bool only_env;    /* and by nothing else */
    bool is_switch;   /* it takes no value */
    /* What it becomes: arguments of ours, blanks between, in which %s stands
     * for the value.  off is for a switch that is not on.  NULL: nothing. */
    const char *to, *off;
    /* Instead of to: adds arguments by itself. */
    int (*take)(struct bj_as *as, const struct bj_as_flag *flag,
                const char *value, struct bj_err *err);
    const char *only; /* the only value that it may have, as we know no other;
                         of a switch, "true" or "false" */
    const char *why;  /* where only is not what was given */
};

/* A program. */
struct bj_as_program {
    const char *const *names; /* of the program and of us; ends with NULL */
    enum bj_as_style style;
    const char *first; /* arguments of ours that go before all others */
    const struct bj_as_flag *flags;
    /* When all flags were seen; may be NULL. */
    int (*end)(struct bj_as *as, struct bj_err *err);
};
extern const struct bj_as_program *const bj_as_programs[]; /* ends with NULL */

/* A translation under way. */
struct bj_as {
    const struct bj_as_program *program;
    struct bj_strv argv; /* ours */
    uint64_t seen; /* flags that were given, by their place in the table */
    uint64_t on;   /* switches that are on */
};

/* Add one argument, or each word of text as one.  value replaces a %s in it;
 * NULL: none is replaced.  -ENOMEM.  as_tables.c */
int bj_as_add(struct bj_as *as, const char *text, const char *value,
              struct bj_err *err);
int bj_as_add_words(struct bj_as *as, const char *text, const char *value,
                    struct bj_err *err);

/* The program that we are called as: by "--as NAME" or "--as=NAME" in front, or
 * by the name of the file that was started, an ".py" at its end left out.
 * *ret_skip is how many arguments told that.  NULL when it is ourselves; an
 * unknown name of --as is an error. */
int bj_as_find(int argc, char **argv, const struct bj_as_program **ret,
               int *ret_skip, struct bj_err *err);

/* Turn a command line into ours: its flags, and the variables of the
 * environment behind them; what stands behind "--" is ours already.  Flags that
 * the program does not have are errors, and so are values that we cannot do:
 * -EINVAL with a message.  *help is set when the program was asked for its help
 * (and its result is then of no use).  Free ret with bj_as_free in any case. */
int bj_as_translate(const struct bj_as_program *p, int argc, char **argv,
                    struct bj_as *ret, bool *help, struct bj_err *err);
void bj_as_free(struct bj_as *as);

/* Append what the program's flags become. */
void bj_as_help(const struct bj_as_program *p, struct bj_buf *out);

#endif
