/* Options to test with: two tables, their structures, and what they hold. */
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
#define AT(type, member)                                                       \
    .kind = BJ_OPT_##type, .off = offsetof(struct conf, member)

/* Both structures with their presets, and the sets over them. */
struct room {
    struct conf c;
    struct other o;
    struct bj_optset sets[2];
    struct bj_err err;
};

/* Set everything to its preset; free it, and see that nothing is left. */
void init(struct room *r);
void fini(struct room *r);

/* Everything that differs from the presets is written into one line. */
void show(const struct room *r, char *out, size_t cap);

/* The tables, for those who use them in other ways. */
extern const struct bj_opt conf_opts[], other_opts[];

#endif
