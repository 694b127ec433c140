/* Options for tests: two tables, their structures, and a text of their
 * values. */
#ifndef BJ_TESTS_UNIT_LIB_OPTROOM_H
#define BJ_TESTS_UNIT_LIB_OPTROOM_H

#include "base/opt.h"

/* Initialiser of a slice, NUL bytes included. */
#define S(lit)                                                                 \
    {                                                                          \
        "" lit, sizeof(lit) - 1                                                \
    }
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct conf {
    bool flag, off;
    uint64_t jobs, timeout, size, free, rest;
    char *proc, *level, *none;
    struct bj_strv files, listen;
    bool flag_set;
};

struct other {
    bool fast;
    char *name;
};

/* Kind and place of an option of struct conf. */
#define MEMBER(type, member)                                                   \
    .kind = BJ_OPT_##type, .off = offsetof(struct conf, member)

/* Both structures and their option sets. */
struct opt_rig {
    struct conf c;
    struct other o;
    struct bj_optset sets[2];
    struct bj_err err;
};

/* Set all options to their presets; free them and check that all are
 * cleared. */
void init(struct opt_rig *r);
void fini(struct opt_rig *r);

/* Write all values that differ from their presets into one line. */
void show(const struct opt_rig *r, char *out, size_t cap);

extern const struct bj_opt conf_opts[], other_opts[];

#endif
