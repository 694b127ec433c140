/* Options: one table feeds the command line, the YAML file, collectd's
 * <Plugin> block, --help and the manual. */
#ifndef BJ_BASE_OPT_H
#define BJ_BASE_OPT_H

#include "base/array.h"
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
                        empties the list, also of its preset.  With choices, or
                        a preset with commas, "a,b" adds two, and "+a" adds to
                        the preset */
};

enum { BJ_OPT_LIST_MAX = 1024 }; /* most strings in a list */

/* One option.  name is dotted and lower-case, as on the command line
 * ("path.procfs"); a BOOL is also set by --name and unset by --no-name. */
struct bj_opt {
    const char *name;
    enum bj_opt_kind kind;
    size_t off;          /* in the options structure */
    uint64_t lo, hi;     /* limits of U64, DURATION and SIZE; hi 0: none */
    const char *preset;  /* text of the default; NULL: none, zero, empty; LIST:
                            one or more, separated by commas */
    const char *arg;     /* name of the argument in --help */
    const char *help;    /* what it does, for --help and the manual */
    const char *more;    /* more for the manual: details, when to change it */
    bool rare;           /* only --help=all shows it */
    const char *bare;    /* STR: the value of "--name" without one; NULL: it
                            needs a value */
    const char *choices; /* STR, LIST: "a|b|c", the only values; NULL: any */
    /* STR, LIST: check a text that is not empty: 0, or -EINVAL with a message
     * that need not name the option.  NULL: any text. */
    int (*check)(const char *text, struct bj_err *err);
    size_t set_off; /* offset of a bool that becomes true when a source, not the
                       preset, sets the option; 0: none */
};

/* A set of options: several tables over one structure each. */
struct bj_optset {
    const struct bj_opt *opts; /* ends with name NULL */
    void *base;
};

/* How to use them: call bj_opt_presets for a zeroed structure, then read each
 * source, the one with the lowest precedence first (file, command line), then
 * call bj_opt_finish, and bj_opt_free at the end, also after a failure.  err
 * may be NULL in all calls. */

/* Set every option of the table to its preset, and every LIST to empty.  The
 * structure must be zeroed or filled by these calls. */
int bj_opt_presets(const struct bj_optset *set, struct bj_err *err);

/* Set the LISTs that no source has set to their presets. */
int bj_opt_finish(const struct bj_optset *set, struct bj_err *err);

/* Free the memory of the options; STR and LIST are then NULL and empty. */
void bj_opt_free(const struct bj_optset *set);

/* Write "; did you mean 'NAME'?" with the most similar name of an option or
 * section into buf, which is empty if none is similar.  Returns buf. */
enum { BJ_OPT_SUGGESTION = 128 };
const char *bj_opt_suggest(const struct bj_optset *sets, size_t n,
                           struct bj_slice name,
                           char buf[static BJ_OPT_SUGGESTION]);

/* Write "; did you mean 'NAME'?" with the most similar of some names into buf,
 * which is empty if none is similar.  at returns the i-th name, NULL behind the
 * last one.  Returns buf. */
const char *bj_suggest(struct bj_slice name,
                       const char *(*at)(const void *ctx, size_t i),
                       const void *ctx, char buf[static BJ_OPT_SUGGESTION]);

/* Write "'NAME' is unknown", and after it the suggestion of bj_suggest or, if
 * none is similar, all names.  Returns buf. */
const char *bj_suggest_or_list(struct bj_slice name,
                               const char *(*at)(const void *ctx, size_t i),
                               const void *ctx, char *buf, size_t cap);

/* Find an option by name among n sets.  Case, '.', '-' and '_' do not matter,
 * so that "PathProcfs" of a collectd file and "path.procfs" are the same.
 * NULL: none; ret_set may be NULL. */
const struct bj_opt *bj_opt_find(const struct bj_optset *sets, size_t n,
                                 struct bj_slice name,
                                 const struct bj_optset **ret_set);

/* Set one option from text.  The message names the option, the value and what
 * was expected.  -EINVAL unknown option or bad value, -ERANGE limits, -ENOMEM.
 * On failure the option keeps its value. */
int bj_opt_set(const struct bj_optset *sets, size_t n, struct bj_slice name,
               struct bj_slice value, struct bj_err *err);

/* Parse a command line, argv[0] being the program: "--name value" (the value
 * must not begin with two dashes), "--name=value"; for a BOOL "--name",
 * "--no-name", "--name=false".  The last one counts; a LIST collects all
 * values, which replace those of an earlier source.  Stops at the first error.
 * Arguments that are not options are errors too. */
int bj_opt_argv(const struct bj_optset *sets, size_t n, int argc, char **argv,
                struct bj_err *err);

/* Read a YAML file of at most 1 MiB: one mapping, nested keys are joined by
 * '.', sequences set a LIST several times and replace that of an earlier
 * source.  The message begins "FILE:LINE:COLUMN: " and names the key.  Unknown
 * keys, keys that come twice, keys without a value, anchors, aliases, tags and
 * second documents are errors (-EINVAL); an empty file and a section without a
 * value are not. */
int bj_opt_yaml(const struct bj_optset *sets, size_t n, const char *path,
                struct bj_err *err);

/* As bj_opt_yaml, for YAML in memory; name is the file name in messages. */
int bj_opt_yaml_text(const struct bj_optset *sets, size_t n, const char *name,
                     struct bj_slice text, struct bj_err *err);

/* Append the text of --help for one set: a line and its sentence for each
 * option, at most 80 columns wide. */
void bj_opt_help(const struct bj_optset *set, struct bj_buf *out);

/* As bj_opt_help, for n sets, with a heading for each group; rare options only
 * if all is set. */
void bj_opt_help_groups(const struct bj_optset *sets, size_t n, bool all,
                        struct bj_buf *out);

/* Call fn for each option, group by group.  A group is the word before the
 * first dot of the name; options without a dot, and groups of one, are in group
 * "general", the last one. */
typedef void bj_opt_fn(void *ctx, struct bj_slice group,
                       const struct bj_opt *opt);
void bj_opt_walk(const struct bj_optset *sets, size_t n, bj_opt_fn *fn,
                 void *ctx);

/* A short option: 'u', "--user". */
struct bj_opt_letter {
    char letter; /* 0: the end of the table */
    char option[24];
};

/* Move the positional arguments, such as commands, files and jobs (all
 * arguments after "--") from argv to word. argv keeps the name of the program
 * and the options, and *argc their number. word must have room for *argc + 1
 * pointers; a NULL follows the last one. letters (may be NULL) replaces short
 * options, "-u" by "--user"; it must stay as long as argv. Returns the number
 * of words. bj_opt_argv checks the options.
 */
size_t bj_opt_words(const struct bj_optset *sets, size_t n,
                    struct bj_opt_letter *letters, int *argc, char **argv,
                    char **word);

#endif
