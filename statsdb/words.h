/* Words among the options of a command line: commands, files, jobs. */
#ifndef BJ_STATSDB_WORDS_H
#define BJ_STATSDB_WORDS_H

#include "base/opt.h"

/* An option that may be called by one letter: 'u', "--user". */
struct bj_letter {
    char letter; /* 0: the end of the table */
    char option[24];
};

/* Take out of a command line what is neither an option nor the value of one;
 * behind "--" all of it.  "-u" becomes "--user" by letters, which may be NULL
 * and must stay as long as argv.  word has room for *argc + 1 pointers, and
 * gets a NULL behind the last.  argv keeps its program and its options, *argc
 * counts them.  Returns how many words there are.  Whether the options are
 * right is not looked at: that is for bj_opt_argv. */
size_t bj_words_cut(const struct bj_optset *sets, size_t n,
                    struct bj_letter *letters, int *argc, char **argv,
                    char **word);

#endif
