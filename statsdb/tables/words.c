#include "statsdb/tables/words.h"

#include <stdbool.h>
#include <string.h>

/* Replace "-u" by "--user", if the letter is known. */
static char *spell_out(struct bj_letter *letters, char *arg)
{
    const bool letter = arg[0] == '-' && arg[1] && arg[1] != '-' && !arg[2];
    for (struct bj_letter *l = letters; letter && l && l->letter; l++)
        if (l->letter == arg[1])
            return l->option;
    return arg;
}

/* Is the next argument the value of this one? */
static bool wants_value(const struct bj_optset *sets, size_t n, const char *arg)
{
    if (strncmp(arg, "--", 2) != 0 || strchr(arg, '='))
        return false;
    const struct bj_opt *o = bj_opt_find(sets, n, bj_slice_str(arg + 2), NULL);
    return o && o->kind != BJ_OPT_BOOL && !o->bare;
}

size_t bj_words_cut(const struct bj_optset *sets, size_t n,
                    struct bj_letter *letters, int *argc, char **argv,
                    char **word)
{
    size_t words = 0;
    int kept = *argc > 0;
    bool value = false, rest = false;
    for (int i = kept; i < *argc; i++) {
        char *arg = argv[i];
        if (!rest && !value && strcmp(arg, "--") == 0) {
            rest = true;
        } else if (rest || (!value && (arg[0] != '-' || !arg[1]))) {
            word[words++] = arg;
        } else {
            arg = value ? arg : spell_out(letters, arg);
            value = !value && wants_value(sets, n, arg);
            argv[kept++] = arg;
        }
    }
    argv[kept] = NULL;
    *argc = kept;
    word[words] = NULL;
    return words;
}
