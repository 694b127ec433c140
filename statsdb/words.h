/* Positional arguments of a command line: commands, files, jobs. */
#ifndef BJ_STATSDB_WORDS_H
#define BJ_STATSDB_WORDS_H

#include "base/opt.h"

/* A short option: 'u', "--user". */
struct bj_letter {
    char letter; /* 0: the end of the table */
    char option[24];
};

/* Remove arguments that are neither options nor their values from a command
 * line; after "--" all of them. "-u" becomes "--user" by letters, which may be
 * NULL and must stay as long as argv. word has room for *argc + 1 pointers, and
 * gets a NULL after the last. argv keeps its program and its options, *argc
 * counts them. Returns the number of words. bj_opt_argv checks the options. */
size_t bj_words_cut(const struct bj_optset *sets, size_t n,
                    struct bj_letter *letters, int *argc, char **argv,
                    char **word);

#endif
