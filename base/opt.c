#include "base/opt.h"

#include "base/opt_priv.h"
#include "base/opt_value.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* A value for messages: clean and short. */
struct shown {
    char text[64];
};

static const char *show(struct bj_slice value, struct shown *s)
{
    bj_text_clean(value, s->text, sizeof(s->text));
    return s->text;
}

static void *field(const struct bj_optset *set, const struct bj_opt *o)
{
    return (char *)set->base + o->off;
}

/* A text as bool. */
static int set_bool(const struct bj_opt *o, bool *p, struct bj_slice value,
                    struct bj_err *err)
{
    static const char *const words[] = {"false", "true", "no", "yes",
                                        "off",   "on",   "0",  "1"};
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (value.n == strlen(words[i]) &&
            strncasecmp(value.p, words[i], value.n) == 0) {
            *p = i % 2;
            return 0;
        }
    struct shown s;
    return bj_err_set(err, -EINVAL, "%s: '%s' is not true or false", o->name,
                      show(value, &s));
}

static const char *plain_text(uint64_t v, char buf[static BJ_AMOUNT_MAX])
{
    snprintf(buf, BJ_AMOUNT_MAX, "%" PRIu64, v);
    return buf;
}

/* How the kinds of numbers are read and written. */
static const struct number {
    int (*parse)(struct bj_slice s, uint64_t *ret);
    const char *(*text)(uint64_t v, char buf[static BJ_AMOUNT_MAX]);
    const char *what;
} numbers[] = {
    [BJ_OPT_U64] = {bj_slice_u64, plain_text, "a whole number"},
    [BJ_OPT_DURATION] = {bj_duration_parse, bj_duration_text,
                         "a duration such as 250ms, 15s, 2m or 1h"},
    [BJ_OPT_SIZE] = {bj_size_parse, bj_size_text,
                     "a size such as 4096, 64K, 16M or 1G"},
};

static int set_number(const struct bj_opt *o, uint64_t *p,
                      struct bj_slice value, struct bj_err *err)
{
    const struct number *kind = &numbers[o->kind];
    uint64_t hi = o->hi > 0 ? o->hi : UINT64_MAX, v = 0;
    struct shown s;
    char lo_text[BJ_AMOUNT_MAX], hi_text[BJ_AMOUNT_MAX];
    int r = kind->parse(value, &v);
    if (r == -EINVAL)
        return bj_err_set(err, r, "%s: '%s' is not %s", o->name,
                          show(value, &s), kind->what);
    if (r == 0 && v >= o->lo && v <= hi) {
        *p = v;
        return 0;
    }
    return bj_err_set(err, -ERANGE, "%s: '%s' is not between %s and %s",
                      o->name, show(value, &s), kind->text(o->lo, lo_text),
                      kind->text(hi, hi_text));
}

/* "a|b|c" as "a, b, c". */
static void list_choices(const char *choices, char *buf, size_t cap)
{
    struct bj_slice rest = bj_slice_str(choices), word;
    size_t len = 0;
    buf[0] = '\0';
    while (len < cap && bj_slice_field(&rest, '|', &word))
        len += (size_t)snprintf(buf + len, cap - len, "%s%.*s",
                                len > 0 ? ", " : "", (int)word.n, word.p);
}

static int check_text(const struct bj_opt *o, struct bj_slice value,
                      struct bj_err *err)
{
    struct shown s;
    char list[120];
    if (value.n > 0 && memchr(value.p, '\0', value.n))
        return bj_err_set(err, -EINVAL, "%s: '%s' contains a NUL byte", o->name,
                          show(value, &s));
    if (!o->choices)
        return 0;
    struct bj_slice rest = bj_slice_str(o->choices), word;
    while (bj_slice_field(&rest, '|', &word))
        if (bj_slice_eq(word, value))
            return 0;
    list_choices(o->choices, list, sizeof(list));
    return bj_err_set(err, -EINVAL, "%s: '%s' is not one of %s", o->name,
                      show(value, &s), list);
}

/* A copy of the text, checked. */
static int take_text(const struct bj_opt *o, struct bj_slice value, char **ret,
                     struct bj_err *err)
{
    int r = check_text(o, value, err);
    if (r < 0)
        return r;
    char *p = malloc(value.n + 1);
    if (!p)
        return bj_err_set(err, -ENOMEM, "%s", o->name);
    if (value.n > 0)
        memcpy(p, value.p, value.n);
    p[value.n] = '\0';
    if (o->check && value.n > 0 && (r = o->check(p, err)) < 0) {
        free(p);
        return bj_err_wrap(err, r, "%s", o->name);
    }
    *ret = p;
    return 0;
}

static int set_str(const struct bj_opt *o, char **p, struct bj_slice value,
                   struct bj_err *err)
{
    char *text;
    int r = take_text(o, value, &text, err);
    if (r < 0)
        return r;
    free(*p);
    *p = text;
    return 0;
}

static int add_str(const struct bj_opt *o, struct bj_strv *list,
                   struct bj_slice value, struct bj_err *err)
{
    if (value.n == 0) {
        bj_strv_free(list);
        /* an array without texts: set, to nothing */
        list->v = calloc(1, sizeof(*list->v));
        return list->v ? 0 : bj_err_set(err, -ENOMEM, "%s", o->name);
    }
    if (list->n >= BJ_OPT_LIST_MAX)
        return bj_err_set(err, -ERANGE, "%s: more than %d values", o->name,
                          BJ_OPT_LIST_MAX);
    char *text;
    int r = take_text(o, value, &text, err);
    if (r < 0)
        return r;
    return bj_strv_add(list, text) ? 0
                                   : bj_err_set(err, -ENOMEM, "%s", o->name);
}

/* Whether a value is a list with commas: where no single value has one. */
static bool has_commas(const struct bj_opt *o)
{
    return o->choices || (o->preset && strchr(o->preset, ','));
}

static int add_words(const struct bj_opt *o, struct bj_strv *list,
                     struct bj_slice rest, struct bj_err *err)
{
    struct bj_slice word;
    int r = 0;
    while (r == 0 && bj_slice_field(&rest, ',', &word))
        if (word.n > 0)
            r = add_str(o, list, word, err);
    return r;
}

/* Add "a,b"; "+a,b" adds to the preset. */
static int add_list(const struct bj_opt *o, struct bj_strv *list,
                    struct bj_slice value, struct bj_err *err)
{
    const size_t had = list->n;
    const bool was_set = list->v;
    int r = 0;
    if (value.n == 0 || !has_commas(o))
        return add_str(o, list, value, err);
    if (value.p[0] == '+') {
        value.p++;
        value.n--;
        if (!list->v && o->preset)
            r = add_words(o, list, bj_slice_str(o->preset), err);
    }
    if (r == 0)
        r = add_words(o, list, value, err);
    while (r < 0 && list->n > had)
        free(list->v[--list->n]);
    if (r < 0 && !was_set)
        bj_strv_free(list);
    return r;
}

/* Record that a source has set an option. */
static void note_set(const struct bj_optset *set, const struct bj_opt *o,
                     bool was_set)
{
    if (o->set_off > 0)
        *(bool *)((char *)set->base + o->set_off) = was_set;
}

static int assign(const struct bj_optset *set, const struct bj_opt *o,
                  struct bj_slice value, struct bj_err *err)
{
    switch (o->kind) {
    case BJ_OPT_BOOL:
        return set_bool(o, field(set, o), value, err);
    case BJ_OPT_U64:
    case BJ_OPT_DURATION:
    case BJ_OPT_SIZE:
        return set_number(o, field(set, o), value, err);
    case BJ_OPT_STR:
        return set_str(o, field(set, o), value, err);
    case BJ_OPT_LIST:
        return add_list(o, field(set, o), value, err);
    }
    return bj_err_set(err, -EINVAL, "%s: unknown kind of option", o->name);
}

int bj_opt_assign(const struct bj_optset *set, const struct bj_opt *o,
                  struct bj_slice value, struct bj_err *err)
{
    int r = assign(set, o, value, err);
    if (r == 0)
        note_set(set, o, true);
    return r;
}

static void clear(const struct bj_optset *set, const struct bj_opt *o)
{
    switch (o->kind) {
    case BJ_OPT_BOOL:
        *(bool *)field(set, o) = false;
        break;
    case BJ_OPT_U64:
    case BJ_OPT_DURATION:
    case BJ_OPT_SIZE:
        *(uint64_t *)field(set, o) = 0;
        break;
    case BJ_OPT_STR:
        free(*(char **)field(set, o));
        *(char **)field(set, o) = NULL;
        break;
    case BJ_OPT_LIST:
        bj_strv_free(field(set, o));
        break;
    }
}

int bj_opt_presets(const struct bj_optset *set, struct bj_err *err)
{
    for (const struct bj_opt *o = set->opts; o->name; o++) {
        clear(set, o);
        note_set(set, o, false);
        if (!o->preset || o->kind == BJ_OPT_LIST)
            continue;
        int r = assign(set, o, bj_slice_str(o->preset), err);
        if (r < 0)
            return bj_err_wrap(err, r, "preset");
    }
    return 0;
}

int bj_opt_finish(const struct bj_optset *set, struct bj_err *err)
{
    for (const struct bj_opt *o = set->opts; o->name; o++) {
        if (o->kind != BJ_OPT_LIST || !o->preset)
            continue;
        if (((const struct bj_strv *)field(set, o))->v)
            continue;
        struct bj_slice rest = bj_slice_str(o->preset), word;
        while (bj_slice_field(&rest, ',', &word)) {
            if (word.n == 0)
                continue;
            int r = assign(set, o, word, err);
            if (r < 0)
                return bj_err_wrap(err, r, "preset");
        }
    }
    return 0;
}

void bj_opt_free(const struct bj_optset *set)
{
    for (const struct bj_opt *o = set->opts; o->name; o++)
        if (o->kind == BJ_OPT_STR || o->kind == BJ_OPT_LIST)
            clear(set, o);
}

void bj_opt_restart(const struct bj_optset *set, const struct bj_opt *o)
{
    if (o->kind == BJ_OPT_LIST)
        clear(set, o);
}

/* The next significant letter of a name, in lower case; -1 at the end. */
static int next_letter(struct bj_slice *s)
{
    while (s->n > 0) {
        char c = *s->p++;
        s->n--;
        if (c != '.' && c != '-' && c != '_')
            return c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : (unsigned char)c;
    }
    return -1;
}

static bool same_name(struct bj_slice a, struct bj_slice b)
{
    int x, y;
    do {
        x = next_letter(&a);
        y = next_letter(&b);
    } while (x == y && x >= 0);
    return x == y;
}

const struct bj_opt *bj_opt_find(const struct bj_optset *sets, size_t n,
                                 struct bj_slice name,
                                 const struct bj_optset **ret_set)
{
    for (size_t i = 0; i < n; i++)
        for (const struct bj_opt *o = sets[i].opts; o->name; o++)
            if (same_name(name, bj_slice_str(o->name))) {
                if (ret_set)
                    *ret_set = &sets[i];
                return o;
            }
    return NULL;
}

int bj_opt_set(const struct bj_optset *sets, size_t n, struct bj_slice name,
               struct bj_slice value, struct bj_err *err)
{
    const struct bj_optset *set;
    const struct bj_opt *o = bj_opt_find(sets, n, name, &set);
    struct shown s;
    if (!o)
        return bj_err_set(err, -EINVAL, "unknown option '%s'", show(name, &s));
    return bj_opt_assign(set, o, value, err);
}

int bj_optseen_add(struct bj_optseen *seen, const struct bj_opt *opt,
                   size_t len)
{
    for (size_t i = 0; i < seen->n; i++)
        if (seen->v[i].opt == opt && seen->v[i].len == len)
            return 0;
    if (!BJ_GROW(seen->v, seen->n + 1, seen->cap))
        return -ENOMEM;
    seen->v[seen->n++] = (struct bj_optseen_row){opt, len};
    return 1;
}

void bj_optseen_free(struct bj_optseen *seen)
{
    free(seen->v);
    *seen = (struct bj_optseen){0};
}
