/* Positional arguments of a command line: commands, files, jobs. */
#ifndef BJ_STATSDB_TABLES_WORDS_H
#define BJ_STATSDB_TABLES_WORDS_H

#include "base/opt.h"

/* A short option: 'u', "--user". */
struct bj_letter {
    char letter; /* 0: the end of the table */
    char option[24];
};

/* Move the positional arguments (all arguments after "--") from argv to word.
 * argv keeps the name of the program and the options, and *argc their number.
 * word must have room for *argc + 1 pointers; a NULL follows the last one.
 * letters (may be NULL) replaces short options, "-u" by "--user"; it must stay
 * as long as argv. Returns the number of words. bj_opt_argv checks the options.
 */
size_t bj_words_cut(const struct bj_optset *sets, size_t n,
                    struct bj_letter *letters, int *argc, char **argv,
                    char **word);

#endif
