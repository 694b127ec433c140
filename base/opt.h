/* Options: one table feeds the command line, the YAML file, collectd's
 * <Plugin> block, --help and the manual. */
#ifndef BJ_BASE_OPT_H
#define BJ_BASE_OPT_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum bj_opt_kind {
    BJ_OPT_BOOL,     /* bool; true/false, yes/no, on/off, 1/0 */
    BJ_OPT_U64,      /* uint64_t, between lo and hi */
    BJ_OPT_DURATION, /* uint64_t microseconds; "250ms", "15s", "2m", "1h",
                        "1d", a plain number is seconds ("0.5" too) */
    BJ_OPT_SIZE,     /* uint64_t bytes; "64K", "16M", "1G" (powers of 1024) */
    BJ_OPT_STR,      /* char *, owned by the options */
    BJ_OPT_LIST,     /* struct bj_strv, each setting adds one; an empty value
                        empties the list and keeps its preset away */
};

enum { BJ_OPT_LIST_MAX = 1024 }; /* strings in a list, at most */

/* A list of strings, owned. */
struct bj_strv {
    char **v;
    size_t n;
};

/* One option.  name is dotted and lower-case, as on the command line
 * ("path.procfs"); a BOOL is also set by --name and unset by --no-name. */
struct bj_opt {
    const char *name;
    enum bj_opt_kind kind;
    size_t off;          /* where in the options structure */
    uint64_t lo, hi;     /* limits of U64, DURATION and SIZE; hi 0: none */
    const char *preset;  /* text of the default; NULL: none, zero, empty;
                            LIST: one or more, separated by commas */
    const char *arg;     /* name of the argument in --help */
    const char *help;    /* what it does, for --help and the manual */
    const char *more;    /* more for the manual: details, when to change it */
    bool rare;           /* only --help=all shows it */
    const char *bare;    /* STR: the value of "--name" without one; NULL: it
                            needs a value */
    const char *choices; /* STR, LIST: "a|b|c", the only values; NULL: any */
    /* STR, LIST: what is wrong with a text that is not empty, or 0; -EINVAL
     * with a message in which the option needs no mention.  NULL: any text. */
    int (*check)(const char *text, struct bj_err *err);
    size_t set_off; /* where a bool is that becomes true when a source, not
                       the preset, sets the option; 0: nowhere */
};

/* A set of options: several tables over one structure each. */
struct bj_optset {
    const struct bj_opt *opts; /* ends with name NULL */
    void *base;
};

/* The way of a host: bj_opt_presets on a zeroed structure, then its sources,
 * the weakest first (file, command line), then bj_opt_finish, in the end
 * bj_opt_free.  Any of them may fail half-way: bj_opt_free is then still right.
 * err may be NULL in all calls. */

/* Set every option of the table to its preset, and every LIST to none. The
 * structure must be zeroed or filled by these calls. */
int bj_opt_presets(const struct bj_optset *set, struct bj_err *err);

/* Give the LISTs that no source has set their presets. */
int bj_opt_finish(const struct bj_optset *set, struct bj_err *err);

/* Free what the options own; STR and LIST are then NULL and empty. */
void bj_opt_free(const struct bj_optset *set);

/* Find an option by name among n sets.  Names are compared without case and
 * without '.', '-' and '_', so that "PathProcfs" of a collectd file and
 * "path.procfs" are one.  NULL when there is none; ret_set may be NULL. */
const struct bj_opt *bj_opt_find(const struct bj_optset *sets, size_t n,
                                 struct bj_slice name,
                                 const struct bj_optset **ret_set);

/* Set one option from text.  The message names the option, the value and what
 * was expected.  -EINVAL unknown option or bad value, -ERANGE limits,
 * -ENOMEM.  The option keeps its value when it fails. */
int bj_opt_set(const struct bj_optset *sets, size_t n, struct bj_slice name,
               struct bj_slice value, struct bj_err *err);

/* Parse a command line, argv[0] being the program: "--name value" (the value
 * must not begin with two dashes), "--name=value"; for a BOOL "--name",
 * "--no-name", "--name=false".  The last one wins, but a LIST takes all, and
 * they replace what a source before this one put there.  Stops at the first
 * error.  Arguments that are no options are errors too. */
int bj_opt_argv(const struct bj_optset *sets, size_t n, int argc, char **argv,
                struct bj_err *err);

/* Read a YAML file of at most 1 MiB: one mapping, nested keys are joined by
 * '.', sequences set a LIST several times and replace what a source before put
 * there.  The message begins "FILE:LINE:COLUMN: " and names the key.  Unknown
 * keys, keys that come twice, keys without a value, anchors, aliases, tags and
 * second documents are errors (-EINVAL); an empty file and a
 * section without a value are not. */
int bj_opt_yaml(const struct bj_optset *sets, size_t n, const char *path,
                struct bj_err *err);

/* The same for YAML in memory; name stands for the file in messages. */
int bj_opt_yaml_text(const struct bj_optset *sets, size_t n, const char *name,
                     struct bj_slice text, struct bj_err *err);

/* Append the text of --help for one set: a line and its sentence for each
 * option, at most 80 columns wide. */
void bj_opt_help(const struct bj_optset *set, struct bj_buf *out);

/* The same for n sets, under a heading for each group; rare options only with
 * all. */
void bj_opt_help_groups(const struct bj_optset *sets, size_t n, bool all,
                        struct bj_buf *out);

/* Call fn for each option, group by group.  A group is the word before the
 * first dot of the name; options without a dot, and groups of one, are in group
 * "general", the last one. */
typedef void bj_opt_fn(void *ctx, struct bj_slice group,
                       const struct bj_opt *opt);
void bj_opt_walk(const struct bj_optset *sets, size_t n, bj_opt_fn *fn,
                 void *ctx);

#endif
